// What was written and not sent, by session, as long as the tab lives.
const kept = new Map<string, string>();

export const drafts = {
  get: (session: string): string => kept.get(session) ?? '',
  set: (session: string, text: string): void => {
    if (text) kept.set(session, text);
    else kept.delete(session);
  },
  /** For the next user who signs in. */
  clear: (): void => kept.clear(),
};
