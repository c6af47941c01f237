// Where the bars, lines and marks of a plot stand. Coordinates are pixels, the origin is at the top left.

export interface Frame {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** The smallest round number that is not less, and of which the half is round too. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const found = [1, 2, 4, 6, 8, 10].find((times) => times * power >= value * (1 - 1e-9))!;
  return found * power;
}

/** The top of the axis: round, and never below `least`, so that one event does not fill the plot. */
export function ceiling(values: (number | null)[], least: number): number {
  return roundUp(Math.max(least, ...values.map((value) => value ?? 0)));
}

export function x(frame: Frame, index: number, count: number): number {
  const inner = frame.width - frame.left - frame.right;
  return frame.left + ((index + 0.5) / Math.max(1, count)) * inner;
}

export function y(frame: Frame, value: number, top: number): number {
  const inner = frame.height - frame.top - frame.bottom;
  return frame.height - frame.bottom - (Math.min(value, top) / top) * inner;
}

/** A line through all known values; it has a gap where one is not known. */
export function path(frame: Frame, values: (number | null)[], top: number): string {
  let drawn = '';
  let pen = false;
  for (const [index, value] of values.entries()) {
    if (value !== null) drawn += `${pen ? 'L' : 'M'}${x(frame, index, values.length).toFixed(1)} ${y(frame, value, top).toFixed(1)}`;
    pen = value !== null;
  }
  return drawn;
}

/** Which bucket a horizontal place belongs to. */
export function indexAt(frame: Frame, place: number, count: number): number {
  const inner = frame.width - frame.left - frame.right;
  return Math.min(count - 1, Math.max(0, Math.floor(((place - frame.left) / Math.max(1, inner)) * count)));
}

/** How wide a small text is at most, in pixels; its figures are all of one width. */
export function textWidth(text: string): number {
  return Math.ceil(text.length * CHARACTER);
}

const CHARACTER = 6.4;

/** A text below the axis, wholly inside the plot: at its place where there is room on both sides, else at the edge. */
export function inside(frame: Frame, middle: number, text: string): number {
  const half = textWidth(text) / 2;
  return Math.min(frame.width - half, Math.max(half, middle));
}

const HOURS = 3_600_000;

/** Marks at round times of the clock of this place: minutes, hours or days, at most `most`. */
export function timeMarks(times: number[], most: number): { index: number; label: string }[] {
  const first = times[0];
  const last = times.at(-1);
  if (first === undefined || last === undefined || last === first) return [];
  const step = [HOURS / 6, HOURS / 2, HOURS, 3 * HOURS, 6 * HOURS, 12 * HOURS, 24 * HOURS, 48 * HOURS, 168 * HOURS].find((one) => (last - first) / one <= most) ?? 168 * HOURS;
  const zone = -new Date(first).getTimezoneOffset() * 60_000;
  const marks: { index: number; label: string }[] = [];
  for (let at = Math.ceil((first + zone) / step) * step - zone; at <= last; at += step) {
    const index = times.findIndex((time) => time >= at);
    if (index >= 0) marks.push({ index, label: timeLabel(at, step) });
  }
  return marks;
}

export function timeLabel(at: number, step: number): string {
  return new Intl.DateTimeFormat('en-GB', step >= 24 * HOURS ? { weekday: 'short', day: 'numeric' } : { hour: '2-digit', minute: '2-digit' }).format(at);
}

/** All known values together; null if none is known. */
export function sum(values: (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((so, far) => so + far, 0);
}
