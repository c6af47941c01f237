// The stages of a trace and the states of an event, in words.
import type { IconName } from '../../ui/icons';

const STAGES: Record<string, { word: string; icon: IconName }> = {
  adapter: { word: 'Received', icon: 'send' },
  acl: { word: 'Access', icon: 'access' },
  hooks: { word: 'Event hooks', icon: 'tool' },
  broker: { word: 'Route and mailbox', icon: 'fork' },
  agent: { word: 'Agent', icon: 'agents' },
  delivery: { word: 'Answer sent', icon: 'send' },
  ledger: { word: 'Recorded', icon: 'file' },
};

export function stage(name: string): { word: string; icon: IconName } {
  return STAGES[name] ?? { word: name.replaceAll('_', ' '), icon: 'dot' };
}

const STATES: Record<string, { state: string; word: string }> = {
  received: { state: 'queued', word: 'received' },
  waiting: { state: 'queued', word: 'waits' },
  steering: { state: 'running', word: 'added to a turn' },
  running: { state: 'running', word: 'running' },
  paused: { state: 'paused', word: 'waiting for you' },
  answered: { state: 'answered', word: 'answered' },
  failed: { state: 'failed', word: 'failed' },
  denied: { state: 'denied', word: 'denied' },
  unrun: { state: 'stopped', word: 'ignored' },
  sent: { state: 'note', word: 'sent' },
};

export function inboundLook(status: string): { state: string; word: string } {
  return STATES[status] ?? { state: 'idle', word: status.replaceAll('_', ' ') };
}

/** What is a link anyway. */
const LINKED = new Set(['access_id', 'session_id', 'run_id']);

/** What of a stage's data is worth a line: plain values, by name. Lists and objects are left to the full view. */
export function plainData(data: unknown): [string, string][] {
  if (data === null || typeof data !== 'object' || Array.isArray(data)) return [];
  return Object.entries(data).flatMap(([name, value]): [string, string][] => {
    if (value === null || value === undefined || typeof value === 'object' || value === '' || LINKED.has(name)) return [];
    return [[name.replaceAll('_', ' '), String(value)]];
  });
}
