// Which entries belong to which turn. Entries about a run stand with its turn: before it begins with the one that follows, later with the last.
import type { Entry } from '../../api/types';

export interface Group {
  key: string;
  turnId: string | null;
  entries: Entry[];
}

export function group(entries: Iterable<Entry>): Group[] {
  const groups: Group[] = [];
  const byTurn = new Map<string, Group>();
  const byRun = new Map<string, Group>();
  const open = (key: string, turnId: string | null): Group => {
    const made = { key, turnId, entries: [] };
    groups.push(made);
    return made;
  };
  for (const entry of entries) {
    const { turnId, runId } = entry;
    if (turnId) {
      let found = byTurn.get(turnId);
      if (!found) {
        const waiting = runId ? byRun.get(runId) : undefined;
        if (waiting && waiting.turnId === null) {
          waiting.turnId = turnId;
          found = waiting;
        } else found = open(turnId, turnId);
        byTurn.set(turnId, found);
      }
      if (runId) byRun.set(runId, found);
      found.entries.push(entry);
    } else if (runId) {
      let found = byRun.get(runId);
      if (!found) {
        found = open(runId, null);
        byRun.set(runId, found);
      }
      found.entries.push(entry);
    }
  }
  return groups;
}
