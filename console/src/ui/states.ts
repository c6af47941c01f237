// How a state is shown: a word, an icon and a tone. One table for sessions, runs, calls, approvals and endings.
import type { IconName } from './icons';

export type Tone = 'ok' | 'warn' | 'bad' | 'accent' | 'muted';

export interface Look {
  word: string;
  icon: IconName;
  tone: Tone;
}

const LOOKS: Record<string, Look> = {
  idle: { word: 'idle', icon: 'dot', tone: 'muted' },
  running: { word: 'running', icon: 'spinner', tone: 'accent' },
  starting: { word: 'starting', icon: 'spinner', tone: 'accent' },
  waiting: { word: 'waiting for you', icon: 'pause', tone: 'warn' },
  paused: { word: 'paused', icon: 'pause', tone: 'warn' },
  paused_for_approval: { word: 'waiting for approval', icon: 'pause', tone: 'warn' },
  queued: { word: 'queued', icon: 'clock', tone: 'muted' },
  planned: { word: 'planned', icon: 'clock', tone: 'muted' },
  proposed: { word: 'proposed', icon: 'clock', tone: 'muted' },
  completed: { word: 'done', icon: 'check', tone: 'ok' },
  done: { word: 'done', icon: 'check', tone: 'ok' },
  succeeded: { word: 'done', icon: 'check', tone: 'ok' },
  answered: { word: 'answered', icon: 'check', tone: 'ok' },
  ok: { word: 'ok', icon: 'check', tone: 'ok' },
  allow: { word: 'allow', icon: 'check', tone: 'ok' },
  allowed: { word: 'allowed', icon: 'check', tone: 'ok' },
  ask: { word: 'ask', icon: 'pause', tone: 'warn' },
  deny: { word: 'deny', icon: 'cross', tone: 'bad' },
  denied: { word: 'denied', icon: 'cross', tone: 'bad' },
  refused: { word: 'refused', icon: 'cross', tone: 'bad' },
  failed: { word: 'failed', icon: 'cross', tone: 'bad' },
  model_failed: { word: 'no answer', icon: 'cross', tone: 'bad' },
  limit_reached: { word: 'limit reached', icon: 'warn', tone: 'warn' },
  degraded: { word: 'degraded', icon: 'warn', tone: 'warn' },
  uncertain: { word: 'uncertain', icon: 'warn', tone: 'warn' },
  stopped: { word: 'stopped', icon: 'stop', tone: 'muted' },
  canceled: { word: 'cancelled', icon: 'stop', tone: 'muted' },
  cancelled: { word: 'cancelled', icon: 'stop', tone: 'muted' },
  skipped: { word: 'skipped', icon: 'stop', tone: 'muted' },
  expired: { word: 'expired', icon: 'clock', tone: 'muted' },
  withdrawn: { word: 'withdrawn', icon: 'stop', tone: 'muted' },
  low: { word: 'low risk', icon: 'info', tone: 'muted' },
  medium: { word: 'medium risk', icon: 'warn', tone: 'warn' },
  high: { word: 'high risk', icon: 'warn', tone: 'bad' },
  error: { word: 'error', icon: 'cross', tone: 'bad' },
  warning: { word: 'warning', icon: 'warn', tone: 'warn' },
  note: { word: 'note', icon: 'info', tone: 'muted' },
};

export function look(state: string): Look {
  return LOOKS[state] ?? { word: state.replaceAll('_', ' '), icon: 'dot', tone: 'muted' };
}
