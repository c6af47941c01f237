// The numbers beside the names of pages: how many approvals and requests wait.
import { api } from '../api';
import { live } from './live.svelte';
import { Loader } from './load.svelte';

const TELLING = ['approval_asked', 'approval_answered', 'run_ended', 'call_started', 'call_refused', 'access'];

class Counts {
  // What goes wrong here is said by the page that shows them; a number beside a name does not.
  #waiting = new Loader(async (signal) => {
    const [calls, requests] = await Promise.all([api.approvals({ status: 'waiting' }, signal), api.requests({ status: 'waiting' }, signal)]);
    return { approvals: calls.approvals.filter((approval) => approval.kind === 'call').length, requests: requests.requests.length };
  });
  approvals = $derived(this.#waiting.data?.approvals ?? 0);
  requests = $derived(this.#waiting.data?.requests ?? 0);

  /** Follows the stream until the returned function is called. */
  follow(): () => void {
    void this.#waiting.load();
    const off = live.refresh(this.#waiting, { types: TELLING }, 300);
    return () => {
      off();
      this.#waiting.reset();
    };
  }

  soon(): void {
    this.#waiting.soon(300);
  }
}

export const counts = new Counts();
