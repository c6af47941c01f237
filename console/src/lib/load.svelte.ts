// Something that is fetched: its data, whether it is on its way, and what went wrong. An older answer never replaces a newer one.
// What failed because the server was away or busy is fetched again by itself, later and later.
import { asApiError, isAbort, type ApiError } from '../api/client';

const SOON_MS = 400;
const AGAIN_FIRST_MS = 1_000;
const AGAIN_MAX_MS = 30_000;

export class Loader<T> {
  data = $state.raw<T | null>(null);
  error = $state.raw<ApiError | null>(null);
  loading = $state(false);
  #fetch: (signal: AbortSignal) => Promise<T>;
  #of: () => unknown;
  /** What the data is about. */
  #subject: unknown;
  #under: AbortController | null = null;
  #timer = 0;
  #once = false;
  #failures = 0;

  /** `of` names what is fetched, if that may change: what is known of one thing is not left standing if another cannot be had. */
  constructor(fetch: (signal: AbortSignal) => Promise<T>, of: () => unknown = () => null) {
    this.#fetch = fetch;
    this.#of = of;
  }

  load = async (): Promise<void> => {
    this.#leave();
    const under = new AbortController();
    this.#under = under;
    this.loading = true;
    const subject = this.#of();
    try {
      const data = await this.#fetch(under.signal);
      if (this.#under !== under) return;
      this.#subject = subject;
      this.data = data;
      this.error = null;
      this.#failures = 0;
    } catch (thrown) {
      if (isAbort(thrown) || this.#under !== under) return;
      this.#fail(asApiError(thrown), subject);
    }
    this.#under = null;
    this.loading = false;
    if (this.#once) this.soon();
  };

  /** Loads again in a moment; many calls become one. What is on its way is not broken off: it is loaded once more afterwards. */
  soon = (ms = SOON_MS): void => {
    if (this.#under) this.#once = true;
    else this.#timer ||= this.#after(ms);
  };

  /** Takes what is known from elsewhere, and nothing older that is still on its way. */
  put = (data: T): void => {
    this.stop();
    this.data = data;
    this.error = null;
  };

  /** Forgets all, for another subject. */
  reset = (): void => {
    this.stop();
    this.data = null;
    this.error = null;
  };

  stop = (): void => {
    this.#leave();
    this.#failures = 0;
    this.loading = false;
  };

  #leave(): void {
    this.#under?.abort();
    this.#under = null;
    window.clearTimeout(this.#timer);
    this.#timer = 0;
    this.#once = false;
  }

  #fail(error: ApiError, subject: unknown): void {
    if (subject !== this.#subject) this.data = null;
    this.error = error;
    if (!error.passing) return;
    this.#timer = this.#after(error.retryAfterMs ?? Math.min(AGAIN_MAX_MS, AGAIN_FIRST_MS * 2 ** this.#failures));
    this.#failures += 1;
  }

  #after(ms: number): number {
    return window.setTimeout(() => void this.load(), ms);
  }
}
