// The entries of one run, in order.
import type { Entry } from '../../api/types';
import { Entries } from '../../lib/entries.svelte';

const PAGE = 300;

export class RunEntries extends Entries {
  all = $state.raw<Entry[]>([]);

  constructor(run: string) {
    super({ run }, PAGE, (entries) => this.#add(entries));
  }

  #add(entries: Entry[]): void {
    const known = new Set(this.all.map((entry) => entry.seq));
    const fresh = entries.filter((entry) => !known.has(entry.seq));
    if (fresh.length > 0) this.all = [...this.all, ...fresh].sort((one, other) => one.seq - other.seq);
  }
}
