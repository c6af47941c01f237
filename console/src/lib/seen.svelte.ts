// Up to where each session was read in this browser, so that the list can mark what is new.
const KEY = 'agentry.seen';
const SINCE = 'agentry.since';
const KEPT_MAX = 500;

class Seen {
  #seqs = $state<Record<string, number>>(read());
  #since = since();

  /** Whether something came since it was read; what is older than this browser's first visit counts as read. */
  unread(session: { id: string; lastSeq: number; updatedAt: number }): boolean {
    const seq = this.#seqs[session.id];
    return seq === undefined ? session.updatedAt > this.#since : seq < session.lastSeq;
  }

  mark(session: string, seq: number): void {
    if ((this.#seqs[session] ?? 0) >= seq) return;
    this.#seqs[session] = seq;
    const kept = Object.entries(this.#seqs).sort((one, other) => other[1] - one[1]).slice(0, KEPT_MAX);
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(kept)));
  }
}

function read(): Record<string, number> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}') as Record<string, number>;
  } catch {
    return {};
  }
}

function since(): number {
  const kept = Number(localStorage.getItem(SINCE));
  if (kept > 0) return kept;
  const now = Date.now();
  localStorage.setItem(SINCE, String(now));
  return now;
}

export const seen = new Seen();
