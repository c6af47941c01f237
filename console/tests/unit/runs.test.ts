// The timeline of a run, its decision chain, its entries, and what a replay shows.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Entry, TimelineRow, WhyLink } from '../../src/api/types';
import { outcome, question } from '../../src/pages/runs/chain';
import { tell } from '../../src/pages/runs/entry';
import { laidOut, sides } from '../../src/pages/runs/replay';
import { axis, bar, groups, place, shares, ticks } from '../../src/pages/runs/timeline';

const row = (kind: TimelineRow['kind'], startedAt: number, endedAt: number | null, more: Partial<TimelineRow> = {}): TimelineRow => ({
  seq: startedAt, kind, label: kind, startedAt, endedAt, status: endedAt === null ? 'running' : 'done', turnId: 't1', callId: null, inputTokens: null, outputTokens: null, ...more,
});

describe('the axis', () => {
  it('goes from the first beginning to the last end', () => {
    const on = axis([row('model', 1000, 3000), row('tool', 3000, 5000)], 9000);
    expect([on.start, on.end]).toEqual([1000, 5000]);
    expect(place(on, 3000)).toBeCloseTo(50);
    expect(place(on, 0)).toBe(0);
    expect(place(on, 99_000)).toBe(100);
  });

  it('grows with what is under way', () => {
    const rows = [row('model', 0, 1000), row('tool', 1000, null)];
    expect(bar(axis(rows, 2000), rows[1]!, 2000)).toEqual({ left: 50, width: 50 });
    expect(bar(axis(rows, 4000), rows[1]!, 4000).width).toBeCloseTo(75);
  });

  it('cuts a long wait for a person and keeps the work readable', () => {
    const rows = [row('model', 0, 5000), row('approval', 5000, 3_605_000), row('tool', 3_605_000, 3_610_000)];
    const on = axis(rows, 3_610_000);
    expect(on.pieces.map((piece) => piece.cut)).toEqual([false, true, false]);
    expect(bar(on, rows[0]!, 0).width).toBeCloseTo(46.5);
    expect(bar(on, rows[2]!, 0).width).toBeCloseTo(46.5);
    expect(on.pieces.at(-1)!.x1).toBeCloseTo(100);
  });

  it('cuts nothing while a tool works, and no short wait', () => {
    expect(axis([row('approval', 0, 3_600_000), row('tool', 0, 3_600_000)], 0).pieces).toHaveLength(1);
    expect(axis([row('model', 0, 5000), row('approval', 5000, 15_000), row('tool', 15_000, 16_000)], 0).pieces.some((piece) => piece.cut)).toBe(false);
  });

  it('leaves room for the work however often was waited', () => {
    const rows = Array.from({ length: 12 }, (_, index) => [row('model', index * 1e6, index * 1e6 + 1000), row('approval', index * 1e6 + 1000, (index + 1) * 1e6)]).flat();
    const on = axis(rows, 12e6);
    const worked = on.pieces.filter((piece) => !piece.cut).reduce((sum, piece) => sum + piece.x1 - piece.x0, 0);
    expect(worked).toBeGreaterThanOrEqual(64.9);
    for (const [index, piece] of on.pieces.slice(1).entries()) expect(piece.x0).toBeCloseTo(on.pieces[index]!.x1);
  });

  it('shows even the shortest bar, and none over the edge', () => {
    const rows = [row('model', 0, 100_000), row('tool', 100_000, 100_000)];
    const { left, width } = bar(axis(rows, 100_000), rows[1]!, 100_000);
    expect(width).toBeGreaterThan(0);
    expect(left + width).toBeLessThanOrEqual(100);
  });

  it('has marks at round times that do not touch', () => {
    const marks = ticks(axis([row('model', 500, 33_500)], 0));
    expect(marks.map((tick) => tick.ms)).toEqual([0, 10_000, 20_000, 30_000]);
    const cut = ticks(axis([row('model', 0, 5000), row('approval', 5000, 3_605_000), row('tool', 3_605_000, 3_610_000)], 0));
    expect(cut.some((tick) => tick.ms === 3_605_000)).toBe(true);
    for (const [index, tick] of cut.slice(1).entries()) expect(tick.x - cut[index]!.x).toBeGreaterThanOrEqual(9);
  });
});

describe('sums and groups', () => {
  it('does not count twice what ran side by side', () => {
    expect(shares([row('tool', 0, 1000), row('tool', 500, 1500), row('tool', 2000, null)], 2500)).toEqual([{ kind: 'tool', count: 3, ms: 2000 }]);
  });

  it('names turns by the steps of a task', () => {
    const steps = [{ index: 0, id: 'look', uses: 'prompt', agent: 'builder', status: 'succeeded', turnId: 't1' }, { index: 1, id: 'write', uses: 'prompt', agent: 'clerk', status: 'running', turnId: 't2' }];
    const found = groups({ timeline: [row('model', 5, 6, { turnId: 't2' }), row('model', 1, 2), row('tool', 2, 3)], turns: [], steps });
    expect(found.map((group) => [group.title, group.detail, group.rows.length])).toEqual([['Step 1: look', 'builder', 2], ['Step 2: write', 'clerk', 1]]);
  });
});

describe('the decision chain', () => {
  const link = (stage: WhyLink['stage'], verdict: WhyLink['verdict']): WhyLink => ({ seq: null, stage, title: stage, detail: '', verdict, where: null, text: null });

  it('is decided by the strictest link', () => {
    expect(outcome([link('access', 'allow'), link('guard', 'deny'), link('rule', 'allow')])).toEqual({ verdict: 'deny', at: 1 });
    expect(outcome([link('access', 'allow'), link('rule', 'ask'), link('hook', 'allow')])).toEqual({ verdict: 'ask', at: 1 });
  });

  it('is decided by the last that allows, if all do', () => {
    expect(outcome([link('received', null), link('access', 'allow'), link('rule', 'allow'), link('result', null)])).toEqual({ verdict: 'allow', at: 2 });
  });

  it('is decided by the answer of a person, unless something denies', () => {
    expect(outcome([link('rule', 'ask'), link('approval', 'allow'), link('result', null)])).toEqual({ verdict: 'allow', at: 1 });
    expect(outcome([link('rule', 'ask'), link('approval', 'deny')])).toEqual({ verdict: 'deny', at: 1 });
    expect(outcome([link('approval', 'allow'), link('guard', 'deny')])).toEqual({ verdict: 'deny', at: 1 });
  });

  it('has no outcome where nobody decided', () => {
    expect(outcome([link('received', null)])).toBeNull();
    expect(outcome([])).toBeNull();
    expect(question(null)).toBe('What led to this?');
  });
});

describe('a replay', () => {
  it('marks only what differs, on both sides', () => {
    const both = sides(laidOut('{"verdict":"allow","tool":"bash"}'), laidOut('{"verdict":"ask","tool":"bash"}'));
    expect(both.recorded.filter((piece) => piece.own).map((piece) => piece.text)).toEqual(['allow']);
    expect(both.today.filter((piece) => piece.own).map((piece) => piece.text)).toEqual(['ask']);
    expect(both.recorded.map((piece) => piece.text).join('')).toBe('{\n  "verdict": "allow",\n  "tool": "bash"\n}');
  });

  it('takes moves that are not JSON as they are', () => {
    expect(laidOut('AskModel { step: 2 }')).toBe('AskModel { step: 2 }');
    expect(sides('', 'AskModel').today).toEqual([{ text: 'AskModel', own: true }]);
    expect(sides('', 'AskModel').recorded).toEqual([]);
  });
});

describe('an entry in one line', () => {
  const recorded = readFileSync(new URL('../../fake/fixtures/recorded.jsonl', import.meta.url), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Entry);

  it('has words for all that a real run wrote', () => {
    for (const entry of recorded) {
      const told = tell(entry);
      expect(told.title, entry.event.type).toMatch(/^[A-Z]/);
      expect(`${told.title} ${told.detail ?? ''}`, entry.event.type).not.toMatch(/undefined|\[object|NaN/);
    }
  });

  it('shows hidden characters and leaves out colours', () => {
    const entry = (event: Entry['event']): Entry => ({ seq: 1, time: 0, stream: 'turns', event });
    expect(tell(entry({ type: 'prompt_received', content: 'a\u202eb' })).detail).toBe('a\\u{202e}b');
    expect(tell(entry({ type: 'call_finished', call: 'c', outcome: { status: 'done', text: '\u001b[32mok\u001b[0m' } })).detail).toBe('ok');
    expect(tell(entry({ type: 'something_new' })).title).toBe('something new');
  });
});
