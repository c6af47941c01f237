// The overall state in one word, and the problems and warnings behind it. Healthy means no problem and no warning.
import type { Health } from '../../api/types';
import { plural } from '../../lib/format';

type Said = Pick<Health, 'problems' | 'warnings' | 'sandbox'>;

/** What works and holds less than it could: the server's own words, and each check of the sandbox that is not ok and that it has no words for. */
export function notes({ problems, warnings, sandbox }: Said): string[] {
  const said = [...problems, ...warnings];
  const unsaid = sandbox.checks.filter(({ ok, name }) => !ok && !said.some((words) => words.includes(name)));
  return [...warnings, ...unsaid.map(({ name, detail }) => `the sandbox is degraded: ${name}${detail ? ` (${detail})` : ''}`)];
}

/** The state of the whole, for `State`. */
export function overall(health: Said): { state: string; word: string } {
  if (health.problems.length > 0) return { state: 'error', word: plural(health.problems.length, 'problem') };
  const found = notes(health).length;
  if (found > 0) return { state: 'warning', word: found === 1 ? 'running, 1 warning' : `running, ${found} warnings` };
  return { state: 'ok', word: 'healthy' };
}
