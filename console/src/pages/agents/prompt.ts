// The sections of a prompt as parts of a bar.
import type { AgentDetail } from '../../api/types';

export type Section = AgentDetail['sections'][number];

export interface Part {
  section: Section;
  /** Its place among those that have a text; the bar and the list share it. */
  number: number;
  /** In percent of the bar. */
  width: number;
  /** In percent of the bytes. */
  share: number;
}

const WIDTH_MIN = 1.5;

/** Widths by bytes; small parts are widened so that they can be seen, at the cost of the large ones. All together are 100. */
export function parts(sections: Section[]): Part[] {
  const shown = sections.filter((section) => section.bytes > 0);
  const total = sum(shown.map((section) => section.bytes));
  const shares = shown.map((section) => (section.bytes / total) * 100);
  const small = shares.map((share) => share < WIDTH_MIN);
  const rest = sum(shares.filter((_, index) => !small[index]));
  const room = 100 - WIDTH_MIN * small.filter(Boolean).length;
  return shown.map((section, index) => ({
    section, number: index + 1, share: shares[index]!,
    width: small[index] ? WIDTH_MIN : (shares[index]! / rest) * room,
  }));
}

export function totals(sections: Section[]): { all: number; stable: number } {
  return { all: sum(sections.map((section) => section.bytes)), stable: sum(sections.filter((section) => section.stable).map((section) => section.bytes)) };
}

/** How much of the bar the leading stable part takes; what is stable after the first change is not cached. */
export function stableWidth(all: Part[]): number {
  const first = all.findIndex((part) => !part.section.stable);
  return sum((first < 0 ? all : all.slice(0, first)).map((part) => part.width));
}

function sum(numbers: number[]): number {
  return numbers.reduce((so, far) => so + far, 0);
}
