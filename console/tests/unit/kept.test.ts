// @vitest-environment jsdom
// What the browser keeps: what was read, in all tabs together; and that nothing fails where nothing is kept.
import { beforeEach, describe, expect, it, vi } from 'vitest';

const session = (id: string, lastSeq: number, updatedAt = Date.now() + 1000) => ({ id, lastSeq, updatedAt });

async function tab() {
  vi.resetModules();
  return (await import('../../src/lib/seen.svelte')).seen;
}

beforeEach(() => localStorage.clear());

describe('what was read', () => {
  it('is new until it was read, and again when more came', async () => {
    const seen = await tab();
    expect(seen.unread(session('a', 5))).toBe(true);
    seen.mark('a', 5);
    expect([seen.unread(session('a', 5)), seen.unread(session('a', 6))]).toEqual([false, true]);
    expect(seen.unread(session('old', 3, 1))).toBe(false);
  });

  it('is not forgotten because another tab read something else', async () => {
    const one = await tab();
    const other = await tab();
    one.mark('a', 5);
    other.mark('b', 7);
    const next = await tab();
    expect([next.unread(session('a', 5)), next.unread(session('b', 7))]).toEqual([false, false]);
  });

  it('is told to the other tabs', async () => {
    const seen = await tab();
    window.dispatchEvent(new StorageEvent('storage', { key: 'agentry.seen', newValue: '{"a":9}' }));
    expect(seen.unread(session('a', 9))).toBe(false);
  });

  it('needs no browser that keeps anything', async () => {
    const broken = vi.spyOn(Storage.prototype, 'getItem').mockImplementation(() => {
      throw new Error('not allowed');
    });
    const full = vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
      throw new Error('full');
    });
    const seen = await tab();
    seen.mark('a', 5);
    expect(seen.unread(session('a', 5))).toBe(false);
    broken.mockRestore();
    full.mockRestore();
  });
});

describe('a code', () => {
  it('is found in whatever was pasted, even if it is no good', async () => {
    const { codeOf } = await import('../../src/lib/auth.svelte');
    expect([' agt_1 ', 'http://127.0.0.1:1/#code=agt_2', '#code=a%20b', '#code=100%'].map(codeOf)).toEqual(['agt_1', 'agt_2', 'a b', '100%']);
  });
});
