// Sending a message once, even if it is sent twice, and hearing what became of it.
import { api } from '../api';
import type { MessageState } from '../api/types';

/** A key that makes a repeated request the same request. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const REFUSED = new Set(['denied', 'failed', 'unrun']);

/** Waits until the message has a session or is settled. Says why if it was not taken. */
export async function follow(eventId: string): Promise<MessageState> {
  let state = await api.message(eventId, 5000);
  for (let tries = 0; tries < 5 && !state.sessionId && !REFUSED.has(state.status); tries += 1) state = await api.message(eventId, 5000);
  return state;
}

/** What to say about a message that has no turn, or nothing. */
export function refusal(state: MessageState): string | null {
  if (!REFUSED.has(state.status)) return null;
  return state.why ? `${state.status}: ${state.why}` : `The message was not taken (${state.status}).`;
}
