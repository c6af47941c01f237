// The kinds of rows of a timeline: words and icons.
import type { IconName } from '../../ui/icons';

interface Kind {
  one: string;
  many: string;
  icon: IconName;
}

const KINDS: Record<string, Kind> = {
  model: { one: 'request', many: 'requests', icon: 'sessions' },
  tool: { one: 'call', many: 'calls', icon: 'tool' },
  approval: { one: 'approval', many: 'approvals', icon: 'person' },
  hook: { one: 'hook', many: 'hooks', icon: 'settings' },
  check: { one: 'check', many: 'checks', icon: 'approvals' },
};

export function kind(name: string): Kind {
  return KINDS[name] ?? { one: name, many: name, icon: 'dot' };
}
