// The entries of one run: the newest page first, earlier ones on request, new ones as they come.
import { api } from '../../api';
import { asApiError, isAbort, type ApiError } from '../../api/client';
import type { Entry } from '../../api/types';
import { live } from '../../lib/live.svelte';

const PAGE = 300;

export class RunEntries {
  all = $state.raw<Entry[]>([]);
  more = $state(false);
  loading = $state(true);
  error = $state.raw<ApiError | null>(null);
  #run: string;
  #under = new AbortController();

  constructor(run: string) {
    this.#run = run;
  }

  start(): () => void {
    void this.load();
    const off = live.on({
      wanted: { run: this.#run },
      entry: (entry) => this.#add([entry]),
      opened: (_seq, fresh) => fresh && this.all.length > 0 && void this.#fetch({ after: this.all.at(-1)!.seq }),
    });
    return () => {
      off();
      this.#under.abort();
    };
  }

  load = (): Promise<void> => this.#fetch({ before: Number.MAX_SAFE_INTEGER });

  earlier = (): Promise<void> => this.#fetch({ before: this.all[0]?.seq ?? Number.MAX_SAFE_INTEGER });

  async #fetch(where: { before?: number; after?: number }): Promise<void> {
    this.loading = true;
    try {
      const page = await api.entries({ run: this.#run, limit: PAGE, ...where }, this.#under.signal);
      if (where.before !== undefined) this.more = page.more;
      this.error = null;
      this.#add(page.entries);
    } catch (thrown) {
      if (isAbort(thrown)) return;
      this.error = asApiError(thrown);
    }
    this.loading = false;
  }

  #add(entries: Entry[]): void {
    const known = new Set(this.all.map((entry) => entry.seq));
    const fresh = entries.filter((entry) => !known.has(entry.seq));
    if (fresh.length > 0) this.all = [...this.all, ...fresh].sort((one, other) => one.seq - other.seq);
  }
}
