// The identity of a person on a channel, as commands write it.
import type { Person } from '../../api/types';

export function identity({ channel, account, identifier }: Person['identities'][number]): string {
  return account ? `${channel}:${identifier} (${account})` : `${channel}:${identifier}`;
}
