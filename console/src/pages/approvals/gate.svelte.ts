// Keeps the buttons of an approval shut until everything was seen and nothing moved for half a second.
import { addSpan, covers, visibleSpan, type Span } from '../../lib/coverage';

const STILL_MS = 500;

export class Gate {
  seen = $state(false);
  still = $state(false);
  #spans: Span[] = [];
  #height = 0;
  #top = Number.NaN;
  #timer = 0;

  get open(): boolean {
    return this.seen && this.still;
  }

  /** Watches what must be read and where the buttons are, until the returned function is called. */
  watch(text: HTMLElement, buttons: HTMLElement): () => void {
    const measure = () => this.#measure(text, buttons);
    const sizes = new ResizeObserver(measure);
    sizes.observe(text);
    sizes.observe(document.body);
    // Something above may grow and push the buttons under a pointer: look again and again.
    const timer = window.setInterval(measure, 150);
    document.addEventListener('scroll', measure, { capture: true, passive: true });
    return () => {
      sizes.disconnect();
      window.clearInterval(timer);
      window.clearTimeout(this.#timer);
      document.removeEventListener('scroll', measure, { capture: true });
    };
  }

  #measure(text: HTMLElement, buttons: HTMLElement): void {
    const height = text.offsetHeight;
    if (Math.abs(height - this.#height) > 2) {
      // The text got another form: what was seen of it before does not count.
      this.#height = height;
      this.#spans = [];
      this.seen = false;
    }
    const span = visibleSpan(text);
    if (span) this.#spans = addSpan(this.#spans, span);
    this.seen ||= height > 0 && covers(this.#spans, height);
    const top = buttons.getBoundingClientRect().top;
    if (Math.abs(top - this.#top) > 2 || Number.isNaN(this.#top)) {
      this.#top = top;
      this.still = false;
      window.clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => (this.still = true), STILL_MS);
    }
  }
}
