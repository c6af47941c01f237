// Whether all is well, in one word, and what is not. Only what nobody complains about is well.
import type { Health } from '../../api/types';
import { plural } from '../../lib/format';

type Said = Pick<Health, 'problems' | 'warnings' | 'sandbox'>;

/** What works and holds less than it could: the server's own words, and each check of the sandbox that is not ok and that it has no words for. */
export function notes({ problems, warnings, sandbox }: Said): string[] {
  const said = [...problems, ...warnings];
  const unsaid = sandbox.checks.filter(({ ok, name }) => !ok && !said.some((words) => words.includes(name)));
  return [...warnings, ...unsaid.map(({ name, detail }) => `the sandbox does not fully hold: ${name}${detail ? ` (${detail})` : ''}`)];
}

/** The state of the whole, for `State`. */
export function overall(health: Said): { state: string; word: string } {
  if (health.problems.length > 0) return { state: 'error', word: plural(health.problems.length, 'thing is', 'things are') + ' wrong' };
  const found = notes(health).length;
  if (found > 0) return { state: 'warning', word: found === 1 ? 'works; see the note below' : `works; see the ${found} notes below` };
  return { state: 'ok', word: 'all is well' };
}
