// How times, amounts and sizes are written.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A time seen from now: "just now", "5 min ago", "in 2 h", or a date. */
export function ago(time: number, now = Date.now()): string {
  const apart = now - time;
  const size = Math.abs(apart);
  if (size < 45 * SECOND) return apart >= 0 ? 'just now' : 'in a moment';
  if (size > 6.5 * DAY) return date(time, now);
  const words =
    size < 59.5 * MINUTE ? `${Math.round(size / MINUTE)} min` : size < 23.5 * HOUR ? `${Math.round(size / HOUR)} h` : `${Math.round(size / DAY)} d`;
  return apart >= 0 ? `${words} ago` : `in ${words}`;
}

/** A date, with the year only if it is another one. */
export function date(time: number, now = Date.now()): string {
  const sameYear = new Date(time).getFullYear() === new Date(now).getFullYear();
  return new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', ...(sameYear ? {} : { year: 'numeric' }) }).format(time);
}

/** A time of day, for hints and rows: "14:03:22". */
export function clock(time: number): string {
  return new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(time);
}

/** Date and time in full. */
export function moment(time: number): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' }).format(time);
}

export function duration(ms: number): string {
  if (ms < 0) return '0 ms';
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 9.95 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < 59.5 * SECOND) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR - SECOND / 2) return pair(Math.round(ms / SECOND), 60, 'min', 's');
  if (ms < DAY - MINUTE / 2) return pair(Math.round(ms / MINUTE), 60, 'h', 'min');
  return pair(Math.round(ms / HOUR), 24, 'd', 'h');
}

function pair(amount: number, base: number, large: string, small: string): string {
  const rest = amount % base;
  return rest === 0 ? `${Math.floor(amount / base)} ${large}` : `${Math.floor(amount / base)} ${large} ${rest} ${small}`;
}

/** Dollars; an unknown cost is shown as unknown, never as zero. */
export function cost(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return 'cost unknown';
  if (usd === 0) return '$0';
  if (usd < 0.0001) return '<$0.0001';
  if (usd < 0.01) return `$${usd.toFixed(4)}`;
  if (usd < 1) return `$${usd.toFixed(3)}`;
  return `$${usd.toFixed(2)}`;
}

export function tokens(count: number): string {
  if (count < 1000) return String(count);
  if (count < 9995) return `${(count / 1000).toFixed(1)}k`;
  if (count < 999_500) return `${Math.round(count / 1000)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let amount = count;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${count} B` : `${amount.toFixed(amount < 10 ? 1 : 0)} ${units[unit]}`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The short end of an id, for places where the whole does not fit. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 4)}…${id.slice(-6)}`;
}

/** A model's name without the way to it. */
export function modelName(model: string): string {
  return model.startsWith('scripted:') ? `scripted:${model.split('/').at(-1)}` : model;
}

/** What a program says in passing, as a sentence of its own. Names and code at its beginning stay as they are. */
export function sentence(text: string): string {
  const said = text.trim();
  const begun = /^[a-z]+([ ,:;]|$)/.test(said) ? said[0]!.toUpperCase() + said.slice(1) : said;
  return /[.!?…:]$/.test(begun) || begun === '' ? begun : `${begun}.`;
}

/** A word of the API as people say it: `paused_for_approval` becomes "paused for approval". */
export function words(code: string): string {
  return code.replaceAll('_', ' ');
}
