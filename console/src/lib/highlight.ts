// Colours for code. The highlighter is loaded when the first code with a known language is shown.
import DOMPurify from 'dompurify';

const NAMES: Record<string, string> = {
  rs: 'rust', rust: 'rust', js: 'javascript', mjs: 'javascript', cjs: 'javascript', jsx: 'javascript', javascript: 'javascript', ts: 'typescript', tsx: 'typescript',
  typescript: 'typescript', py: 'python', python: 'python', sh: 'bash', bash: 'bash', shell: 'bash', zsh: 'bash', console: 'bash', json: 'json', jsonl: 'json',
  yml: 'yaml', yaml: 'yaml', toml: 'ini', ini: 'ini', md: 'markdown', markdown: 'markdown', html: 'xml', xml: 'xml', svg: 'xml', svelte: 'xml', css: 'css',
  go: 'go', sql: 'sql', diff: 'diff', patch: 'diff', c: 'cpp', h: 'cpp', cpp: 'cpp', cc: 'cpp', hpp: 'cpp', java: 'java',
};
const LENGTH_MAX = 60_000;

/** The language of a file by its name, or nothing. */
export function languageOf(path: string): string {
  return NAMES[path.split('.').at(-1)?.toLowerCase() ?? ''] ?? '';
}

export function knows(language: string): boolean {
  return language.toLowerCase() in NAMES;
}

/** The code as nodes with classes; null if it is left plain. */
export async function highlight(code: string, language: string): Promise<DocumentFragment | null> {
  const name = NAMES[language.toLowerCase()];
  if (!name || code.length > LENGTH_MAX) return null;
  // Code is readable without colours; a language that cannot be fetched now is requested again with the next block.
  const loaded = await import('./highlighter').catch(() => null);
  if (!loaded) return null;
  return DOMPurify.sanitize(loaded.colour(code, name), { ALLOWED_TAGS: ['span'], ALLOWED_ATTR: ['class'], ALLOW_DATA_ATTR: false, RETURN_DOM_FRAGMENT: true });
}
