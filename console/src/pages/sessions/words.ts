// Words of the composer: what a delivery and a mode mean.
import type { Delivery, Mode, Session } from '../../api/types';

export const DELIVERIES: { id: Delivery; name: string; means: string }[] = [
  { id: 'steer', name: 'Steer', means: 'Added to the running turn at its next step.' },
  { id: 'followup', name: 'Follow up', means: 'Starts a new turn after this one.' },
  { id: 'interrupt', name: 'Interrupt', means: 'Stops this turn and drops your other waiting messages.' },
];

/** How a waiting message will be delivered; null is as the rules say. */
export function deliveryName(delivery: string | null): string {
  return delivery === 'collect' ? 'Collect' : (DELIVERIES.find(({ id }) => id === delivery)?.name ?? delivery ?? 'Its turn');
}

export const MODES: { id: Mode; name: string; means: string }[] = [
  { id: 'structured', name: 'Structured', means: 'Calls that no rule allows need your approval.' },
  { id: 'wiggum', name: 'Auto', means: 'The agent works alone: calls that need approval are allowed. Denied and dangerous calls are still refused.' },
];

/** A mode as the API names it. */
export function modeOf(word: string): Mode {
  return word === 'wiggum' ? 'wiggum' : 'structured';
}

export function modeMeans(mode: Mode): string {
  return MODES.find(({ id }) => id === mode)?.means ?? '';
}

/** The key of a session if a person chose it; generated keys are not shown. */
export function chosenKey(key: string): string | null {
  return /^(http-|fork-|run_)/.test(key) ? null : key;
}

/** The run that is under way in a session; the last one may be over. */
export function activeRun(session: Session): Session['run'] {
  return session.run && ['planned', 'running', 'paused_for_approval'].includes(session.run.status) ? session.run : null;
}
