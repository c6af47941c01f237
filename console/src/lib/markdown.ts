// Markdown of models, made safe. Nothing in it can run, load or style anything: it is parsed to blocks,
// each block goes through DOMPurify with a short list of tags, and comes out as DOM nodes, never as live HTML.
import DOMPurify from 'dompurify';
import { marked, type Token, type TokensList } from 'marked';

const TAGS = [
  'p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code', 'em', 'strong', 'del', 'a', 'span',
  'table', 'thead', 'tbody', 'tr', 'th', 'td', 'sup', 'sub', 'kbd',
];
const ATTRIBUTES = ['href', 'start', 'align', 'data-lang', 'data-image'];
const ADDRESS = /^(?:https?:|mailto:)/i;

export interface Block {
  raw: string;
  tokens: Token[];
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (char) => escapes[char]!);
}

marked.use({
  gfm: true,
  breaks: false,
  renderer: {
    // HTML that a model writes is shown as the text it is.
    html: ({ text }) => escape(text),
    image: ({ href, text }) => `<a data-image="${escape(href)}" href="${escape(href)}">${escape(text || 'image')}</a>`,
    checkbox: ({ checked }) => (checked ? '[x] ' : '[ ] '),
    code: ({ text, lang }) => {
      const language = (lang ?? '').split(/\s/, 1)[0]!.replace(/[^\w+#.-]/g, '').slice(0, 24);
      return `<pre data-lang="${language}"><code>${escape(text)}</code></pre>`;
    },
  },
});

/** The blocks of a text, in order. While a text streams only the last one changes. */
export function blocks(text: string): Block[] {
  const tokens: TokensList = marked.lexer(text);
  return tokens.filter((token) => token.type !== 'space' && token.type !== 'def').map((token) => ({ raw: token.raw, tokens: [token] }));
}

/** One block as nodes that are safe to put into the page. */
export function render(block: Block): DocumentFragment {
  const fragment = DOMPurify.sanitize(marked.parser(block.tokens), {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: ADDRESS,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const link of fragment.querySelectorAll('a')) finishLink(link);
  for (const heading of fragment.querySelectorAll('h1,h2,h3,h4,h5,h6')) lower(heading);
  for (const pre of fragment.querySelectorAll('pre')) scrolls(pre, 'Code');
  for (const table of fragment.querySelectorAll('table')) {
    const frame = document.createElement('div');
    frame.className = 'table';
    scrolls(frame, 'Table');
    table.replaceWith(frame);
    frame.append(table);
  }
  return fragment;
}

/** What may be wider than its place can be moved with keys, too. */
function scrolls(element: HTMLElement, label: string): void {
  element.tabIndex = 0;
  element.setAttribute('role', 'group');
  element.setAttribute('aria-label', label);
}

function finishLink(link: HTMLAnchorElement): void {
  const href = link.getAttribute('href') ?? '';
  const image = link.hasAttribute('data-image');
  link.removeAttribute('data-image');
  const host = hostOf(href);
  if (host === null) {
    // Not an address that may be followed: the words stay, the target is shown.
    const span = document.createElement('span');
    span.append(...link.childNodes);
    link.replaceWith(span);
    return;
  }
  link.setAttribute('rel', 'noopener noreferrer');
  link.setAttribute('target', '_blank');
  const text = link.textContent?.trim() ?? '';
  if (image) link.textContent = `image: ${text} (${href})`;
  else if (!sameTarget(text, href)) {
    const where = document.createElement('span');
    where.className = 'host';
    where.textContent = ` (${host})`;
    link.append(where);
  }
}

function hostOf(href: string): string | null {
  try {
    const url = new URL(href);
    if (url.protocol === 'mailto:') return decodeURIComponent(url.pathname);
    return url.protocol === 'https:' || url.protocol === 'http:' ? url.host : null;
  } catch {
    return null;
  }
}

/** Whether the words of a link are its whole target already. */
function sameTarget(text: string, href: string): boolean {
  const bare = (address: string) => address.replace(/^(https?:\/\/|mailto:)/i, '').replace(/\/$/, '');
  return bare(text) === bare(href);
}

/** Headings of a model stand below those of the page, all at one level; they only look different. */
function lower(heading: Element): void {
  const lowered = document.createElement('h4');
  lowered.className = `md-${heading.tagName.toLowerCase()}`;
  lowered.append(...heading.childNodes);
  heading.replaceWith(lowered);
}
