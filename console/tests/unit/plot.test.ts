// Where the parts of a plot stand, and whether all is well.
import { describe, expect, it } from 'vitest';
import { notes, overall } from '../../src/pages/health/overall';
import { ceiling, indexAt, inside, path, roundUp, sum, textWidth, timeMarks, x, y } from '../../src/pages/health/plot';

const frame = { width: 140, height: 120, left: 40, right: 0, top: 10, bottom: 10 };

describe('a plot', () => {
  it('has a round top', () => {
    expect([0, 1, 3, 7, 12, 45, 0.03].map(roundUp)).toEqual([1, 1, 4, 8, 20, 60, 0.04]);
    expect(ceiling([1, null, 2], 4)).toBe(4);
    expect(ceiling([null], 0.01)).toBe(0.01);
  });

  it('places buckets in their middle and values from the bottom', () => {
    expect([x(frame, 0, 10), x(frame, 9, 10)]).toEqual([45, 135]);
    expect([y(frame, 0, 10), y(frame, 10, 10), y(frame, 99, 10)]).toEqual([110, 10, 10]);
  });

  it('finds the bucket under a pointer', () => {
    expect([indexAt(frame, 0, 10), indexAt(frame, 45, 10), indexAt(frame, 500, 10)]).toEqual([0, 0, 9]);
  });

  it('leaves a gap where a value is not known', () => {
    expect(path(frame, [1, 1, null, 1, 1], 1)).toBe('M50.0 10.0L70.0 10.0M110.0 10.0L130.0 10.0');
    expect(path(frame, [null], 1)).toBe('');
  });

  it('sums what is known', () => {
    expect([sum([1, null, 2]), sum([null]), sum([])]).toEqual([3, null, null]);
  });

  it('has few marks, at round times', () => {
    const hour = 3_600_000;
    const start = new Date(2026, 10, 16, 4, 30).getTime();
    const marks = timeMarks(Array.from({ length: 48 }, (_, index) => start + index * (hour / 2)), 5);
    expect(marks.map((mark) => mark.label)).toEqual(['06:00', '12:00', '18:00', '00:00']);
    expect(marks[0]!.index).toBe(3);
    expect(timeMarks([], 5)).toEqual([]);
  });

  it('keeps its labels inside', () => {
    const half = textWidth('Tue 17') / 2;
    expect(inside(frame, 139, 'Tue 17')).toBe(frame.width - half);
    expect(inside(frame, 1, 'Tue 17')).toBe(half);
    expect(inside(frame, 70, 'Tue 17')).toBe(70);
  });
});

describe('health', () => {
  const sandbox = (ok: boolean) => ({ level: 'ns', kernel: null, checks: [{ name: 'read a file outside', ok: true, detail: '' }, { name: 'limit of memory', ok, detail: 'watched' }] });

  it('is well only if nothing is wrong and every check holds', () => {
    expect(overall({ problems: [], warnings: [], sandbox: sandbox(true) })).toEqual({ state: 'ok', word: 'healthy' });
    expect(overall({ problems: [], warnings: [], sandbox: sandbox(false) }).state).toBe('warning');
    expect(overall({ problems: [], warnings: ['the limit of memory is only watched'], sandbox: sandbox(true) }).state).toBe('warning');
    expect(overall({ problems: ['a', 'b'], warnings: [], sandbox: sandbox(true) })).toEqual({ state: 'error', word: '2 problems' });
  });

  it('says each thing once', () => {
    const said = 'the limit of memory is only watched';
    expect(notes({ problems: [], warnings: [said], sandbox: sandbox(false) })).toEqual([said]);
    expect(notes({ problems: ['the sandbox lets out: limit of memory'], warnings: [], sandbox: sandbox(false) })).toEqual([]);
    expect(notes({ problems: [], warnings: [], sandbox: sandbox(false) })).toEqual(['the sandbox is degraded: limit of memory (watched)']);
  });
});
