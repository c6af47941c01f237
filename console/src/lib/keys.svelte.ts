// Keys of the console. A binding is one key ("/") or two after each other ("g s"); the ? overlay lists them all.
import { untrack } from 'svelte';

export interface Binding {
  keys: string;
  what: string;
  group: string;
  run: () => void;
}

const SEQUENCE_MS = 1200;

class Keys {
  all = $state.raw<Binding[]>([]);
  #first = '';
  #timer = 0;

  start(): void {
    document.addEventListener('keydown', (event) => this.#press(event));
  }

  /** Adds bindings until the returned function is called; later ones win over earlier ones. */
  bind(bindings: Binding[]): () => void {
    this.all = [...untrack(() => this.all), ...bindings];
    return () => (this.all = this.all.filter((binding) => !bindings.includes(binding)));
  }

  #press(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing || event.metaKey || event.ctrlKey || event.altKey) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
    const pressed = this.#first ? `${this.#first} ${event.key}` : event.key;
    this.#forget();
    const found = this.all.findLast((binding) => binding.keys === pressed);
    if (found) {
      event.preventDefault();
      found.run();
    } else if (this.all.some((binding) => binding.keys.startsWith(`${event.key} `))) {
      this.#first = event.key;
      this.#timer = window.setTimeout(() => this.#forget(), SEQUENCE_MS);
    }
  }

  #forget(): void {
    window.clearTimeout(this.#timer);
    this.#first = '';
  }
}

export const keys = new Keys();

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Moves the focus by one row in the list where it is, or else in the first list of the page. Rows have `data-row`. */
export function moveRow(by: 1 | -1): void {
  const here = document.activeElement as HTMLElement | null;
  const list = here?.closest('[data-list]') ?? document.querySelector('main [data-list]');
  const rows = [...(list?.querySelectorAll<HTMLElement>('[data-row]') ?? [])].filter((row) => row.offsetParent !== null);
  if (rows.length === 0) return;
  const at = rows.findIndex((row) => row === here || row.contains(here));
  const start = at >= 0 ? at + by : Math.max(0, rows.findIndex((row) => row.getAttribute('aria-current') === 'true'));
  const next = rows[Math.min(rows.length - 1, Math.max(0, start))];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

export function focusFilter(): void {
  const field = [...document.querySelectorAll<HTMLInputElement>('[data-filter]')].find((input) => input.offsetParent !== null);
  field?.focus();
  field?.select();
}
