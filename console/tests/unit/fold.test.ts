// The fold over entries that a real run wrote, and over what is written by hand after docs/events.md.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Entry, LedgerEvent } from '../../src/api/types';
import { addUsage, foldTurn, NO_USAGE } from '../../src/lib/fold/fold';
import { group } from '../../src/lib/fold/group';
import type { CallItem, Item, ReplyItem, TurnView } from '../../src/lib/fold/view';

const recorded = readFileSync(new URL('../../fake/fixtures/recorded.jsonl', import.meta.url), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Entry);

function session(key: string): TurnView[] {
  const id = recorded.find((entry) => entry.event.type === 'session_opened' && entry.event.key === key)!.sessionId;
  return group(recorded.filter((entry) => entry.sessionId === id)).map(({ key: turn, entries }) => foldTurn(turn, entries));
}

function fold(...events: LedgerEvent[]): TurnView {
  return foldTurn('t', events.map((event, index) => ({ seq: index + 1, time: 1000 * (index + 1), stream: 'turns', sessionId: 's', runId: 'r', turnId: 't', event })));
}

const only = <K extends Item['kind']>(view: TurnView, kind: K) => view.items.filter((item): item is Extract<Item, { kind: K }> => item.kind === kind);
const proposed = (id: string): LedgerEvent => ({ type: 'call_proposed', call: { id, tool: 'bash', input: { command: 'ls' } }, ruling: { verdict: 'ask', findings: [] } });
const asked = (id: string, call: string): LedgerEvent => ({ type: 'approval_asked', id, call: { id: call }, ruling: { verdict: 'ask' }, digest: 'd' });
const started: LedgerEvent = { type: 'turn_started', step: 0, prompt: 'Do it' };

describe('recorded sessions', () => {
  it('puts a run and its turn together', () => {
    const turns = session('cart');
    expect(turns).toHaveLength(3);
    expect(turns.map((turn) => turn.prompt.slice(0, 9))).toEqual(['The total', 'Run the t', 'Write it ']);
    expect(turns[0]).toMatchObject({ agent: 'builder', mode: 'structured', state: 'ended', ending: 'done', model: 'anthropic/claude-sonnet-4-5' });
  });

  it('has replies and calls in order, with what came of them', () => {
    const [turn] = session('cart');
    expect(turn!.items.map((item) => item.kind)).toEqual(['reply', 'call', 'call', 'reply', 'call', 'reply']);
    const edit = only(turn!, 'call')[2]!;
    expect(edit).toMatchObject({ tool: 'edit_file', status: 'done', approval: 'apr_2jfd9gzesmx35c6efjm0g71hck', answer: { allow: true, reach: 'once' }, by: { kind: 'approval' }, level: 'ns' });
    expect(edit.output).toContain('Replaced 1 occurrence');
    expect(only(turn!, 'reply')[0]).toMatchObject({ text: 'I look at the cart first.', pending: false });
  });

  it('adds up tokens and cost', () => {
    const [turn] = session('cart');
    expect(turn!.usage).toMatchObject({ input: 8320, output: 312, cached: 5000, estimated: false });
    expect(turn!.usage.costUsd).toBeCloseTo(0.01614, 5);
  });

  it('says that the model did not answer, and what was refused', () => {
    const turn = session('cart')[1]!;
    expect(turn).toMatchObject({ state: 'ended', ending: 'model_failed', message: 'the provider is busy' });
    expect(only(turn, 'call').map((call) => call.status)).toEqual(['failed', 'done', 'refused']);
    expect(only(turn, 'notice').at(-1)).toMatchObject({ tone: 'bad', detail: 'the provider is busy' });
  });

  it('waits for both approvals of a paused run', () => {
    const turn = session('cart')[2]!;
    expect(turn.state).toBe('paused');
    expect(only(turn, 'call').map((call) => call.status)).toEqual(['waiting', 'waiting']);
  });

  it('shows a compaction as one', () => {
    const turn = session('notes').at(-1)!;
    expect(turn.compaction).toMatchObject({ reason: 'requested', focus: 'names of items', before: 5036, after: 1443 });
    expect(turn.compaction!.summary).toContain('item 1');
  });

  it('counts iterations and shows checks in the mode wiggum', () => {
    const [turn] = session('count');
    expect(turn).toMatchObject({ mode: 'wiggum', iterations: 2 });
    expect(only(turn!, 'check').map((check) => check.status)).toEqual(['failed', 'done']);
    expect(only(turn!, 'call')[0]!.by).toEqual({ kind: 'mode' });
  });
});

describe('one turn', () => {
  it('is pending until the reply is there', () => {
    const pending = fold(started, { type: 'model_asked', step: 1 });
    expect(only(pending, 'reply')[0]).toMatchObject({ pending: true, asked: 2 });
    expect(pending.state).toBe('running');
  });

  it('puts retries before the answer they led to', () => {
    const view = fold(
      started, { type: 'model_asked', step: 1 }, { type: 'model_retried', step: 1, attempt: 1, wait_ms: 2000, failure: { kind: 'overloaded', message: 'busy' } },
      { type: 'model_replaced', step: 1, from: 'a', to: 'b', failure: { kind: 'timeout' } }, { type: 'model_replied', step: 1, reply: { text: 'Hello', model: 'b', usage: {} } },
    );
    expect(view.items.map((item) => item.kind)).toEqual(['notice', 'notice', 'reply']);
    expect(only(view, 'notice').map((notice) => notice.detail)).toEqual(['busy', 'no answer in time']);
    expect((view.items[2] as ReplyItem).model).toBe('b');
  });

  it('waits, goes on after a yes, and runs', () => {
    const waiting = fold(started, proposed('c'), asked('a', 'c'));
    expect(waiting.state).toBe('waiting');
    const yes = fold(started, proposed('c'), asked('a', 'c'), { type: 'approval_answered', approval: 'a', answer: { allow: true, reach: 'once' } }, { type: 'call_started', call: 'c', by: { kind: 'approval' } });
    expect(yes.state).toBe('running');
    expect((yes.items[0] as CallItem).status).toBe('running');
  });

  it('marks steering as heard only when the turn took it', () => {
    const steer = { type: 'steer_received', content: 'Shorter' };
    expect(only(fold(started, steer), 'steer')[0]).toMatchObject({ text: 'Shorter', taken: false });
    expect(only(fold(started, steer, { type: 'input_taken', input: 2 }), 'steer')[0]!.taken).toBe(true);
  });

  it('keeps what a person changed', () => {
    const view = fold(started, proposed('c'), { type: 'call_started', call: 'c', by: { kind: 'approval' }, edited: { input: { command: 'ls -a' } } });
    expect((view.items[0] as CallItem).edited).toEqual({ command: 'ls -a' });
  });

  it('stops what was open when the turn ends', () => {
    const view = fold(started, proposed('c'), asked('a', 'c'), { type: 'turn_ended', ending: 'cancelled' });
    expect(view).toMatchObject({ state: 'ended', ending: 'cancelled' });
    expect((view.items[0] as CallItem).status).toBe('stopped');
  });

  it('leaves nothing running in a turn that is over', () => {
    const view = fold(started, proposed('c'), { type: 'call_started', call: 'c', by: { kind: 'rule' } }, { type: 'check_started', iteration: 1, command: 'make' }, { type: 'turn_ended', ending: 'failed' });
    expect([only(view, 'call')[0]!.status, only(view, 'check')[0]!.status]).toEqual(['stopped', 'stopped']);
  });

  it('tells calls apart whose ids a model used twice', () => {
    const view = fold(started, proposed('c'), { type: 'call_finished', call: 'c', outcome: { status: 'done', text: 'one' } }, proposed('c'));
    expect(new Set(view.items.map((item) => item.key)).size).toBe(2);
  });

  it('does not fall over entries it does not know or whose beginning is missing', () => {
    expect(fold({ type: 'something_new' }, { type: 'call_finished', call: 'x', outcome: { status: 'done', text: '' } }, { type: 'model_replied', step: 3, reply: { usage: { input_tokens: 5 } } }).usage.input).toBe(5);
  });

  it('does not know the cost if one part of it is unknown', () => {
    expect(addUsage(NO_USAGE, { ...NO_USAGE, costUsd: null }).costUsd).toBeNull();
  });
});

describe('groups', () => {
  it('keeps a run without a turn', () => {
    const entries: Entry[] = [
      { seq: 1, time: 1, stream: 'turns', sessionId: 's', runId: 'r', event: { type: 'run_created', prompt: 'Hello', agent: 'a', model: 'm', mode: 'structured' } },
      { seq: 2, time: 2, stream: 'turns', sessionId: 's', runId: 'r', event: { type: 'run_ended', ending: 'denied', message: 'a gate said no' } },
    ];
    const [only] = group(entries);
    expect(foldTurn(only!.key, only!.entries)).toMatchObject({ prompt: 'Hello', turnId: null, state: 'ended', ending: 'denied', message: 'a gate said no' });
  });

  it('gives each turn of a run its own group', () => {
    const of = (seq: number, turnId: string | undefined, type: string): Entry => ({ seq, time: seq, stream: 'turns', sessionId: 's', runId: 'r', ...(turnId ? { turnId } : {}), event: { type } });
    const groups = group([of(1, undefined, 'run_created'), of(2, 't1', 'turn_started'), of(3, undefined, 'step_ended'), of(4, 't2', 'turn_started'), of(5, undefined, 'run_ended')]);
    expect(groups.map(({ key, entries }) => [key, entries.map(({ seq }) => seq)])).toEqual([['r', [1, 2, 3]], ['t2', [4, 5]]]);
  });
});
