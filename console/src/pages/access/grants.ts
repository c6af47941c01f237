// What a policy gives, as lines of a name and words.

const NAMES: Record<string, string> = { denyTheRest: 'nothing else', queueMode: 'while busy', delayResponse: 'response delay', onlyModifies: 'changes settings only' };

/** One line for each thing that is given or said; what is not is left out. */
export function grantLines(grants: unknown): [string, string][] {
  return pairs(grants).map(([name, value]) => [NAMES[name] ?? name, said(value)]);
}

/** What is said of a thing: neither nothing, nor no, nor an empty list of something denied. */
function pairs(value: unknown): [string, unknown][] {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).filter(([name, inner]) => inner !== null && inner !== undefined && inner !== false && !(name === 'deny' && Array.isArray(inner) && inner.length === 0));
}

function said(value: unknown): string {
  if (value === true) return 'yes';
  if (typeof value === 'string') return value === '*' ? 'all' : value;
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(said).join(', ');
  if (value !== null && typeof value === 'object') return pairs(value).map(([name, inner]) => `${NAMES[name] ?? name}: ${said(inner)}`).join('; ');
  return String(value);
}
