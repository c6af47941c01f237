// Routing with the browser's history: paths without hashes, links stay plain anchors.
import { match, type Match } from './match';

export interface Location extends Match {
  path: string;
  query: URLSearchParams;
}

let patterns: Record<string, string> = {};

function read(): Location {
  const path = window.location.pathname;
  return { path, query: new URLSearchParams(window.location.search), ...match(patterns, path) };
}

class Router {
  now = $state.raw<Location>({ path: '/', query: new URLSearchParams(), name: null, params: {} });

  /** Begins to follow the address; `table` maps a page's name to its pattern such as `/runs/:id?`. */
  start(table: Record<string, string>): void {
    patterns = table;
    this.now = read();
    window.addEventListener('popstate', () => (this.now = read()));
    document.addEventListener('click', (event) => this.#click(event));
  }

  go(to: string, options: { replace?: boolean } = {}): void {
    const here = window.location.pathname + window.location.search;
    if (to !== here) window.history[options.replace ? 'replaceState' : 'pushState'](null, '', to);
    this.now = read();
  }

  /** Changes one value of the query, without a step in the history. */
  setQuery(name: string, value: string | null): void {
    const query = new URLSearchParams(window.location.search);
    if (value) query.set(name, value);
    else query.delete(name);
    const text = query.toString();
    this.go(window.location.pathname + (text ? `?${text}` : ''), { replace: true });
  }

  #click(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== window.location.origin) return;
    if (link.pathname.startsWith('/api/')) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}

export const router = new Router();
