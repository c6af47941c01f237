// Words for codes that stand in entries.
import type { HookItem } from './view';

const FAILURES: Record<string, string> = {
  rate_limited: 'too many requests', overloaded: 'the provider is overloaded', timeout: 'no answer in time', connection: 'the connection failed',
  authentication: 'the provider rejected the key', invalid_request: 'the provider rejected the request', context_overflow: 'the request is too long for the model',
  refused: 'the provider refused to answer', script_ended: 'the script has no more lines', script_broken: 'a line of the script is invalid', interrupted: 'interrupted',
};

export function failureWords(failure: { kind?: string; message?: string } | undefined): string {
  if (!failure) return '';
  return failure.message || (FAILURES[failure.kind ?? ''] ?? failure.kind ?? '');
}

const REASONS: Record<string, string> = { window: 'the window was almost full', overflow: 'a request was too long', asked: 'requested' };

export function compactionReason(reason: string | undefined): string {
  return REASONS[reason ?? ''] ?? reason ?? '';
}

const ENDINGS: Record<string, string> = {
  done: 'Done', failed: 'Failed', denied: 'Every call was denied', limit_reached: 'A limit was reached', model_failed: 'The model did not answer', cancelled: 'Cancelled',
};

export function endingWords(ending: string): string {
  return ENDINGS[ending] ?? ending;
}

const PERMITS: Record<string, string> = { rule: 'allowed by a rule', approval: 'you approved it', earlier: 'approved earlier', mode: 'allowed by the mode' };

export function permitWords(kind: string): string {
  return PERMITS[kind] ?? kind;
}

/** What came of a hook, from the result in its report: an object with one key, or a kind. */
export function hookResult(result: unknown): Pick<HookItem, 'status' | 'detail'> {
  if (result === null || typeof result !== 'object') return { status: 'shaped', detail: '' };
  const fields = result as Record<string, unknown>;
  const text = (value: unknown) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value));
  if ('failed' in fields || fields.kind === 'failed') return { status: 'failed', detail: text(fields.why ?? (fields.failed as Record<string, unknown>)?.why ?? fields.failed) };
  if ('gated' in fields || fields.kind === 'gated') return { status: 'gated', detail: text(fields.answer ?? fields.gated) };
  return { status: 'shaped', detail: text(fields.shape ?? fields.shaped) };
}
