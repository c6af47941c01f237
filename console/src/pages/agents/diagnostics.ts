// Findings in order, and the excerpt of one without what is said beside it already.
import type { Diagnostic } from '../../api/types';

const ORDER = ['error', 'warning', 'note'];

/** The worst first, then by place. */
export function sorted(all: Diagnostic[]): Diagnostic[] {
  const rank = (one: Diagnostic) => ORDER.indexOf(one.severity);
  return [...all].sort((one, other) => rank(one) - rank(other) || one.file.localeCompare(other.file) || one.line - other.line);
}

/** The lines of the file that are pointed at: without the headline, the place, the help, and empty bars around. */
export function excerpt(rendered: string): string {
  const kept = rendered.split('\n').filter((line) => !/^(error|warning|note)(\[|:)/.test(line) && !/^\s*-->/.test(line) && !/^\s*= (help|note):/.test(line));
  const isBare = (line: string | undefined) => line !== undefined && /^\s*\|?\s*$/.test(line);
  while (isBare(kept[0])) kept.shift();
  while (isBare(kept.at(-1))) kept.pop();
  return kept.join('\n');
}
