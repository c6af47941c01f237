// The entries of one session or run: the newest page first, earlier ones on request, new ones as they come, and none left out between.
import { api } from '../api';
import { asApiError, isAbort, type ApiError } from '../api/client';
import type { Delta, Entry } from '../api/types';
import { live } from './live.svelte';

const NEWEST = Number.MAX_SAFE_INTEGER;

export interface Hears {
  entry?: (entry: Entry) => void;
  delta?: (delta: Delta) => void;
}

export class Entries {
  /** Whether there are earlier ones than those that are loaded. */
  more = $state(false);
  /** The number of the earliest one. */
  first = $state<number | null>(null);
  loading = $state(true);
  error = $state.raw<ApiError | null>(null);
  /** The latest one that was fetched. Those that were heard do not count: there may be some between. */
  #fetched: number | null = null;
  #of: { session?: string; run?: string };
  #page: number;
  #take: (entries: Entry[]) => void;
  #under = new AbortController();
  #begun: Promise<void> = Promise.resolve();

  /** `take` gets every entry, some of them more than once. */
  constructor(of: { session?: string; run?: string }, page: number, take: (entries: Entry[]) => void) {
    this.#of = of;
    this.#page = page;
    this.#take = take;
  }

  /** The first load. */
  get begun(): Promise<void> {
    return this.#begun;
  }

  get signal(): AbortSignal {
    return this.#under.signal;
  }

  /** Loads the newest and follows the stream until the returned function is called. */
  begin(hears: Hears = {}): () => void {
    this.#begun = this.load();
    const off = live.on({
      wanted: this.#of,
      entry: (entry) => {
        hears.entry?.(entry);
        this.#take([entry]);
      },
      delta: hears.delta,
      opened: (_seq, fresh) => fresh && void this.#catchUp(),
    });
    return () => {
      off();
      this.#under.abort();
    };
  }

  load = async (): Promise<void> => {
    await this.#fetch({ before: NEWEST });
  };

  earlier = async (): Promise<void> => {
    await this.#fetch({ before: this.first ?? NEWEST });
  };

  /** After the stream began anew: what was written between the first load and its beginning, which may not be loaded itself yet. */
  async #catchUp(): Promise<void> {
    await this.#begun;
    if (this.#fetched === null) return this.load();
    while (await this.#fetch({ after: this.#fetched })) if (this.signal.aborted) return;
  }

  /** Says whether there is more in the same direction. */
  async #fetch(where: { before?: number; after?: number }): Promise<boolean> {
    this.loading = true;
    try {
      const { entries, more, first, last } = await api.entries({ ...this.#of, limit: this.#page, ...where }, this.signal);
      if (where.before !== undefined) {
        this.more = more;
        this.first = first ?? this.first;
      }
      this.#fetched = Math.max(this.#fetched ?? 0, last ?? 0) || null;
      this.error = null;
      this.#take(entries);
      return more && entries.length > 0;
    } catch (thrown) {
      if (!isAbort(thrown)) this.error = asApiError(thrown);
      return false;
    } finally {
      this.loading = false;
    }
  }
}
