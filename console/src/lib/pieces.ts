// The pieces of what is being said right now, whole so far, for those who begin to listen in the middle of it.
import type { Delta, Entry } from '../api/types';

export class Pieces {
  #said = new Map<string, Delta>();

  /** A piece is added to what came before it, or takes its place. */
  take(delta: Delta): void {
    if (delta.kind === 'restart') {
      for (const [key, said] of this.#said) if (said.asked === delta.asked && said.kind !== 'progress') this.#said.delete(key);
      return;
    }
    const key = `${delta.kind} ${delta.kind === 'progress' ? delta.callId : delta.asked}`;
    const before = delta.whole ? '' : (this.#said.get(key)?.content ?? '');
    this.#said.set(key, { ...delta, content: before + delta.content, whole: true });
  }

  /** A recorded reply replaces its deltas. */
  drop({ turnId, event }: Entry): void {
    for (const [key, said] of this.#said) {
      if (said.turnId !== turnId) continue;
      const over = event.type === 'turn_ended' || (said.kind === 'progress' ? event.type === 'call_finished' && event.call === said.callId : event.type === 'model_replied');
      if (over) this.#said.delete(key);
    }
  }

  clear(): void {
    this.#said.clear();
  }

  all(): Delta[] {
    return [...this.#said.values()];
  }
}
