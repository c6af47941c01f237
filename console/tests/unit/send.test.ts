// Sending: once for the same message, anew for another, and nothing lost that was written meanwhile. And long lists in pages.
import { describe, expect, it } from 'vitest';
import { firstRows } from '../../src/lib/rows';
import { leftAfter, refusal, Sending } from '../../src/lib/send';

describe('a message', () => {
  it('keeps its key until it was taken, and another has another', () => {
    const sending = new Sending();
    const first = sending.keyOf({ text: 'Hello' });
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(sending.keyOf({ text: 'Hello' })).toBe(first);
    const edited = sending.keyOf({ text: 'Hello you' });
    expect(edited).not.toBe(first);
    sending.over();
    expect(sending.keyOf({ text: 'Hello you' })).not.toBe(edited);
  });

  it('leaves in the field what was written while it went out', () => {
    expect([leftAfter('Hello', 'Hello'), leftAfter(' Hello\nand more', 'Hello'), leftAfter('Another', 'Hello')]).toEqual(['', 'and more', 'Another']);
  });

  it('says why it was not taken', () => {
    expect(refusal({ status: 'denied', why: 'no policy allows it' } as never)).toBe('denied: no policy allows it');
    expect(refusal({ status: 'running' } as never)).toBeNull();
  });
});

describe('a long list', () => {
  const all = Array.from({ length: 450 }, (_, index) => ({ id: `r${index}` }));
  const asked: number[] = [];
  const page = async (limit: number, before: string | undefined) => {
    asked.push(limit);
    if (limit > 200) throw new Error('`limit` is a number from 1 to 200');
    const from = before ? all.findIndex(({ id }) => id === before) + 1 : 0;
    const rows = all.slice(from, from + limit);
    return { rows, next: from + limit < all.length ? rows.at(-1)!.id : null };
  };

  it('is fetched in pages that the server gives', async () => {
    expect(await firstRows(50, page)).toMatchObject({ next: 'r49' });
    asked.length = 0;
    const found = await firstRows(430, page);
    expect([found.rows.length, found.next, asked]).toEqual([430, 'r429', [200, 200, 30]]);
    expect(await firstRows(500, page)).toMatchObject({ next: null });
  });

  it('has a row once that moved between two pages', async () => {
    let turn = 0;
    const moved = async () => ((turn += 1) === 1 ? { rows: [{ id: 'a' }, { id: 'b' }], next: 'b' } : { rows: [{ id: 'b' }, { id: 'c' }], next: null });
    expect((await firstRows(4, moved)).rows.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });
});
