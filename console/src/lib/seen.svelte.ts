// Up to where each session was read in this browser, so that the list can mark what is new. All tabs share it.
import { keep, recall } from './kept';

const KEY = 'agentry.seen';
const SINCE = 'agentry.since';
const KEPT_MAX = 500;

type Seqs = Record<string, number>;

class Seen {
  #seqs = $state.raw<Seqs>(read(recall(KEY)));
  #since = since();

  constructor() {
    window.addEventListener('storage', ({ key, newValue }) => {
      if (key === KEY) this.#seqs = newest(this.#seqs, read(newValue));
    });
  }

  /** Whether something came since it was read; what is older than this browser's first visit counts as read. */
  unread(session: { id: string; lastSeq: number; updatedAt: number }): boolean {
    const seq = this.#seqs[session.id];
    return seq === undefined ? session.updatedAt > this.#since : seq < session.lastSeq;
  }

  mark(session: string, seq: number): void {
    if ((this.#seqs[session] ?? 0) >= seq) return;
    // Another tab may have read on since: what it knows is not written over.
    this.#seqs = newest({ ...this.#seqs, [session]: seq }, read(recall(KEY)));
    keep(KEY, JSON.stringify(this.#seqs));
  }
}

/** Of each session the later place; of too many sessions those that were read last. */
function newest(one: Seqs, other: Seqs): Seqs {
  const all = { ...other };
  for (const [session, seq] of Object.entries(one)) all[session] = Math.max(seq, other[session] ?? 0);
  return Object.fromEntries(Object.entries(all).sort((left, right) => right[1] - left[1]).slice(0, KEPT_MAX));
}

function read(text: string | null): Seqs {
  try {
    const found: unknown = JSON.parse(text ?? '{}');
    return found !== null && typeof found === 'object' ? (found as Seqs) : {};
  } catch {
    return {};
  }
}

function since(): number {
  const kept = Number(recall(SINCE));
  if (kept > 0) return kept;
  const now = Date.now();
  keep(SINCE, String(now));
  return now;
}

export const seen = new Seen();
