// Short words at the edge of the page about something that was done. Errors stay where they happened instead.
export interface Toast {
  id: number;
  text: string;
}

class Toasts {
  all = $state<Toast[]>([]);
  #next = 1;

  say(text: string): void {
    const id = this.#next++;
    this.all.push({ id, text });
    window.setTimeout(() => this.drop(id), 5000);
  }

  drop(id: number): void {
    this.all = this.all.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();
