// Which part of something tall was seen: spans that are joined. Used before a person may answer.

export type Span = readonly [from: number, to: number];

/** Adds a span; spans that touch become one. A pixel of slack takes care of rounding. */
export function addSpan(spans: readonly Span[], [from, to]: Span): Span[] {
  if (to <= from) return [...spans];
  const apart: Span[] = [];
  let [start, end] = [from, to];
  for (const span of spans) {
    if (span[1] < start - 1 || span[0] > end + 1) apart.push(span);
    else [start, end] = [Math.min(start, span[0]), Math.max(end, span[1])];
  }
  return [...apart, [start, end] as const].sort((one, other) => one[0] - other[0]);
}

/** Whether everything from the top to the height was seen. */
export function covers(spans: readonly Span[], height: number): boolean {
  return spans.some(([from, to]) => from <= 1 && to >= height - 1);
}

/** The part of an element that can be seen now, measured from its own top; null if there is none. */
export function visibleSpan(element: HTMLElement): Span | null {
  if (document.hidden || document.querySelector('dialog[open]')) return null;
  const box = element.getBoundingClientRect();
  let [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, window.innerHeight)];
  for (let parent = element.parentElement; parent; parent = parent.parentElement) {
    if (getComputedStyle(parent).overflowY === 'visible') continue;
    const frame = parent.getBoundingClientRect();
    [top, bottom] = [Math.max(top, frame.top), Math.min(bottom, frame.bottom)];
  }
  return bottom > top ? [top - box.top, bottom - box.top] : null;
}
