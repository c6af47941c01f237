// Copying a text. Over plain HTTP from another machine a browser does not let a page do so.
import { toasts } from './toasts.svelte';

/** Says whether it worked; if not, the reader is told what to do instead. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    toasts.say('The browser does not allow copying here. Select the text and copy it by hand.');
    return false;
  }
}
