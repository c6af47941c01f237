// The only client of the server: JSON in and out, one form of errors, and a signal when no user is signed in.
import type { ErrorBody } from './types';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | null = null,
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
    this.name = 'ApiError';
  }

  /** Whether the same request may well be answered in a moment: the server is away, busy, or wants fewer of them. */
  get passing(): boolean {
    return this.code === 'unreachable' || [429, 502, 503, 504].includes(this.status);
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>;

interface Options {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

let onUnauthenticated: () => void = () => {};

/** Who is told when the server does not know us (any more). */
export function whenUnauthenticated(told: () => void): void {
  onUnauthenticated = told;
}

export function withQuery(path: string, query?: Query): string {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== '');
  if (pairs.length === 0) return path;
  return `${path}?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}`;
}

/** A part of a path that comes from data. */
export function part(value: string | number): string {
  return encodeURIComponent(String(value));
}

async function request<T>(method: string, path: string, options: Options = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json', ...options.headers };
  const init: RequestInit = { method, headers, credentials: 'same-origin', cache: 'no-store', signal: options.signal ?? null };
  if (method !== 'GET') {
    headers['X-Agentry'] = '1';
    headers['Content-Type'] = 'application/json';
    init.body = JSON.stringify(options.body ?? {});
  }
  let response: Response;
  try {
    response = await fetch(withQuery(path, options.query), init);
  } catch (cause) {
    if (isAbort(cause)) throw cause;
    throw new ApiError(0, 'unreachable', 'the server does not answer', 'is `agentry serve` still running?');
  }
  if (response.ok) return (await body(response).catch(broken)) as T;
  const error = await failure(response);
  // A code that is not taken says nothing about who is signed in already.
  if (error.status === 401 && path !== '/api/login') onUnauthenticated();
  throw error;
}

async function body(response: Response): Promise<unknown> {
  const text = await response.text();
  return text === '' ? null : JSON.parse(text);
}

function broken(cause: unknown): never {
  if (isAbort(cause)) throw cause;
  if (cause instanceof SyntaxError) throw new ApiError(0, 'unreadable', 'the answer is not what the console expects', 'load this page again: the server may be another version by now');
  throw new ApiError(0, 'unreachable', 'the server stopped in the middle of its answer');
}

async function failure(response: Response): Promise<ApiError> {
  const after = Number(response.headers.get('Retry-After'));
  const wait = Number.isFinite(after) && after > 0 ? after * 1000 : null;
  const said = (await body(response).catch(() => null)) as ErrorBody | null;
  if (said?.error) return new ApiError(response.status, said.error.code, said.error.message, said.error.hint, wait);
  return new ApiError(response.status, `http_${response.status}`, `the server answered ${response.status}`, null, wait);
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

/** Any thrown thing as an error that can be shown. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, 'console', error instanceof Error ? error.message : String(error));
}

export const http = {
  get: <T>(path: string, query?: Query, signal?: AbortSignal) => request<T>('GET', path, { query, signal }),
  post: <T>(path: string, body?: unknown, headers?: Record<string, string>) => request<T>('POST', path, { body, headers }),
};
