// Light, dark, or as the machine has it; the choice is kept in this browser.
export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'agentry.theme';

class ThemeChoice {
  now = $state<Theme>('auto');

  start(): void {
    const kept = localStorage.getItem(KEY);
    this.now = kept === 'light' || kept === 'dark' ? kept : 'auto';
  }

  set(theme: Theme): void {
    this.now = theme;
    if (theme === 'auto') {
      localStorage.removeItem(KEY);
      delete document.documentElement.dataset.theme;
    } else {
      localStorage.setItem(KEY, theme);
      document.documentElement.dataset.theme = theme;
    }
  }

  toggle(): void {
    const dark = this.now === 'dark' || (this.now === 'auto' && window.matchMedia('(prefers-color-scheme: dark)').matches);
    this.set(dark ? 'light' : 'dark');
  }
}

export const theme = new ThemeChoice();
