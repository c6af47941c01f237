// What the pages do, tried in a browser against the fake server: keys, sending, streaming, steering, approvals, paging, reconnecting.
import assert from 'node:assert/strict';
import { browser, open, serve } from './browser.mjs';

const PORT = Number(process.env.AGENTRY_TEST_PORT ?? 8801);
const LONG = '/sessions/ses_long00000000000000000001';
const RENAME = '/approvals/apr_rename0001';
const chromium = await browser();
const wanted = process.argv.slice(2);
let failed = 0;

async function test(name, flags, look, run) {
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) return;
  const server = await serve(PORT, ['--still', ...flags]);
  const { page, context, trouble } = await open(chromium, server.url, look);
  page.setDefaultTimeout(6000);
  try {
    await run(page, server);
    assert.deepEqual(trouble.filter((line) => !line.includes('ERR_')), []);
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n      ${error.message.split('\n').slice(0, 6).join('\n      ')}`);
    await page.screenshot({ path: `shots/failed-${name.replaceAll(' ', '-')}.png` });
  }
  await context.close();
  server.stop();
}

const at = (page) => new URL(page.url()).pathname;
const buttons = (page) => page.getByRole('button', { name: /^(Deny|Allow)/ });
const distance = (page) => page.locator('.scroll[role=group]').evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);

await test('a link signs in and leaves no code in the address', ['--signed-out'], {}, async (page, { url }) => {
  await page.goto(`${url}/sessions#code=secret`);
  await page.getByRole('heading', { name: 'Sessions' }).waitFor();
  assert.equal(new URL(page.url()).hash, '');
});

await test('a wrong code is told and a pasted link works', ['--signed-out'], {}, async (page, { url }) => {
  await page.goto(url);
  await page.getByLabel('Or paste').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('the code is not known').waitFor();
  await page.getByLabel('Or paste').fill('http://127.0.0.1/#code=abc');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Sessions' }).waitFor();
});

await test('keys move, open, switch pages and filter', ['--fast'], {}, async (page, { url }) => {
  await page.goto(`${url}/sessions`);
  await page.locator('[data-row]').first().waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.locator('article').first().waitFor();
  assert.equal(at(page), '/sessions/ses_mom00000000000000000001');
  await page.keyboard.press('/');
  await page.keyboard.type('bread');
  await page.waitForFunction(() => document.querySelectorAll('[data-row]').length === 1);
  await page.keyboard.press('Escape');
  await page.locator('main').focus();
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await page.getByRole('heading', { name: 'Approvals' }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Approvals');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('n');
  await page.waitForURL('**/sessions/new');
});

await test('a new session streams its answer', ['--fast'], {}, async (page, { url }) => {
  await page.goto(`${url}/sessions/new`);
  await page.getByRole('textbox', { name: 'First message' }).fill('Look at the cart');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/sessions/ses_*');
  await page.getByText('checkout can say early').waitFor();
  await page.locator('article footer').getByText('done').waitFor();
  await page.locator('.hljs-keyword').first().waitFor();
});

await test('the view stays at the end only if the reader is there', ['--fast'], {}, async (page, { url }) => {
  await page.goto(url + LONG);
  await page.getByText('(60)').first().waitFor();
  await page.waitForTimeout(300);
  assert.ok((await distance(page)) < 4);
  const field = page.locator('[data-composer]');
  await field.fill('Again');
  await field.press('Enter');
  await page.getByText('checkout can say early').waitFor();
  await page.waitForTimeout(500);
  assert.ok((await distance(page)) < 4, `${await distance(page)} from the end`);
  await page.locator('.scroll[role=group]').hover();
  await page.mouse.wheel(0, -700);
  await page.getByRole('button', { name: 'Newest' }).waitFor();
  const before = await page.locator('.scroll[role=group]').evaluate((box) => box.scrollTop);
  await field.fill('Once more');
  await page.getByRole('button', { name: 'Newest' }).click();
  assert.ok((await distance(page)) < 4 && before > 0);
});

await test('older turns come in above and the reader stays', ['--fast'], {}, async (page, { url }) => {
  await page.goto(url + LONG);
  await page.getByText('(60)').first().waitFor();
  await page.waitForTimeout(300);
  const first = await page.locator('article').count();
  await page.locator('.scroll[role=group]').evaluate((box) => (box.scrollTop = 100));
  await page.waitForFunction((count) => document.querySelectorAll('article').length > count, first);
  assert.equal(await page.locator('article').count(), 60);
  assert.ok((await page.locator('.scroll[role=group]').evaluate((box) => box.scrollTop)) > 1000);
});

await test('a running turn is steered, followed and cancelled', [], {}, async (page, { url }) => {
  await page.goto(url + LONG);
  const field = page.locator('[data-composer]');
  await field.fill('Look again');
  await field.press('Enter');
  await page.getByRole('radio', { name: /^Steer/ }).waitFor();
  await field.fill('Only the tests');
  await field.press('Enter');
  await page.getByText('Only the tests').waitFor();
  await page.getByText('steering, not yet heard').waitFor();
  await page.getByText('steered', { exact: true }).waitFor();
  await page.getByRole('radio', { name: /^Follow up/ }).check();
  await field.fill('And then the docs');
  await field.press('Enter');
  await page.getByText('1 message waits for its turn').waitFor();
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await page.locator('article footer').getByText('Cancelled').waitFor();
});

await test('wiggum is confirmed first', ['--fast'], {}, async (page, { url }) => {
  await page.goto(url + LONG);
  await page.getByLabel('Mode', { exact: true }).selectOption('wiggum');
  await page.getByText('The agent works alone').waitFor();
  await page.getByRole('button', { name: 'Back' }).click();
  assert.equal(await page.getByLabel('Mode', { exact: true }).inputValue(), 'structured');
  await page.getByLabel('Mode', { exact: true }).selectOption('wiggum');
  await page.getByRole('button', { name: 'Use the mode wiggum' }).click();
  await page.waitForFunction(() => document.querySelector('[aria-label=Mode]').value === 'wiggum');
});

await test('an approval opens only when all of it was seen', ['--fast'], { width: 1000, height: 420 }, async (page, { url }) => {
  await page.goto(url + RENAME);
  await page.getByText('Scroll through the whole text').waitFor();
  await page.waitForTimeout(900);
  for (const button of await buttons(page).all()) assert.equal(await button.isDisabled(), true);
  await page.locator('.scroll[role=group]').evaluate((box) => (box.scrollTop = box.scrollHeight));
  await page.waitForTimeout(900);
  assert.equal(await buttons(page).first().isDisabled(), true, 'a jump to the end is not reading');
  await page.locator('.scroll[role=group]').evaluate((box) => (box.scrollTop = 0));
  for (let step = 0; step < 12; step += 1) {
    await page.locator('.scroll[role=group]').evaluate((box) => (box.scrollTop += 150));
    await page.waitForTimeout(60);
  }
  await page.locator('.scroll[role=group]').evaluate((box) => (box.scrollTop -= 30));
  await page.waitForTimeout(60);
  assert.equal(await buttons(page).first().isDisabled(), true, 'half a second has not passed');
  await page.waitForTimeout(800);
  assert.equal(await buttons(page).first().isDisabled(), false);
  assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), 'BUTTON');
  await page.keyboard.press('Enter');
  await page.keyboard.press('y');
  assert.equal(await buttons(page).first().isDisabled(), false, 'a key elsewhere answers nothing');
  await page.evaluate(() => [...document.querySelectorAll('button')].find((button) => button.textContent === 'Allow once').click());
  await page.waitForTimeout(200);
  assert.equal(await buttons(page).count(), 3, 'a script answers nothing');
  await page.getByRole('button', { name: 'Allow once' }).click();
  await page.getByText('Allowed once').waitFor();
});

await test('a no with a reason reaches the agent', ['--fast'], { height: 1400 }, async (page, { url }) => {
  await page.goto(url + RENAME);
  await page.getByPlaceholder('Reason for a no').fill('Not before the release');
  await page.waitForTimeout(900);
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByText('Denied', { exact: false }).first().waitFor();
  await page.goto(`${url}/sessions/ses_rename00000000000000001`);
  await page.getByText('I leave it at that.').waitFor();
});

await test('an approval inside a session is the same', ['--fast'], { height: 1600 }, async (page, { url }) => {
  await page.goto(`${url}/sessions/ses_rename00000000000000001`);
  await page.getByText('Allow builder to call edit_file?').waitFor();
  await page.waitForTimeout(900);
  await page.getByRole('button', { name: 'Allow once' }).click();
  await page.getByText('Done, as you allowed.').waitFor();
});

await test('a fork opens', ['--fast'], {}, async (page, { url }) => {
  await page.goto(`${url}/sessions/ses_release000000000000001`);
  await page.getByRole('button', { name: 'Fork' }).click();
  await page.waitForURL('**/sessions/ses_fake*');
  await page.getByText('Forked here.').waitFor();
});

await test('a lost server is shown and found again', ['--fast'], {}, async (page, server) => {
  await page.goto(server.url + LONG);
  await page.getByText('(60)').first().waitFor();
  server.stop();
  await page.getByText('Reconnecting…').waitFor();
  await page.waitForTimeout(2500);
  assert.ok(await page.getByText('(60)').first().isVisible(), 'the turns stay');
  const again = await serve(PORT, ['--still', '--fast']);
  await page.getByText('Reconnecting…').waitFor({ state: 'hidden', timeout: 12_000 });
  again.stop();
});

await test('nothing is lost or repeated while the tab is hidden', ['--fast'], {}, async (page, { url }) => {
  await page.goto(url + LONG);
  await page.getByText('(60)').first().waitFor();
  await page.waitForTimeout(300);
  const hide = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await hide(true);
  await fetch(`${url}/api${LONG}/messages`, { method: 'POST', headers: { 'X-Agentry': '1' }, body: JSON.stringify({ text: 'While you were away' }) });
  await page.waitForTimeout(1500);
  assert.equal(await page.locator('.prompt', { hasText: 'While you were away' }).count(), 0);
  await hide(false);
  await page.locator('.prompt', { hasText: 'While you were away' }).waitFor();
  await page.getByText('checkout can say early').waitFor();
  assert.equal(await page.locator('.prompt', { hasText: 'While you were away' }).count(), 1);
  assert.equal(await page.getByText('checkout can say early').count(), 1);
});

await test('a missing session says so where it happened', ['--fast'], {}, async (page, { url }) => {
  await page.goto(`${url}/sessions/ses_none`);
  await page.getByText('there is no session ses_none').waitFor();
  await page.getByRole('button', { name: 'Try again' }).first().waitFor();
});

await test('a grant is taken back', ['--fast'], {}, async (page, { url }) => {
  await page.goto(`${url}/approvals?tab=grants`);
  await page.getByRole('button', { name: 'Revoke' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.waitForFunction(() => document.querySelectorAll('li.card').length === 1);
});

await chromium.close();
console.log(failed === 0 ? 'all pages behave' : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
