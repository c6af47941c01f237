// What Runs, Agents, Access and Health do: keys, live bars, panels, a revert, a decision that is tried.
//   node tests/pages/behaviour-rest.mjs     needs a build
import assert from 'node:assert/strict';
import { browser, open, serve } from './browser.mjs';

const chromium = await browser();
const port = Number(process.env.AGENTRY_TEST_PORT ?? 8800);

async function flow(name, flags, path, steps) {
  const server = await serve(port, flags);
  const { page, context, trouble } = await open(chromium, server.url);
  try {
    await page.goto(server.url + path);
    await steps(page);
    assert.deepEqual(trouble, []);
    console.log(`ok    ${name}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`wrong ${name}\n      ${error.message}`);
  }
  await context.close();
  server.stop();
}

const focused = (page) => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '');

await flow('j, k and Enter go through runs and entries, Escape closes the panel', ['--still', '--fast'], '/runs', async (page) => {
  await page.locator('a[data-row]').first().waitFor();
  await page.keyboard.press('j');
  const first = await focused(page);
  await page.keyboard.press('j');
  assert.notEqual(await focused(page), first);
  await page.keyboard.press('k');
  assert.equal(await focused(page), first);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/runs\/run_/);
  const rows = page.locator('section[aria-label=Entries] [data-row]');
  await rows.nth(2).click();
  await page.locator('aside h2').waitFor();
  const title = await page.locator('aside h2').textContent();
  await page.keyboard.press('j');
  await page.waitForFunction((before) => document.querySelector('aside h2')?.textContent !== before, title);
  await page.keyboard.press('Escape');
  await page.locator('aside').waitFor({ state: 'detached' });
  assert.match(await focused(page), /^\d/);
});

await flow('the bar of what is under way grows, new entries come in, cancelling ends it', ['--still'], '/runs', async (page) => {
  await page.evaluate(() => fetch('/api/sessions', { method: 'POST', headers: { 'X-Agentry': '1' }, body: JSON.stringify({ text: 'Explain the cart' }) }));
  await page.locator('a[data-row]', { hasText: 'Explain the cart' }).click();
  const bar = page.locator('.bar.going').first();
  await bar.waitFor();
  const took = () => page.locator('.line', { has: page.locator('.bar.going') }).first().locator('.took').textContent();
  const [before, entries] = [await took(), await page.locator('section[aria-label=Entries] li').count()];
  await page.waitForTimeout(600);
  assert.notEqual(await took(), before);
  await page.waitForFunction((count) => document.querySelectorAll('section[aria-label=Entries] li').length > count, entries);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('button', { name: 'Cancel the run' }).click();
  await page.locator('header .state', { hasText: 'cancelled' }).waitFor();
});

await flow('a filter by status stays in the address and narrows the list', ['--still'], '/runs?status=failed', async (page) => {
  await page.locator('a[data-row]').first().waitFor();
  for (const words of await page.locator('a[data-row] .state').allTextContents()) assert.equal(words.trim(), 'failed');
  await page.getByLabel('Status').selectOption('');
  await page.locator('a[data-row] .state', { hasText: 'done' }).first().waitFor();
  assert.equal(new URL(page.url()).search, '');
});

await flow('tabs of an agent follow the arrow keys; a revert asks first and makes a commit', ['--still'], '/agents/builder', async (page) => {
  await page.getByRole('tab', { name: 'Definition' }).focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(new URL(page.url()).search, '?tab=prompt');
  await page.goto(`${new URL(page.url()).origin}/agents/builder?tab=history`);
  await page.locator('ol [data-row]').first().click();
  await page.getByRole('button', { name: 'Revert', exact: true }).click();
  await page.locator('dialog').getByRole('button', { name: 'Revert' }).click();
  await page.locator('ol [data-row]', { hasText: 'Revert "Ask before' }).waitFor();
});

await flow('a revert that conflicts says so in the dialog', ['--still'], '/agents/builder?tab=history', async (page) => {
  await page.locator('ol [data-row]').last().click();
  await page.getByRole('button', { name: 'Revert', exact: true }).click();
  await page.locator('dialog').getByRole('button', { name: 'Revert' }).click();
  await page.locator('dialog [role=alert]', { hasText: 'conflict' }).waitFor();
});

await flow('an agent with a slash in its id opens from the list', ['--still'], '/agents', async (page) => {
  await page.locator('a[data-row]', { hasText: 'Reviewer' }).click();
  await page.getByRole('heading', { name: 'Reviewer' }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/agents/team%2Freviewer');
});

await flow('a made up event is decided, with Enter in the form', ['--still'], '/access/what-if', async (page) => {
  await page.getByLabel('Sender').first().fill('1234');
  await page.keyboard.press('Enter');
  await page.locator('.outcome', { hasText: 'Allowed by friends' }).waitFor();
});

await flow('the audit is asked once, and not again and again', ['--still'], '/access/audit', async (page) => {
  let asked = 0;
  page.on('request', (request) => (asked += request.url().includes('/api/audit') ? 1 : 0));
  await page.locator('a[data-row]').first().waitFor();
  await page.waitForTimeout(1500);
  assert.ok(asked <= 2, `${asked} requests`);
});

await flow('whoever goes on before a page is there gets the page they want', ['--still'], '/sessions', async (page) => {
  await page.getByRole('heading', { name: 'Sessions' }).waitFor();
  await page.route('**/RunsPage-*.js', async (route) => {
    await new Promise((done) => setTimeout(done, 800));
    await route.continue();
  });
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.keyboard.press('g');
  await page.keyboard.press('h');
  await page.getByRole('heading', { name: 'Health' }).waitFor();
  await page.waitForTimeout(1200);
  assert.ok(await page.getByRole('heading', { name: 'Health' }).isVisible());
});

await flow('health does not report healthy while a limit is only watched', ['--still', '--soft'], '/health', async (page) => {
  await page.getByRole('list', { name: 'Warnings' }).getByText('limit of memory').waitFor();
  assert.equal(await page.getByText('healthy').count(), 0);
});

await flow('from a denied decision to its trace and back', ['--still'], '/access/audit?effect=deny', async (page) => {
  await page.locator('a[data-row]').first().waitFor();
  for (const words of await page.locator('a[data-row] .state').allTextContents()) assert.equal(words.trim(), 'deny');
  await page.locator('a[data-row]').first().click();
  await page.getByRole('link', { name: 'Trace of the event' }).click();
  await page.locator('aside', { hasText: 'Received' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('aside').waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).pathname, '/access/traces');
});

await flow('a plot says its values to the arrow keys, and has a table', ['--still'], '/health', async (page) => {
  const plot = page.getByRole('img', { name: /^Turns:/ });
  await plot.focus();
  await page.keyboard.press('ArrowLeft');
  assert.match((await page.locator('figure [role=status]').textContent()) ?? '', /\d+ turns, \d+ failed/);
  await page.getByRole('button', { name: 'Table' }).click();
  assert.ok((await page.locator('tbody tr').count()) > 3);
});

await chromium.close();
