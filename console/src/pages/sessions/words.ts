// Words of the composer: what a delivery and a mode mean.
import type { Delivery, Mode, Session } from '../../api/types';

export const DELIVERIES: { id: Delivery; name: string; means: string }[] = [
  { id: 'steer', name: 'Steer', means: 'The turn hears it at its next step.' },
  { id: 'followup', name: 'Follow up', means: 'It has a turn of its own, after this one.' },
  { id: 'interrupt', name: 'Interrupt', means: 'This turn is stopped, and what else you have waiting is dropped.' },
];

/** How a waiting message will be delivered; null is as the rules say. */
export function deliveryName(delivery: string | null): string {
  return delivery === 'collect' ? 'Collect' : (DELIVERIES.find(({ id }) => id === delivery)?.name ?? delivery ?? 'Its turn');
}

export const MODES: { id: Mode; name: string; means: string }[] = [
  { id: 'structured', name: 'Structured', means: 'You are asked before calls that no rule allows.' },
  { id: 'wiggum', name: 'Wiggum', means: 'The agent works alone: calls you would be asked about go ahead. Denied and dangerous ones are still refused.' },
];

/** A mode as the API names it. */
export function modeOf(word: string): Mode {
  return word === 'wiggum' ? 'wiggum' : 'structured';
}

export function modeMeans(mode: Mode): string {
  return MODES.find(({ id }) => id === mode)?.means ?? '';
}

/** The key of a session if somebody chose it; those that the server makes up say nothing to a reader. */
export function chosenKey(key: string): string | null {
  return /^(http-|fork-|run_)/.test(key) ? null : key;
}

/** The run that is under way in a session; the last one may be over. */
export function activeRun(session: Session): Session['run'] {
  return session.run && ['planned', 'running', 'paused_for_approval'].includes(session.run.status) ? session.run : null;
}
