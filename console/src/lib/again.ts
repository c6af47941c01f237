// Files change in an editor, and nobody tells the page: whoever comes back to it sees them as they are.

/** Runs whenever the reader comes back to this page, until the returned function is called. */
export function onReturn(run: () => void): () => void {
  const back = () => run();
  window.addEventListener('focus', back);
  return () => window.removeEventListener('focus', back);
}
