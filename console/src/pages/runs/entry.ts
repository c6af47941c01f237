// An entry of the ledger in one line: what happened, a detail, and how it came out.
import type { Entry } from '../../api/types';
import { compactionReason, endingWords, failureWords, permitWords } from '../../lib/fold/words';
import { bytes, modelName, plural, tokens, words } from '../../lib/format';
import { firstLine, mainArgument, plain, visible } from '../../lib/text';

export interface Told {
  title: string;
  detail?: string;
  /** A state or a verdict of `states.ts`. */
  state?: string;
}

type Fields = Record<string, any>;

const line = (text: unknown) => visible(firstLine(plain(String(text ?? '')), 200));
const call = (one: Fields | undefined) => (one ? `${one.tool} ${mainArgument(one.tool, one.input)}`.trim() : '');

const TELL: Record<string, (event: Fields) => Told> = {
  prompt_received: (event) => ({ title: 'Prompt received', detail: line(event.content) }),
  steer_received: (event) => ({ title: 'Steered', detail: line(event.content) }),
  cancel_received: () => ({ title: 'Cancel requested' }),
  mode_received: (event) => ({ title: 'Mode change requested', detail: event.mode }),
  approval_answered: (event) => ({ title: 'Approval answered', detail: line([event.answer?.reach, event.answer?.reason].filter(Boolean).join(', ')), state: event.answer?.expired ? 'expired' : event.answer?.allow ? 'allowed' : 'denied' }),
  tool_access_changed: () => ({ title: 'Tool access changed' }),
  session_opened: (event) => ({ title: 'Session opened', detail: line(event.key) }),
  intake: (event) => ({ title: `Intake: ${words(String(event.stage))}`, detail: line(event.agent ?? event.detail ?? event.why ?? event.event) }),
  run_created: (event) => ({ title: 'Run created', detail: `${event.agent}, ${modelName(String(event.model))}` }),
  run_resumed: () => ({ title: 'Run resumed' }),
  run_paused: () => ({ title: 'Run paused', detail: 'waiting for approval' }),
  run_ended: (event) => ({ title: 'Run ended', detail: line(event.message ?? endingWords(event.ending)), state: event.ending }),
  sandbox_opened: (event) => ({ title: 'Sandbox opened', detail: event.attestation?.level }),
  sandbox_missing: (event) => ({ title: 'No sandbox', detail: line(event.why), state: 'warning' }),
  step_started: (event) => ({ title: `Task step ${event.index + 1} started` }),
  step_ended: (event) => ({ title: `Task step ${event.index + 1} ended`, state: event.status }),
  turn_started: (event) => ({ title: 'Turn started', detail: event.compaction ? `compaction: ${compactionReason(event.compaction.reason)}` : line(event.prompt) }),
  turn_ended: (event) => ({ title: 'Turn ended', state: event.ending }),
  input_taken: (event) => ({ title: 'Input added to the turn', detail: `entry ${event.input}` }),
  model_asked: (event) => ({ title: event.check ? 'Completion check sent' : 'Model request sent', detail: `request ${event.step}, ${bytes(event.bytes ?? 0)}` }),
  model_replied: (event) => replied(event.reply ?? {}),
  model_failed: (event) => ({ title: 'Model did not answer', detail: line(failureWords(event.failure)), state: 'failed' }),
  model_retried: (event) => ({ title: 'Model request retried', detail: line(failureWords(event.failure)) }),
  model_replaced: (event) => ({ title: 'Fallback model used', detail: `${event.to} instead of ${event.from}` }),
  call_proposed: (event) => ({ title: 'Call proposed', detail: call(event.call), state: event.ruling?.verdict }),
  approval_asked: (event) => ({ title: 'Approval requested', detail: call(event.call), state: 'ask' }),
  call_started: (event) => ({ title: 'Call started', detail: [permitWords(event.by?.kind ?? ''), event.by?.rule, event.under?.level].filter(Boolean).join(', ') }),
  call_finished: (event) => ({ title: 'Call finished', detail: line(event.outcome?.text), state: event.outcome?.status }),
  call_refused: (event) => ({ title: 'Call refused', detail: line(event.why), state: 'refused' }),
  call_stopped: () => ({ title: 'Call stopped', state: 'stopped' }),
  call_withheld: () => ({ title: 'Call withheld: its files changed', state: 'ask' }),
  connection_ended: (event) => ({ title: 'Connection', detail: `${event.connection?.host}:${event.connection?.port}${event.connection?.refused ? `, ${event.connection.refused}` : ''}`, state: event.connection?.refused ? 'refused' : undefined }),
  check_started: (event) => ({ title: `Check ${event.iteration} began`, detail: line(event.command) }),
  check_finished: (event) => ({ title: `Check ${event.iteration} finished`, detail: line(event.outcome?.text), state: event.outcome?.status }),
  iteration_counted: (event) => ({ title: `Iteration ${event.count}` }),
  hook: (event) => ({ title: `Hook ${words(String(event.change))}`, detail: line([event.moment, event.program].filter(Boolean).join(', ')) }),
  job: (event) => ({ title: `Job ${words(String(event.change))}`, detail: line(event.job?.program ?? event.report?.why ?? ''), state: event.state }),
};

function replied(reply: Fields): Told {
  const calls = (reply.calls ?? []) as Fields[];
  const used = reply.usage ? `${tokens(reply.usage.input_tokens)} in, ${tokens(reply.usage.output_tokens)} out` : '';
  const said = reply.text ? line(reply.text) : calls.length > 0 ? plural(calls.length, 'call') : '';
  return { title: 'Model replied', detail: [said, used].filter(Boolean).join(' · ') };
}

export function tell(entry: Entry): Told {
  const teller = TELL[entry.event.type];
  return teller ? teller(entry.event) : { title: words(entry.event.type) };
}

/** Types whose entries decide about something, so that asking why is the first question. */
const DECIDED = new Set(['call_proposed', 'approval_asked', 'call_started', 'call_refused', 'call_finished', 'approval_answered', 'connection_ended', 'prompt_received', 'run_created']);

export function isDecision(entry: Entry): boolean {
  return DECIDED.has(entry.event.type);
}
