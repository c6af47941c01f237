// @vitest-environment jsdom
// Loading: many wishes become one, nothing is starved or left standing, and what failed in passing is tried again.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../src/api/client';
import { Loader } from '../../src/lib/load.svelte';

const later = <T>(value: T, ms: number) => new Promise<T>((done) => setTimeout(() => done(value), ms));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a loader', () => {
  it('does not break off a slow load when something happens meanwhile, and loads once more afterwards', async () => {
    let asked = 0;
    const loader = new Loader(() => later((asked += 1), 1000));
    void loader.load();
    for (let event = 0; event < 8; event += 1) {
      loader.soon(250);
      await vi.advanceTimersByTimeAsync(120);
    }
    expect([asked, loader.data]).toEqual([1, null]);
    await vi.advanceTimersByTimeAsync(100);
    expect(loader.data).toBe(1);
    await vi.advanceTimersByTimeAsync(1500);
    expect([asked, loader.data, loader.loading]).toEqual([2, 2, false]);
  });

  it('never puts an older answer over a newer one', async () => {
    let wait = 500;
    const loader = new Loader(() => later(wait, wait));
    void loader.load();
    wait = 50;
    void loader.load();
    await vi.advanceTimersByTimeAsync(600);
    expect(loader.data).toBe(50);
    void loader.load();
    loader.put(7);
    await vi.advanceTimersByTimeAsync(600);
    expect([loader.data, loader.loading]).toEqual([7, false]);
  });

  it('tries again by itself when the server was away or busy, and only then', async () => {
    const failures = [new ApiError(0, 'unreachable', 'away'), new ApiError(429, 'rate_limited', 'busy', null, 5000), new ApiError(404, 'not_found', 'gone')];
    let asked = 0;
    const loader = new Loader<string>(() => Promise.reject(failures[asked++]));
    await loader.load();
    expect(loader.error?.code).toBe('unreachable');
    await vi.advanceTimersByTimeAsync(1000);
    expect(loader.error?.code).toBe('rate_limited');
    await vi.advanceTimersByTimeAsync(4900);
    expect(asked).toBe(2);
    await vi.advanceTimersByTimeAsync(200);
    expect(loader.error?.code).toBe('not_found');
    await vi.advanceTimersByTimeAsync(600_000);
    expect(asked).toBe(3);
  });

  it('stops for good', async () => {
    let asked = 0;
    const loader = new Loader<string>(() => Promise.reject((asked += 1, new ApiError(503, 'busy', 'busy'))));
    await loader.load();
    loader.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toBe(1);
  });

  it('keeps what it knows if the same cannot be had again, and forgets it if another cannot', async () => {
    let subject = 'one';
    let works = true;
    const loader = new Loader(() => (works ? Promise.resolve(subject) : Promise.reject(new ApiError(404, 'not_found', 'gone'))), () => subject);
    await loader.load();
    works = false;
    await loader.load();
    expect(loader.data).toBe('one');
    subject = 'two';
    await loader.load();
    expect(loader.data).toBeNull();
  });
});
