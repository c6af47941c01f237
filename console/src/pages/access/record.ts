// A decision of access in words.
import type { AccessRecord, Giver, PolicyPart } from '../../api/types';
import { duration } from '../../lib/format';

/** How long a stage took. Most take less than a millisecond, which is not nothing. */
export function took(ms: number): string {
  return ms > 0 && ms < 1 ? '<1 ms' : duration(ms);
}

/** Who gave a power. */
export function giver(from: Giver): string {
  if (from === 'default') return 'default';
  return 'policy' in from ? `policy ${from.policy}` : `grant ${from.grant}`;
}

const KINDS: Record<string, string> = { owner: 'owner', known: 'known sender', unknown: 'unknown sender', system: 'system', webhook: 'webhook', agent: 'agent' };

/** Who spoke: a name if there is one, and what kind of speaker. */
export function speaker({ principal, sender_identifier }: Pick<AccessRecord, 'principal' | 'sender_identifier'>): string {
  const kind = KINDS[principal.kind] ?? principal.kind;
  const name = principal.name ?? principal.source ?? principal.agent_id;
  if (name) return [name, principal.relationship ?? kind].join(', ');
  return principal.kind === 'owner' ? 'The owner' : `${kind[0]!.toUpperCase()}${kind.slice(1)} (${sender_identifier})`;
}

/** Why it came out as it did: what follows "Allowed" or "Denied". */
export function reason(record: Pick<AccessRecord, 'effect' | 'deny_reason' | 'matched'>): string {
  if (record.effect === 'allow') {
    const by = record.matched.filter(({ part }) => part === 'allowed').map(({ policy }) => `\`${policy}\``);
    return by.length > 0 ? `by ${by.join(', ')}` : '';
  }
  const why = record.deny_reason;
  if (why?.kind === 'policy') return `the policy \`${why.policy}\` denies it`;
  if (why?.kind === 'nobody_allows') return 'no policy allows it';
  if (why?.kind === 'missing_value') return `the session key of \`${why.policy}\` needs \`${why.variable}\`, which is unknown`;
  if (why?.kind === 'key_too_long') return `the session key of \`${why.policy}\` is too long`;
  return 'no reason recorded';
}

export interface PartLook {
  word: string;
  state: 'allow' | 'deny' | 'note' | 'skipped';
}

/** What a policy did with the event. */
export function part(did: PolicyPart): PartLook {
  if (did === 'allowed') return { word: 'allowed', state: 'allow' };
  if (did === 'denied') return { word: 'denied', state: 'deny' };
  if (did === 'modified') return { word: 'sets options', state: 'note' };
  if (did === 'disabled') return { word: 'disabled', state: 'skipped' };
  return { word: `does not match: ${did.not_matched}`, state: 'skipped' };
}

/** The lists of tools that were asked in turn, each with its words. */
export function toolLists({ tools }: Pick<AccessRecord, 'tools'>): { words: string; from: string; names: string[] }[] {
  const kinds = [['allow', 'allowed'], ['granted', 'granted'], ['ceilings', 'at most'], ['only', 'only'], ['deny', 'denied']] as const;
  return kinds.flatMap(([kind, words]) => (tools[kind] ?? []).map(({ from, names }) => ({ words, from: giver(from), names })));
}

/** Those that had a part first, in rank; the others after them. */
export function ordered(record: Pick<AccessRecord, 'matched' | 'policies_evaluated'>): { policy: string; part: PolicyPart | null }[] {
  const matched = record.matched.map(({ policy, part }) => ({ policy, part: part as PolicyPart | null }));
  const named = new Set(matched.map(({ policy }) => policy));
  return [...matched, ...record.policies_evaluated.filter((policy) => !named.has(policy)).map((policy) => ({ policy, part: null }))];
}
