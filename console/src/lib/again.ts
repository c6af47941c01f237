// Files change in an editor without a message to the page, so it reloads them when it becomes visible again.

/** Runs whenever the reader comes back to this page, until the returned function is called. */
export function onReturn(run: () => void): () => void {
  const back = () => run();
  window.addEventListener('focus', back);
  return () => window.removeEventListener('focus', back);
}
