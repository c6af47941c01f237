// Who somebody is on a channel, as it is written in commands.
import type { Person } from '../../api/types';

export function identity({ channel, account, identifier }: Person['identities'][number]): string {
  return account ? `${channel}:${identifier} (${account})` : `${channel}:${identifier}`;
}
