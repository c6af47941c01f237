// Small things of the fake server: errors as the contract has them, waiting, and matching of paths.
export class Failure extends Error {
  constructor(status, code, message, hint = null) {
    super(message);
    Object.assign(this, { status, code, hint });
  }
}

export function fail(status, code, message, hint) {
  throw new Failure(status, code, message, hint);
}

export function wait(ms) {
  return new Promise((done) => setTimeout(done, ms));
}

export function fits(pattern, path) {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== given.length) return null;
  const params = {};
  for (const [index, part] of wanted.entries()) {
    if (part.startsWith(':')) params[part.slice(1)] = decodeURIComponent(given[index]);
    else if (part !== given[index]) return null;
  }
  return params;
}
