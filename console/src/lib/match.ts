// Which page a path belongs to. A pattern has fixed parts, `:name` for one part and `:name?` for one that may be missing.

export interface Match {
  name: string | null;
  params: Record<string, string>;
}

export function match(patterns: Record<string, string>, path: string): Match {
  for (const [name, pattern] of Object.entries(patterns)) {
    const params = fits(pattern, path);
    if (params) return { name, params };
  }
  return { name: null, params: {} };
}

function fits(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/').filter(Boolean);
  const given = path.split('/').filter(Boolean);
  if (given.length > wanted.length) return null;
  const params: Record<string, string> = {};
  for (const [index, want] of wanted.entries()) {
    const got = given[index];
    if (want.startsWith(':')) {
      const optional = want.endsWith('?');
      if (got === undefined) {
        if (!optional) return null;
      } else {
        try {
          params[want.slice(1, optional ? -1 : undefined)] = decodeURIComponent(got);
        } catch {
          return null;
        }
      }
    } else if (want !== got) return null;
  }
  return params;
}
