// The live stream: one EventSource for the tab, resumed after the last entry seen, closed while the tab is hidden.
import { withQuery } from '../api/client';
import type { Delta, Entry } from '../api/types';
import type { Loader } from './load.svelte';
import { Pieces } from './pieces';

export interface Wanted {
  session?: string;
  run?: string;
  types?: string[];
}

export interface Listener {
  wanted: Wanted;
  entry?: (entry: Entry) => void;
  delta?: (delta: Delta) => void;
  /** The stream is connected. `fresh` means that entries before `seq` were not sent: fetch what you need. */
  opened?: (seq: number, fresh: boolean) => void;
}

const WAIT_FIRST_MS = 500;
const WAIT_MAX_MS = 15_000;
const LOOK_MS = 10_000;
const SLEPT_MS = 40_000;

class Live {
  state = $state<'off' | 'connecting' | 'open' | 'reconnecting'>('off');
  #source: EventSource | null = null;
  #last: number | null = null;
  #failures = 0;
  #timer = 0;
  #wanted = false;
  #listeners = new Set<Listener>();
  #pieces = new Pieces();
  #onTrouble: () => void = () => {};
  #looked = Date.now();

  constructor() {
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.#close('off');
      else if (this.#wanted) this.#open();
    });
    window.setInterval(() => this.#look(), LOOK_MS);
    window.addEventListener('online', () => this.#wanted && this.#state() === 'reconnecting' && this.#open());
  }

  /** Opens the stream; `trouble` is called when it fails again and again, since a stream cannot tell why. */
  start(trouble: () => void): void {
    this.#wanted = true;
    this.#onTrouble = trouble;
    if (!document.hidden) this.#open();
  }

  stop(): void {
    this.#wanted = false;
    this.#last = null;
    this.#pieces.clear();
    this.#failures = 0;
    this.#close('off');
  }

  /** Hears what is wanted until the returned function is called; first what is being said already. */
  on(listener: Listener): () => void {
    this.#listeners.add(listener);
    for (const delta of this.#pieces.all()) if (concerns(listener, delta)) listener.delta?.(delta);
    return () => this.#listeners.delete(listener);
  }

  /** Reloads a loader when an entry may change its data, and after a reconnect with missed entries. */
  refresh(loader: Loader<any>, wanted: Wanted, ms?: number, changes: (entry: Entry) => boolean = () => true): () => void {
    return this.on({ wanted, entry: (entry) => changes(entry) && loader.soon(ms), opened: (_seq, fresh) => fresh && loader.soon() });
  }

  #state() {
    return this.state;
  }

  /** A machine that slept has connections that are dead, and does not know. */
  #look(): void {
    const slept = Date.now() - this.#looked > SLEPT_MS;
    this.#looked = Date.now();
    if (slept && this.#wanted && this.state === 'open' && !document.hidden) this.#open();
  }

  #open(): void {
    this.#close(this.#failures > 0 ? 'reconnecting' : 'connecting');
    const fresh = this.#last === null;
    const source = new EventSource(withQuery('/api/stream', { after: this.#last, deltas: true }));
    this.#source = source;
    source.addEventListener('hello', (event) => {
      const { seq } = JSON.parse((event as MessageEvent<string>).data) as { seq: number };
      this.#failures = 0;
      this.state = 'open';
      this.#last = Math.max(this.#last ?? 0, seq);
      for (const listener of this.#listeners) listener.opened?.(seq, fresh);
    });
    source.addEventListener('entry', (event) => this.#entry(JSON.parse((event as MessageEvent<string>).data) as Entry));
    source.addEventListener('delta', (event) => this.#delta(JSON.parse((event as MessageEvent<string>).data) as Delta));
    source.addEventListener('bye', () => this.#retry());
    source.addEventListener('error', () => this.#retry());
  }

  #entry(entry: Entry): void {
    if (this.#last !== null && entry.seq <= this.#last) return;
    this.#last = entry.seq;
    this.#pieces.drop(entry);
    for (const listener of this.#listeners) {
      const { types } = listener.wanted;
      if (concerns(listener, entry) && (!types || types.includes(entry.event.type))) listener.entry?.(entry);
    }
  }

  #delta(delta: Delta): void {
    this.#pieces.take(delta);
    for (const listener of this.#listeners) if (concerns(listener, delta)) listener.delta?.(delta);
  }

  #retry(): void {
    this.#close('reconnecting');
    this.#failures += 1;
    if (this.#failures >= 2) this.#onTrouble();
    const wait = Math.min(WAIT_MAX_MS, WAIT_FIRST_MS * 2 ** (this.#failures - 1));
    this.#timer = window.setTimeout(() => this.#wanted && !document.hidden && this.#open(), wait * (0.75 + Math.random() / 2));
  }

  #close(state: Live['state']): void {
    window.clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
    this.state = state;
  }
}

function concerns({ wanted: { session, run } }: Listener, what: { sessionId?: string; runId?: string }): boolean {
  return (!session || what.sessionId === session) && (!run || what.runId === run);
}

export const live = new Live();
