// Takes pictures of pages, in light and dark and on a phone, and looks for what axe finds.
//   node tests/pages/shots.mjs [name…]     pictures go to shots/
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { browser, open, serve } from './browser.mjs';
import { views } from './views.mjs';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const LOOKS = [
  { name: 'light', width: 1280, height: 820 },
  { name: 'dark', width: 1280, height: 820, dark: true },
  { name: 'phone', width: 390, height: 844 },
  { name: 'phone-dark', width: 390, height: 844, dark: true },
];
const wanted = process.argv.slice(2);
mkdirSync('shots', { recursive: true });
const chromium = await browser();
let bad = 0;
for (const view of views.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  for (const look of LOOKS) {
    const server = await serve(Number(process.env.AGENTRY_TEST_PORT ?? 8800), ['--still', '--fast', ...(view.flags ?? [])]);
    const { page, context, trouble } = await open(chromium, server.url, look);
    await page.goto(server.url + view.path);
    await page.waitForTimeout(500);
    await view.act?.(page, look);
    await page.waitForTimeout(400);
    await page.screenshot({ path: `shots/${view.name}-${look.name}.png` });
    const source = (await import('node:fs')).readFileSync(axe, 'utf8');
    const found = await page.context().newCDPSession(page).then(async (session) => {
      await session.send('Runtime.evaluate', { expression: source });
      const { result } = await session.send('Runtime.evaluate', {
        expression: 'axe.run(document, { resultTypes: ["violations"] }).then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.impact, v.nodes.slice(0, 4).map((n) => n.html.slice(0, 140) + " :: " + (n.any[0]?.message ?? n.all[0]?.message ?? "").slice(0, 160))])))',
        awaitPromise: true, returnByValue: true,
      });
      return JSON.parse(result.value);
    });
    for (const [id, impact, nodes] of found) {
      bad += 1;
      console.log(`${view.name} ${look.name}: axe ${id} (${impact})\n    ${nodes.join('\n    ')}`);
    }
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    if (wide) console.log(`${view.name} ${look.name}: the page is wider than the window`);
    for (const line of trouble) console.log(`${view.name} ${look.name}: ${line}`);
    bad += trouble.length + (wide ? 1 : 0);
    await context.close();
    server.stop();
  }
}
await chromium.close();
console.log(bad === 0 ? 'nothing to complain about' : `${bad} complaints`);
process.exit(bad === 0 ? 0 : 1);
