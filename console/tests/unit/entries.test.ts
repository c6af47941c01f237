// @vitest-environment jsdom
// The entries of a session or run: whatever comes first, the page or the stream, none is left out.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Entry } from '../../src/api/types';
import type { Listener } from '../../src/lib/live.svelte';

const heard: Listener[] = [];
let ledger: number[] = [];
let held: (() => void)[] | null = null;
const asked: Record<string, unknown>[] = [];

const entry = (seq: number): Entry => ({ seq, time: seq, stream: 'turns', sessionId: 's', event: { type: 'x' } });

vi.mock('../../src/lib/live.svelte', () => ({ live: { on: (listener: Listener) => (heard.push(listener), () => {}) } }));
vi.mock('../../src/api', () => ({
  api: {
    entries: async (query: { before?: number; after?: number; limit: number }) => {
      asked.push(query);
      const fit = ledger.filter((seq) => (query.after === undefined ? seq < query.before! : seq > query.after));
      const page = query.after === undefined ? fit.slice(-query.limit) : fit.slice(0, query.limit);
      if (held) await new Promise<void>((done) => held!.push(done));
      return { entries: page.map(entry), first: page[0] ?? null, last: page.at(-1) ?? null, more: fit.length > page.length };
    },
  },
}));

const { Entries } = await import('../../src/lib/entries.svelte');
const settled = () => new Promise((done) => setTimeout(done, 5));

beforeEach(() => {
  heard.length = 0;
  asked.length = 0;
  ledger = [1, 2, 3];
  held = null;
});

function begin(page = 10) {
  const got = new Set<number>();
  const entries = new Entries({ session: 's' }, page, (all) => all.forEach(({ seq }) => got.add(seq)));
  const end = entries.begin();
  return { entries, end, got: () => [...got].sort((one, other) => one - other), stream: heard[0]! };
}

describe('entries', () => {
  it('has what was written between the page and the stream, though the stream stood first', async () => {
    held = [];
    const { got, stream } = begin();
    ledger.push(4);
    stream.opened!(4, true);
    stream.entry!(entry(5));
    ledger.push(5);
    const waiting = held;
    held = null;
    waiting.forEach((go) => go());
    await settled();
    expect(got()).toEqual([1, 2, 3, 4, 5]);
  });

  it('catches up over more than one page', async () => {
    const { got, stream } = begin(2);
    await settled();
    ledger.push(4, 5, 6, 7, 8);
    stream.opened!(8, true);
    await settled();
    expect(got()).toEqual([2, 3, 4, 5, 6, 7, 8]);
  });

  it('asks for nothing when the stream goes on where it was', async () => {
    const { stream } = begin();
    await settled();
    stream.opened!(3, false);
    await settled();
    expect(asked).toHaveLength(1);
  });

  it('goes back page by page', async () => {
    const { entries, got } = begin(2);
    await settled();
    expect([entries.more, entries.first]).toEqual([true, 2]);
    await entries.earlier();
    expect([entries.more, entries.first, got()]).toEqual([false, 1, [1, 2, 3]]);
  });
});
