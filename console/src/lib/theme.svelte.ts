// Light, dark, or as the machine has it; the choice is kept in this browser.
import { keep, recall } from './kept';

export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'agentry.theme';

class ThemeChoice {
  now = $state<Theme>('auto');

  start(): void {
    const kept = recall(KEY);
    this.now = kept === 'light' || kept === 'dark' ? kept : 'auto';
  }

  set(theme: Theme): void {
    this.now = theme;
    keep(KEY, theme === 'auto' ? null : theme);
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }

  toggle(): void {
    const dark = this.now === 'dark' || (this.now === 'auto' && window.matchMedia('(prefers-color-scheme: dark)').matches);
    this.set(dark ? 'light' : 'dark');
  }
}

export const theme = new ThemeChoice();
