// Where the bars of a run's timeline stand: one time axis for all rows, on which long waits are cut short.
import type { RunDetail, TimelineRow } from '../../api/types';

/** A stretch of time and where it is drawn, in percent. */
export interface Piece {
  from: number;
  to: number;
  x0: number;
  x1: number;
  /** Nothing but waiting, drawn much shorter than it was. */
  cut: boolean;
}

export interface Axis {
  start: number;
  end: number;
  pieces: Piece[];
}

export interface Tick {
  x: number;
  /** Time since the start. */
  ms: number;
}

const CUT_PERCENT = 7;
const CUTS_PERCENT_MAX = 35;
const CUT_MIN_MS = 20_000;
const BAR_PERCENT_MIN = 0.5;
const STEPS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5];

/** The axis of all rows. A wait is cut if it is long, and longer than half of all the work. */
export function axis(rows: TimelineRow[], now: number): Axis {
  const start = Math.min(...rows.map((row) => row.startedAt));
  const end = Math.max(start + 1, ...rows.map((row) => row.endedAt ?? now));
  const busy = union(rows.filter((row) => row.kind !== 'approval').map((row) => [row.startedAt, row.endedAt ?? now]));
  const work = busy.reduce((sum, [from, to]) => sum + to - from, 0);
  const limit = Math.max(CUT_MIN_MS, work / 2);
  const cuts = work > 0 ? gaps(busy, start, end).filter(([from, to]) => to - from > limit) : [];
  const cutWidth = Math.min(CUT_PERCENT, CUTS_PERCENT_MAX / Math.max(1, cuts.length));
  const shown = end - start - cuts.reduce((sum, [from, to]) => sum + to - from, 0);
  const scale = (100 - cutWidth * cuts.length) / Math.max(1, shown);
  const pieces: Piece[] = [];
  let [at, x] = [start, 0];
  const add = (to: number, width: number, cut: boolean) => {
    if (to > at) pieces.push({ from: at, to, x0: x, x1: x + width, cut });
    [at, x] = [to, x + width];
  };
  for (const [from, to] of cuts) {
    add(from, (from - at) * scale, false);
    add(to, cutWidth, true);
  }
  add(end, (end - at) * scale, false);
  return { start, end, pieces };
}

/** The position of a time, in percent. */
export function place({ pieces }: Axis, time: number): number {
  const piece = pieces.find((one) => time <= one.to) ?? pieces.at(-1);
  if (!piece) return 0;
  const part = Math.min(1, Math.max(0, (time - piece.from) / (piece.to - piece.from)));
  return piece.x0 + part * (piece.x1 - piece.x0);
}

/** The bar of a row, in percent; never too thin to be seen, never over the edge. */
export function bar(on: Axis, row: TimelineRow, now: number): { left: number; width: number } {
  const left = Math.min(place(on, row.startedAt), 100 - BAR_PERCENT_MIN);
  return { left, width: Math.max(BAR_PERCENT_MIN, place(on, row.endedAt ?? now) - left) };
}

/** Marks at round times, with the beginning of what follows a cut, and none too near to another. */
export function ticks(on: Axis, wanted = 5, apart = 9): Tick[] {
  const shown = on.pieces.filter((piece) => !piece.cut);
  const total = shown.reduce((sum, piece) => sum + piece.to - piece.from, 0);
  const step = STEPS_MS.find((ms) => ms >= total / wanted) ?? 864e5;
  const all: Tick[] = [];
  for (const [index, piece] of shown.entries()) {
    if (index > 0) all.push({ x: piece.x0, ms: piece.from - on.start });
    for (let ms = Math.ceil((piece.from - on.start) / step) * step; ms <= piece.to - on.start; ms += step) all.push({ x: place(on, on.start + ms), ms });
  }
  const kept: Tick[] = [];
  for (const tick of all.sort((one, other) => one.x - other.x)) {
    if (kept.length === 0 || tick.x - kept.at(-1)!.x >= apart) kept.push(tick);
  }
  return kept.filter((tick) => tick.x <= 100 - apart / 2);
}

/** How much time each kind took, without counting twice what ran side by side. */
export function shares(rows: TimelineRow[], now: number): { kind: string; count: number; ms: number }[] {
  const kinds = [...new Set(rows.map((row) => row.kind))];
  return kinds.map((kind) => {
    const mine = rows.filter((row) => row.kind === kind);
    const ms = union(mine.map((row) => [row.startedAt, row.endedAt ?? now])).reduce((sum, [from, to]) => sum + to - from, 0);
    return { kind, count: mine.length, ms };
  });
}

export interface Group {
  /** Null is what belongs to the run and to no turn. */
  turnId: string | null;
  title: string;
  detail: string;
  rows: TimelineRow[];
}

/** The rows by turn, in the order in which the turns began. A step of a task names its turn. */
export function groups({ timeline, turns, steps }: Pick<RunDetail, 'timeline' | 'turns' | 'steps'>): Group[] {
  const found = new Map<string | null, Group>();
  for (const row of [...timeline].sort((one, other) => one.startedAt - other.startedAt || one.seq - other.seq)) {
    let group = found.get(row.turnId);
    if (!group) {
      const step = steps.find((one) => one.turnId === row.turnId);
      const turn = turns.find((one) => one.turnId === row.turnId);
      const title = step && steps.length > 1 ? `Step ${step.index + 1}: ${step.id}` : row.turnId === null ? 'The run' : `Turn ${found.size + 1}`;
      group = { turnId: row.turnId, title, detail: step && steps.length > 1 ? step.agent : (turn?.prompt ?? ''), rows: [] };
      found.set(row.turnId, group);
    }
    group.rows.push(row);
  }
  return [...found.values()];
}

type Span = [from: number, to: number];

function union(spans: Span[]): Span[] {
  const all: Span[] = [];
  for (const [from, to] of [...spans].sort((one, other) => one[0] - other[0])) {
    const last = all.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else all.push([from, to]);
  }
  return all;
}

function gaps(busy: Span[], start: number, end: number): Span[] {
  const all: Span[] = [];
  let at = start;
  for (const [from, to] of busy) {
    if (from > at) all.push([at, from]);
    at = Math.max(at, to);
  }
  if (end > at) all.push([at, end]);
  return all;
}
