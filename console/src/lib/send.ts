// Sending a message once, even if it is sent twice, and hearing what became of it.
import { api } from '../api';
import { ApiError } from '../api/client';
import type { MessageState } from '../api/types';

/** What is being sent. The same message keeps its key until it was taken, so that it is sent once however often one tries; another one gets another. */
export class Sending {
  #message = '';
  #key = '';

  keyOf(message: unknown): string {
    const text = JSON.stringify(message);
    if (text !== this.#message) {
      this.#message = text;
      this.#key = newKey();
    }
    return this.#key;
  }

  /** It was taken or refused: the same words again are another message. */
  over(): void {
    this.#message = '';
  }
}

function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** What is left in the field after a message went out: what was written meanwhile. */
export function leftAfter(field: string, sent: string): string {
  const now = field.trimStart();
  return now.startsWith(sent) ? now.slice(sent.length).trimStart() : field;
}

const REFUSED = new Set(['denied', 'failed', 'unrun']);

/** Waits until the message has a session or is settled. Says why if it was not taken. */
export async function follow(eventId: string): Promise<MessageState> {
  let state = await api.message(eventId, 5000);
  for (let tries = 0; tries < 5 && !state.sessionId && !REFUSED.has(state.status); tries += 1) state = await api.message(eventId, 5000);
  return state;
}

/** Returns the session of a message when it exists. A retry does not send the message twice. */
export async function placed(eventId: string, sending: Sending): Promise<string> {
  const state = await follow(eventId);
  const why = refusal(state);
  if (why) {
    sending.over();
    throw new ApiError(0, state.status, why);
  }
  if (!state.sessionId) throw new ApiError(0, state.status, 'the session is not ready yet', 'try again in a moment; the message is not sent twice');
  return state.sessionId;
}

/** What to say about a message that has no turn, or nothing. */
export function refusal(state: MessageState): string | null {
  if (!REFUSED.has(state.status)) return null;
  return state.why ? `${state.status}: ${state.why}` : `The message was not accepted (${state.status}).`;
}
