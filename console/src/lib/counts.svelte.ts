// The numbers beside the names of pages: how many approvals and requests wait.
import { api } from '../api';
import { live } from './live.svelte';

const TELLING = ['approval_asked', 'approval_answered', 'run_ended', 'call_started', 'call_refused', 'access'];

class Counts {
  approvals = $state(0);
  requests = $state(0);
  #timer = 0;

  /** Follows the stream until the returned function is called. */
  follow(): () => void {
    void this.#count();
    const off = live.on({
      wanted: { types: TELLING },
      entry: () => this.soon(),
      opened: (_seq, fresh) => fresh && this.soon(),
    });
    return () => {
      off();
      window.clearTimeout(this.#timer);
    };
  }

  soon(): void {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#count(), 300);
  }

  async #count(): Promise<void> {
    try {
      const [approvals, requests] = await Promise.all([api.approvals({ status: 'waiting' }), api.requests({ status: 'waiting' })]);
      this.approvals = approvals.approvals.filter((approval) => approval.kind === 'call').length;
      this.requests = requests.requests.length;
    } catch {
      // The page that shows them says what is wrong; a number beside a name does not.
    }
  }
}

export const counts = new Counts();
