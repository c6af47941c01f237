// Something that is fetched: its data, whether it is on its way, and what went wrong. An older answer never replaces a newer one.
import { asApiError, isAbort, type ApiError } from '../api/client';

export class Loader<T> {
  data = $state.raw<T | null>(null);
  error = $state.raw<ApiError | null>(null);
  loading = $state(false);
  #fetch: (signal: AbortSignal) => Promise<T>;
  #under: AbortController | null = null;
  #soon = 0;

  constructor(fetch: (signal: AbortSignal) => Promise<T>) {
    this.#fetch = fetch;
  }

  load = async (): Promise<void> => {
    this.#under?.abort();
    const under = new AbortController();
    this.#under = under;
    this.loading = true;
    try {
      const data = await this.#fetch(under.signal);
      if (this.#under !== under) return;
      this.data = data;
      this.error = null;
    } catch (thrown) {
      if (isAbort(thrown) || this.#under !== under) return;
      this.error = asApiError(thrown);
    }
    this.loading = false;
  };

  /** Loads again in a moment; many calls become one. For live updates. */
  soon = (ms = 400): void => {
    if (this.#soon) return;
    this.#soon = window.setTimeout(() => {
      this.#soon = 0;
      void this.load();
    }, ms);
  };

  /** Forgets all, for another subject. */
  reset = (): void => {
    this.stop();
    this.data = null;
    this.error = null;
  };

  stop = (): void => {
    this.#under?.abort();
    this.#under = null;
    window.clearTimeout(this.#soon);
    this.#soon = 0;
    this.loading = false;
  };
}
