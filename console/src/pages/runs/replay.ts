// Two moves side by side: what they share, and what only one of them has.
import { diffWordsWithSpace } from 'diff';

export interface Piece {
  text: string;
  /** Only this side has it. */
  own: boolean;
}

/** JSON is indented, so that each difference is on its own line. */
export function laidOut(move: string): string {
  try {
    return JSON.stringify(JSON.parse(move), null, 2);
  } catch {
    return move;
  }
}

/** Compares by words. What differs only in space is not marked. */
export function sides(recorded: string, today: string): { recorded: Piece[]; today: Piece[] } {
  const found = { recorded: [] as Piece[], today: [] as Piece[] };
  for (const { value, added, removed } of diffWordsWithSpace(recorded, today)) {
    if (!added) push(found.recorded, value, removed);
    if (!removed) push(found.today, value, added);
  }
  return found;
}

function push(pieces: Piece[], text: string, own: boolean): void {
  const marked = own && text.trim() !== '';
  const last = pieces.at(-1);
  if (last && last.own === marked) last.text += text;
  else pieces.push({ text, own: marked });
}
