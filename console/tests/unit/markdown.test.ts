// @vitest-environment jsdom
// Markdown from a model must never run, load, style or submit anything.
import { describe, expect, it } from 'vitest';
import { blocks, render } from '../../src/lib/markdown';

function html(text: string): string {
  const box = document.createElement('div');
  for (const block of blocks(text)) box.append(render(block));
  return box.innerHTML;
}

function dom(text: string): HTMLElement {
  const box = document.createElement('div');
  for (const block of blocks(text)) box.append(render(block));
  return box;
}

const ATTACKS: Record<string, string> = {
  script: '<script>alert(1)</script>',
  'script in a paragraph': 'Hello <script src="https://evil.example/x.js"></script> there',
  'img onerror': '<img src=x onerror=alert(1)>',
  'img onerror inline': 'a <img src=x onerror="alert(1)"> b',
  'javascript link': '[click](javascript:alert(1))',
  'javascript link with entities': '[click](&#106;avascript:alert(1))',
  'javascript link with a tab': '[click](java\tscript:alert(1))',
  'vbscript link': '[click](vbscript:msgbox(1))',
  'data link': '[click](data:text/html,<script>alert(1)</script>)',
  'data image': '![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)',
  svg: '<svg onload=alert(1)><circle r=5 /></svg>',
  'svg with a link': '<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>',
  math: '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>',
  iframe: '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  form: '<form action="https://evil.example"><input name=code><button>Go</button></form>',
  style: '<style>body{display:none}</style><p style="position:fixed;inset:0">over</p>',
  meta: '<meta http-equiv="refresh" content="0;url=https://evil.example">',
  base: '<base href="https://evil.example/">',
  link: '<link rel=stylesheet href="https://evil.example/x.css">',
  object: '<object data="x"></object><embed src="x">',
  details: '<details open ontoggle=alert(1)>x</details>',
  mermaid: '```mermaid\ngraph TD; A["<img src=x onerror=alert(1)>"] --> B; click A "javascript:alert(1)"\n```',
  katex: '$\\href{javascript:alert(1)}{x}$ $$\\htmlStyle{color:red}{\\url{javascript:alert(1)}}$$',
  'code with html': '```html\n<script>alert(1)</script>\n```',
  'language with quotes': '```" onmouseover="alert(1)\nx\n```',
  'title of a link': '[x](https://a.example "\\" onmouseover=\\"alert(1)")',
  'autolink': '<javascript:alert(1)>',
  'nested': '[![x](javascript:alert(1))](javascript:alert(2))',
  'reference': '[x][1]\n\n[1]: javascript:alert(1)',
  'clobbering': '<a id=location name=cookie href="https://a.example">x</a>',
  'comment': '<!--><img src=x onerror=alert(1)>-->',
  'template': '<template><script>alert(1)</script></template>',
};

describe('nothing of these acts', () => {
  for (const [name, text] of Object.entries(ATTACKS)) {
    it(name, () => {
      const box = dom(text);
      expect(box.querySelectorAll('script,img,svg,math,iframe,form,input,button,style,meta,base,link,object,embed,details,template,video,audio').length).toBe(0);
      for (const element of box.querySelectorAll('*')) {
        for (const attribute of element.getAttributeNames()) {
          expect(attribute).not.toMatch(/^on|^style$|^src|^id$|^name$|^action$|^xlink/);
          if (attribute === 'href') expect(element.getAttribute('href')).toMatch(/^(https?:|mailto:)/);
        }
      }
    });
  }
});

describe('links', () => {
  it('open elsewhere, say nothing about us, and show where they go', () => {
    const link = dom('[the docs](https://docs.example/a/b)').querySelector('a')!;
    expect(link.getAttribute('rel')).toBe('noopener noreferrer');
    expect(link.getAttribute('target')).toBe('_blank');
    expect(link.textContent).toBe('the docs (docs.example)');
  });

  it('show the true host where the words say another', () => {
    expect(dom('[https://bank.example](https://evil.example/login)').textContent).toContain('(evil.example)');
  });

  it('do not repeat what is said already', () => {
    expect(dom('https://docs.example/a').textContent?.trim()).toBe('https://docs.example/a');
  });

  it('to nowhere are plain words', () => {
    expect(dom('[a file](../x.md)').querySelector('a')).toBeNull();
    expect(dom('[a file](../x.md)').textContent).toContain('a file');
  });
});

describe('images', () => {
  it('are links with their target, never loaded', () => {
    const box = dom('![a chart](https://pics.example/x.png?secret=1)');
    expect(box.querySelector('img')).toBeNull();
    expect(box.textContent).toContain('image: a chart (https://pics.example/x.png?secret=1)');
  });
});

describe('the rest', () => {
  it('shows HTML as text', () => {
    expect(dom('<b>bold</b> and <u>more</u>').textContent).toContain('<b>bold</b>');
  });

  it('shows tables, lists, headings and code', () => {
    expect(html('| a | b |\n|---|---|\n| 1 | 2 |')).toContain('<td>2</td>');
    expect(html('- [x] one\n- two')).toContain('[x] one');
    expect(dom('# Big').querySelector('h4.md-h1')?.textContent).toBe('Big');
    expect(dom('a `b<c` d').querySelector('code')?.textContent).toBe('b<c');
  });

  it('keeps blocks that did not change while a text streams', () => {
    const before = blocks('One\n\nTwo');
    const after = blocks('One\n\nTwo and more');
    expect(after[0]!.raw).toBe(before[0]!.raw);
    expect(after).toHaveLength(2);
  });

  it('is quick with a lot of text', () => {
    const begun = performance.now();
    html('> '.repeat(400) + 'x\n\n' + '*a '.repeat(4000) + '\n\n' + '['.repeat(4000));
    expect(performance.now() - begun).toBeLessThan(3000);
  });
});
