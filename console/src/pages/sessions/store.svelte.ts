// One open session: its details, its entries from the newest backwards, and what comes in live.
// A fork goes on from turns of another session; those are fetched one by one, after its own.
import { api } from '../../api';
import { asApiError, isAbort, type ApiError } from '../../api/client';
import type { Delta, Entry, SessionDetail, TurnRow } from '../../api/types';
import { Entries } from '../../lib/entries.svelte';
import { SessionFold } from '../../lib/fold/session.svelte';
import { Loader } from '../../lib/load.svelte';

const PAGE = 400;
const PAGE_MAX = 1000;
const INHERITED_AT_ONCE = 8;
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
  #own: Entries;
  #failure = $state.raw<ApiError | null>(null);
  #pieces: Delta[] = [];
  #frame = 0;

  constructor(id: string) {
    this.id = id;
    this.detail = new Loader((signal) => api.session(id, signal));
    this.#own = new Entries({ session: id }, PAGE, (entries) => this.fold.add(entries));
  }

  error = $derived.by(() => this.#own.error ?? this.#failure);

  /** The turns to show. One whose beginning is not loaded yet is left out, unless it is the only one. */
  turns = $derived.by(() => {
    const all = this.fold.turns;
    const first = all[0];
    const whole = !this.#own.more || !first || first.prompt !== '' || first.compaction !== null;
    return whole || all.length === 1 ? all : all.slice(1);
  });

  /** Turns of the branch from before this session began that are not loaded yet, oldest first. */
  #ahead = $derived.by((): TurnRow[] => {
    const began = this.#own.first;
    if (this.#own.more || began === null) return [];
    return (this.detail.data?.branch ?? []).filter(({ turnId, startedSeq }) => startedSeq < began && !this.inherited.has(turnId));
  });

  /** Whether there are older turns than those that are shown. */
  more = $derived.by(() => this.#own.more || this.#ahead.length > 0);

  start(): () => void {
    const details = this.detail.load();
    const end = this.#own.begin({
      entry: (entry) => {
        // The pieces of a reply are taken before the whole, or they would stay for good.
        this.#takePieces();
        if (TELLING.has(entry.event.type)) this.detail.soon(250);
      },
      delta: (delta) => this.#delta(delta),
    });
    void this.#complete(details, this.#own.begun);
    return () => {
      end();
      this.detail.stop();
      cancelAnimationFrame(this.#frame);
    };
  }

  load = (): Promise<void> => this.#complete(this.detail.load(), this.#own.load());

  older = async (): Promise<void> => {
    if (this.loadingOlder || !this.more) return;
    this.loadingOlder = true;
    if (this.#own.more) await this.#own.earlier();
    else await this.#inherit();
    this.loadingOlder = false;
  };

  async #complete(...parts: Promise<void>[]): Promise<void> {
    this.loading = true;
    await Promise.all(parts);
    await this.#inherit();
    this.loading = false;
  }

  /** Pieces come faster than pictures; those of one picture are taken together. */
  #delta(delta: Delta): void {
    this.#pieces.push(delta);
    if (this.#pieces.length === 1) this.#frame = requestAnimationFrame(() => this.#takePieces());
  }

  #takePieces(): void {
    cancelAnimationFrame(this.#frame);
    for (const piece of this.#pieces.splice(0)) this.fold.delta(piece);
  }

  /** The newest of the turns that were said elsewhere. */
  async #inherit(): Promise<void> {
    this.#failure = null;
    try {
      const rows = this.#ahead.slice(-INHERITED_AT_ONCE);
      const turns = await Promise.all(rows.map(({ turnId }) => this.#turn(turnId)));
      this.inherited = new Map([...this.inherited, ...rows.map(({ turnId }, index): [string, string] => [turnId, turns[index]![0]?.sessionId ?? ''])]);
      this.fold.add(turns.flat());
    } catch (thrown) {
      if (!isAbort(thrown)) this.#failure = asApiError(thrown);
    }
  }

  async #turn(turn: string): Promise<Entry[]> {
    const all: Entry[] = [];
    for (let after = 0; ; after = all.at(-1)!.seq) {
      const { entries, more } = await api.entries({ turn, after, limit: PAGE_MAX }, this.#own.signal);
      all.push(...entries);
      if (!more || entries.length === 0) return all;
    }
  }
}
