// All that is known of a session in this tab: its entries, the turns made of them, and the pieces that stream in.
import type { Delta, Entry } from '../../api/types';
import { foldTurn } from './fold';
import { group } from './group';
import type { TurnView } from './view';

export interface Streamed {
  text: string;
  thinking: string;
}

export class SessionFold {
  turns = $state.raw<TurnView[]>([]);
  /** Pieces by the entry of their request. */
  streamed = $state<Record<number, Streamed>>({});
  /** What calls under way print, by call. */
  progress = $state<Record<string, string>>({});
  first: number | null = null;
  last: number | null = null;
  #entries = new Map<number, Entry>();
  #views = new Map<string, { stamp: string; view: TurnView }>();

  add(entries: Entry[]): void {
    let changed = false;
    for (const entry of entries) {
      if (this.#entries.has(entry.seq)) continue;
      this.#entries.set(entry.seq, entry);
      this.first = Math.min(this.first ?? entry.seq, entry.seq);
      this.last = Math.max(this.last ?? 0, entry.seq);
      changed = true;
      this.#forget(entry);
    }
    if (changed) this.#fold();
  }

  delta(delta: Delta): void {
    if (delta.kind === 'progress') {
      const id = delta.callId ?? '';
      this.progress[id] = delta.whole ? delta.content : (this.progress[id] ?? '') + delta.content;
      return;
    }
    if (delta.kind === 'restart') {
      this.streamed[delta.asked] = { text: '', thinking: '' };
      return;
    }
    const so = (this.streamed[delta.asked] ??= { text: '', thinking: '' });
    so[delta.kind] = delta.whole ? delta.content : so[delta.kind] + delta.content;
  }

  clear(): void {
    this.#entries.clear();
    this.#views.clear();
    this.turns = [];
    this.streamed = {};
    this.progress = {};
    this.first = null;
    this.last = null;
  }

  /** Deltas are dropped when the reply is in the ledger. */
  #forget(entry: Entry): void {
    if (entry.event.type === 'call_finished') delete this.progress[entry.event.call as string];
    if (entry.event.type !== 'turn_ended') return;
    for (const asked of Object.keys(this.streamed).map(Number)) if (asked < entry.seq) delete this.streamed[asked];
  }

  #fold(): void {
    const ordered = [...this.#entries.values()].sort((one, other) => one.seq - other.seq);
    const kept = new Map<string, { stamp: string; view: TurnView }>();
    this.turns = group(ordered).map(({ key, entries }) => {
      const stamp = `${entries[0]!.seq}-${entries.at(-1)!.seq}-${entries.length}`;
      const before = this.#views.get(key);
      const now = before?.stamp === stamp ? before : { stamp, view: foldTurn(key, entries) };
      kept.set(key, now);
      return now.view;
    });
    this.#views = kept;
  }
}
