// The decision chain of an entry: which link decided, and what the chain answers.
import type { Verdict, WhyLink } from '../../api/types';
import type { IconName } from '../../ui/icons';

export interface Outcome {
  verdict: Verdict;
  /** Which link decided. */
  at: number;
}

const STRICTNESS: Verdict[] = ['allow', 'ask', 'deny'];

/** A person's answer decides; without one the strictest link does, and among those that allow the last one. */
export function outcome(links: WhyLink[]): Outcome | null {
  const answered = links.findLastIndex((link) => link.stage === 'approval' && (link.verdict === 'allow' || link.verdict === 'deny'));
  const strictest = Math.max(-1, ...links.map((link) => (link.verdict ? STRICTNESS.indexOf(link.verdict) : -1)));
  if (strictest < 0) return null;
  const verdict = STRICTNESS[strictest]!;
  if (answered >= 0 && verdict !== 'deny') return { verdict: links[answered]!.verdict!, at: answered };
  if (verdict === 'allow') return { verdict, at: links.findLastIndex((link) => link.verdict === 'allow') };
  return { verdict, at: links.findIndex((link) => link.verdict === verdict) };
}

export function question(found: Outcome | null): string {
  if (!found) return 'What led to this?';
  return { allow: 'Why was this allowed?', ask: 'Why is approval needed?', deny: 'Why was this denied?' }[found.verdict];
}

const STAGES: Record<string, { word: string; icon: IconName }> = {
  received: { word: 'received', icon: 'send' },
  access: { word: 'access', icon: 'access' },
  grant: { word: 'grant', icon: 'access' },
  route: { word: 'route', icon: 'fork' },
  agent: { word: 'agent', icon: 'agents' },
  rule: { word: 'rule', icon: 'file' },
  guard: { word: 'guard', icon: 'approvals' },
  hook: { word: 'hook', icon: 'tool' },
  approval: { word: 'approval', icon: 'person' },
  confinement: { word: 'confinement', icon: 'approvals' },
  result: { word: 'result', icon: 'terminal' },
};

export function stage(name: string): { word: string; icon: IconName } {
  return STAGES[name] ?? { word: name.replaceAll('_', ' '), icon: 'dot' };
}
