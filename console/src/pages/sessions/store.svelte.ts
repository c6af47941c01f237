// One open session: its details, its entries from the newest backwards, and what comes in live.
// A fork goes on from turns of another session; those are fetched one by one, after its own.
import { api } from '../../api';
import { asApiError, isAbort, type ApiError } from '../../api/client';
import type { Delta, Entry, SessionDetail, TurnRow } from '../../api/types';
import { SessionFold } from '../../lib/fold/session.svelte';
import { live } from '../../lib/live.svelte';
import { Loader } from '../../lib/load.svelte';

const PAGE = 400;
const PAGE_MAX = 1000;
const INHERITED_AT_ONCE = 8;
const NEWEST = Number.MAX_SAFE_INTEGER;
// What changes the details beside the turns: states, queue, sums.
const TELLING = new Set(['run_created', 'run_ended', 'run_paused', 'run_resumed', 'turn_ended', 'approval_asked', 'approval_answered', 'intake', 'mode_received', 'model_replied']);

export class SessionStore {
  readonly id: string;
  readonly fold = new SessionFold();
  readonly detail: Loader<SessionDetail>;
  /** Where the inherited turns that are loaded were said, by turn. */
  inherited = $state.raw<ReadonlyMap<string, string>>(new Map());
  loading = $state(true);
  loadingOlder = $state(false);
  error = $state.raw<ApiError | null>(null);
  #ownMore = $state(false);
  #ownFirst = $state<number | null>(null);
  #under = new AbortController();
  #pieces: Delta[] = [];
  #frame = 0;

  constructor(id: string) {
    this.id = id;
    this.detail = new Loader((signal) => api.session(id, signal));
  }

  /** The turns to show. One whose beginning is not loaded yet is left out, unless it is the only one. */
  turns = $derived.by(() => {
    const all = this.fold.turns;
    const first = all[0];
    const whole = !this.#ownMore || !first || first.prompt !== '' || first.compaction !== null;
    return whole || all.length === 1 ? all : all.slice(1);
  });

  /** Turns of the branch from before this session began that are not loaded yet, oldest first. */
  #ahead = $derived.by((): TurnRow[] => {
    const began = this.#ownFirst;
    if (this.#ownMore || began === null) return [];
    return (this.detail.data?.branch ?? []).filter(({ turnId, startedSeq }) => startedSeq < began && !this.inherited.has(turnId));
  });

  /** Whether there are older turns than those that are shown. */
  more = $derived(this.#ownMore || this.#ahead.length > 0);

  start(): () => void {
    void this.load();
    const off = live.on({
      wanted: { session: this.id },
      entry: (entry) => {
        this.fold.add([entry]);
        if (TELLING.has(entry.event.type)) this.detail.soon(250);
      },
      delta: (delta) => this.#delta(delta),
      opened: (_seq, fresh) => fresh && void this.#catchUp(),
    });
    return () => {
      off();
      this.detail.stop();
      this.#under.abort();
      cancelAnimationFrame(this.#frame);
    };
  }

  load = async (): Promise<void> => {
    this.loading = true;
    await Promise.all([this.detail.load(), this.#fetch({ before: NEWEST })]);
    await this.#inherit();
    this.loading = false;
  };

  older = async (): Promise<void> => {
    if (this.loadingOlder || !this.more || this.#ownFirst === null) return;
    this.loadingOlder = true;
    if (this.#ownMore) await this.#fetch({ before: this.#ownFirst });
    else await this.#inherit();
    this.loadingOlder = false;
  };

  /** Pieces come faster than pictures; those of one picture are taken together. */
  #delta(delta: Delta): void {
    this.#pieces.push(delta);
    if (this.#pieces.length > 1) return;
    this.#frame = requestAnimationFrame(() => {
      const pieces = this.#pieces;
      this.#pieces = [];
      for (const piece of pieces) this.fold.delta(piece);
    });
  }

  /** After the stream began anew: what was written between the first load and its beginning. */
  async #catchUp(): Promise<void> {
    if (this.fold.last === null) return;
    await this.#fetch({ after: this.fold.last });
    this.detail.soon();
  }

  async #fetch(where: { before?: number; after?: number }): Promise<void> {
    try {
      const page = await api.entries({ session: this.id, limit: PAGE, ...where }, this.#under.signal);
      if (where.after === undefined) {
        this.#ownMore = page.more;
        this.#ownFirst = page.first ?? this.#ownFirst;
      }
      this.error = null;
      this.fold.add(page.entries);
    } catch (thrown) {
      this.#failed(thrown);
    }
  }

  /** The newest of the turns that were said elsewhere. */
  async #inherit(): Promise<void> {
    try {
      const rows = this.#ahead.slice(-INHERITED_AT_ONCE);
      const turns = await Promise.all(rows.map(({ turnId }) => this.#turn(turnId)));
      this.inherited = new Map([...this.inherited, ...rows.map(({ turnId }, index): [string, string] => [turnId, turns[index]![0]?.sessionId ?? ''])]);
      this.fold.add(turns.flat());
    } catch (thrown) {
      this.#failed(thrown);
    }
  }

  async #turn(turn: string): Promise<Entry[]> {
    const all: Entry[] = [];
    for (let after = 0; ; after = all.at(-1)!.seq) {
      const { entries, more } = await api.entries({ turn, after, limit: PAGE_MAX }, this.#under.signal);
      all.push(...entries);
      if (!more || entries.length === 0) return all;
    }
  }

  #failed(thrown: unknown): void {
    if (!isAbort(thrown)) this.error = asApiError(thrown);
  }
}
