// One turn from its entries. Pure: the same entries give the same view, for history and for what comes in live.
import type { Entry, LedgerEvent, Mode } from '../../api/types';
import { compactionReason, failureWords, hookResult } from './words';
import type { CallItem, CheckItem, HookItem, Item, NoticeItem, ReplyItem, SteerItem, TurnUsage, TurnView } from './view';

export const NO_USAGE: TurnUsage = { input: 0, output: 0, cached: 0, estimated: false, costUsd: 0 };

/** A call whose end is not recorded. */
const OPEN = new Set<CallItem['status']>(['proposed', 'waiting', 'running']);

type Handler = (fold: Fold, event: LedgerEvent, entry: Entry) => void;

class Fold {
  readonly view: TurnView;
  readonly calls = new Map<string, CallItem>();
  readonly replies = new Map<number, ReplyItem>();
  readonly steers = new Map<number, SteerItem>();
  readonly approvals = new Map<string, CallItem>();

  constructor(key: string, first: Entry) {
    this.view = {
      key, turnId: null, runId: null, parentId: null, agent: null, task: null, model: null, mode: null, prompt: '', state: 'starting', ending: null,
      message: null, startedAt: first.time, endedAt: null, firstSeq: first.seq, lastSeq: first.seq, iterations: 0, compaction: null, items: [], usage: NO_USAGE,
    };
  }

  push<T extends Item>(item: T): T {
    this.view.items.push(item);
    return item;
  }

  /** Retries and the like that came before an answer stand before it. */
  toEnd(item: Item): void {
    const { items } = this.view;
    if (items.at(-1) !== item) items.push(...items.splice(items.indexOf(item), 1));
  }

  notice(entry: Entry, tone: NoticeItem['tone'], title: string, detail = ''): void {
    this.push({ kind: 'notice', key: `n${entry.seq}`, seq: entry.seq, tone, title, detail });
  }

  settle(): void {
    if (this.view.state === 'ended' || this.view.state === 'paused') return;
    const waits = [...this.calls.values()].some((call) => call.status === 'waiting');
    this.view.state = waits ? 'waiting' : this.view.turnId ? 'running' : 'starting';
  }
}

export function foldTurn(key: string, entries: Entry[]): TurnView {
  const fold = new Fold(key, entries[0]!);
  for (const entry of entries) {
    fold.view.runId ??= entry.runId ?? null;
    fold.view.turnId ??= entry.turnId ?? null;
    fold.view.lastSeq = Math.max(fold.view.lastSeq, entry.seq);
    handlers[entry.event.type]?.(fold, entry.event, entry);
    fold.settle();
  }
  return fold.view;
}

const handlers: Record<string, Handler> = {
  prompt_received: ({ view }, event) => {
    view.prompt ||= String(event.content ?? '');
  },
  run_created: ({ view }, event) => {
    view.agent = event.agent ?? null;
    view.task = event.task ?? null;
    view.model = event.model ?? null;
    view.mode = (event.mode as Mode) ?? null;
    view.prompt ||= String(event.prompt ?? '');
  },
  turn_started: ({ view }, event, entry) => {
    view.startedAt = entry.time;
    view.parentId = event.parent ?? null;
    view.model ??= event.charter?.model ?? null;
    if (event.compaction) {
      view.compaction = {
        reason: compactionReason(event.compaction.reason), focus: event.compaction.focus ?? null, before: event.compaction.tokens_before ?? null, after: null, summary: '',
      };
    } else view.prompt = String(event.prompt ?? view.prompt);
    view.state = 'running';
  },
  model_asked: (fold, event, entry) => {
    fold.replies.set(
      event.step,
      fold.push<ReplyItem>({
        kind: 'reply', key: `m${entry.seq}`, seq: entry.seq, asked: entry.seq, step: event.step, text: '', thinking: '', model: null, usage: null, pending: true,
        check: Boolean(event.check), cut: false, startedAt: entry.time, endedAt: null,
      }),
    );
  },
  model_replied: (fold, event, entry) => {
    const reply = fold.replies.get(event.step);
    const said = event.reply ?? {};
    const usage = usageOf(said);
    fold.view.usage = addUsage(fold.view.usage, usage);
    if (!reply) return;
    fold.toEnd(reply);
    reply.seq = entry.seq;
    reply.text = said.text ?? '';
    reply.thinking = said.thinking ?? '';
    reply.model = said.model ?? null;
    reply.usage = usage;
    reply.cut = Boolean(said.cut ?? event.cut);
    reply.pending = false;
    reply.endedAt = entry.time;
  },
  model_failed: (fold, event, entry) => {
    close(fold, event.step, entry);
    fold.notice(entry, 'bad', 'The model did not answer', failureWords(event.failure));
  },
  model_retried: (fold, event, entry) => {
    const wait = event.wait_ms ? `, retrying after ${Math.round(event.wait_ms / 100) / 10} s` : ', retrying';
    fold.notice(entry, 'warn', `Attempt ${event.attempt} failed${wait}`, failureWords(event.failure));
  },
  model_replaced: (fold, event, entry) => {
    fold.notice(entry, 'warn', `${event.from} did not answer; using ${event.to} instead`, failureWords(event.failure));
  },
  call_proposed: (fold, event, entry) => {
    const { call, ruling } = event;
    fold.calls.set(
      call.id,
      fold.push<CallItem>({
        kind: 'call', key: `c${entry.seq}`, seq: entry.seq, id: call.id, tool: call.tool, input: call.input, status: 'proposed', verdict: ruling?.verdict ?? 'ask',
        findings: ruling?.findings ?? [], output: '', outputSeq: null, cut: false, measured: {}, startedAt: null, endedAt: null, by: null, level: null,
        approval: null, answer: null, edited: null, why: null, connections: [],
      }),
    );
  },
  approval_asked: (fold, event) => {
    const call = fold.calls.get(event.call?.id);
    if (!call) return;
    call.approval = event.id;
    call.status = 'waiting';
    fold.approvals.set(event.id, call);
  },
  approval_answered: (fold, event) => {
    const call = fold.approvals.get(event.approval);
    if (!call) return;
    call.answer = event.answer ?? null;
    if (call.status === 'waiting') call.status = 'proposed';
    if (fold.view.state === 'waiting') fold.view.state = 'running';
  },
  call_started: (fold, event, entry) => {
    const call = fold.calls.get(event.call);
    if (!call) return;
    call.status = 'running';
    call.startedAt = entry.time;
    call.by = event.by ?? null;
    call.level = event.under?.level ?? null;
    call.edited = event.edited?.input ?? null;
  },
  call_finished: (fold, event, entry) => {
    const call = fold.calls.get(event.call);
    if (!call) return;
    call.status = event.outcome?.status ?? 'done';
    call.output = event.outcome?.text ?? '';
    call.outputSeq = entry.seq;
    call.cut = Boolean(event.outcome?.cut ?? event.cut);
    call.measured = event.outcome?.measured ?? {};
    call.endedAt = entry.time;
  },
  call_refused: (fold, event, entry) => {
    const call = fold.calls.get(event.call);
    if (!call) return;
    call.status = 'refused';
    call.why = event.why ?? null;
    call.endedAt = entry.time;
  },
  call_stopped: (fold, event) => {
    const call = fold.calls.get(event.call);
    if (call) call.status = 'stopped';
  },
  call_withheld: (fold, event) => {
    const call = fold.calls.get(event.call);
    if (call) call.status = 'proposed';
  },
  connection_ended: (fold, event) => {
    if (event.connection) fold.calls.get(event.call)?.connections.push(event.connection);
  },
  steer_received: (fold, event, entry) => {
    fold.steers.set(entry.seq, fold.push<SteerItem>({ kind: 'steer', key: `s${entry.seq}`, seq: entry.seq, time: entry.time, text: event.content ?? '', taken: false }));
  },
  input_taken: (fold, event) => {
    const steer = fold.steers.get(event.input);
    if (steer) steer.taken = true;
  },
  check_started: (fold, event, entry) => {
    fold.push<CheckItem>({
      kind: 'check', key: `k${entry.seq}`, seq: entry.seq, iteration: event.iteration, command: event.command ?? '', status: 'running', output: '', measured: {},
    });
  },
  check_finished: (fold, event) => {
    const check = fold.view.items.findLast((item): item is CheckItem => item.kind === 'check' && item.iteration === event.iteration);
    if (!check) return;
    check.status = event.outcome?.status ?? 'done';
    check.output = event.outcome?.text ?? '';
    check.measured = event.outcome?.measured ?? {};
  },
  iteration_counted: ({ view }, event) => {
    view.iterations = event.count;
  },
  hook: (fold, event, entry) => {
    if (event.change === 'started') {
      fold.push<HookItem>({ kind: 'hook', key: `h${entry.seq}`, seq: entry.seq, moment: event.moment ?? '', program: event.program ?? '', status: 'running', detail: '' });
    } else if (event.change === 'finished') {
      const found = fold.view.items.findLast((item): item is HookItem => item.kind === 'hook' && item.status === 'running' && item.program === (event.program ?? item.program));
      if (found) Object.assign(found, hookResult(event.report?.result));
    }
  },
  mode_received: (fold, event, entry) => {
    fold.view.mode = (event.mode as Mode) ?? fold.view.mode;
    const autonomous = event.mode === 'wiggum';
    fold.notice(entry, autonomous ? 'warn' : 'info', `Mode is now ${event.mode}`, autonomous ? 'calls that need approval are allowed' : 'calls need your approval again');
  },
  tool_access_changed: (fold, _event, entry) => fold.notice(entry, 'info', 'Tool access changed'),
  cancel_received: (fold, _event, entry) => fold.notice(entry, 'info', 'Cancelling…'),
  sandbox_missing: (fold, event, entry) => fold.notice(entry, 'warn', 'No sandbox; calls that need one are refused', event.why ?? ''),
  run_paused: ({ view }) => {
    view.state = 'paused';
  },
  run_resumed: ({ view }) => {
    view.state = view.turnId ? 'running' : 'starting';
  },
  turn_ended: (fold, event, entry) => {
    const { view } = fold;
    view.state = 'ended';
    view.ending = event.ending ?? null;
    view.endedAt = entry.time;
    const done = event.context?.compaction;
    if (view.compaction && done) {
      view.compaction = { ...view.compaction, summary: done.summary ?? event.result ?? '', before: done.tokens_before ?? view.compaction.before, after: done.tokens_after ?? null };
    }
    for (const reply of fold.replies.values()) reply.pending = false;
    for (const call of fold.calls.values()) if (OPEN.has(call.status)) call.status = 'stopped';
    for (const item of view.items) if (item.kind === 'check' && item.status === 'running') item.status = 'stopped';
  },
  run_ended: ({ view }, event, entry) => {
    view.state = 'ended';
    view.ending = event.ending ?? view.ending;
    view.endedAt ??= entry.time;
    view.message = event.message ?? null;
  },
};

function close(fold: Fold, step: number, entry: Entry): void {
  const reply = fold.replies.get(step);
  if (!reply) return;
  reply.pending = false;
  reply.endedAt = entry.time;
}

function usageOf(reply: LedgerEvent | Record<string, never>): TurnUsage {
  const { usage, cost_nano_usd: cost } = reply as Record<string, any>;
  return {
    input: usage?.input_tokens ?? 0, output: usage?.output_tokens ?? 0, cached: usage?.cached_tokens ?? 0, estimated: Boolean(usage?.estimated),
    costUsd: typeof cost === 'number' ? cost / 1e9 : null,
  };
}

export function addUsage(one: TurnUsage, other: TurnUsage): TurnUsage {
  return {
    input: one.input + other.input, output: one.output + other.output, cached: one.cached + other.cached, estimated: one.estimated || other.estimated,
    costUsd: one.costUsd === null || other.costUsd === null ? null : one.costUsd + other.costUsd,
  };
}
