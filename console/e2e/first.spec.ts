// From a link to the first answer.
import { done, expect, test, turn } from './test';

test('a link signs in, the first message gets its answer, and the link works no second time', async ({ browser, page, serve, trouble }) => {
  const server = await serve({ script: [{ text: 'Hello. I am **well**.' }] });
  const link = server.link();
  await page.goto(link);
  await expect(page).toHaveURL(`${server.url}/sessions`);
  expect(await page.evaluate(() => window.location.hash + JSON.stringify(window.history.state))).not.toContain('code');

  await page.getByRole('link', { name: 'New', exact: true }).click();
  await page.getByRole('textbox', { name: 'First message' }).fill('How are you?');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(page).toHaveURL(/\/sessions\/ses_/);
  await expect(turn(page).getByText('Hello. I am well.')).toBeVisible();
  await expect(turn(page).getByText('How are you?', { exact: true }).last()).toBeVisible();
  await done(page);
  await expect(page.getByRole('region', { name: 'List of sessions' }).getByText('How are you?')).toBeVisible();

  // Nothing of it is anywhere that a page could read it later.
  const code = new URL(link).hash.slice('#code='.length);
  expect(trouble.requests.some((url) => url.includes(code))).toBe(false);
  expect(await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain('agt_');

  const other = await browser.newContext();
  const second = await other.newPage();
  await second.goto(link);
  await expect(second.getByRole('heading', { name: 'Sign in to Agentry' })).toBeVisible();
  await expect(second.getByRole('alert')).toBeVisible();
  await other.close();
});

test('without a link the page says how to get one, and takes it pasted', async ({ page, serve, trouble }) => {
  trouble.expect(/^401 for (GET \/api\/me|POST \/api\/login)$/);
  const server = await serve({ script: [] });
  await page.goto(server.url);
  await expect(page.getByText('agentry console')).toBeVisible();
  const field = page.getByLabel('Or paste the link or its code');
  await field.fill('agt_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toBeVisible();
  await field.fill(server.link());
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible();

  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { name: 'Sign in to Agentry' })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Sign in to Agentry' })).toBeVisible();

  // A link that is opened where the page is already changes only the end of the address.
  await page.evaluate((hash) => (window.location.hash = hash), new URL(server.link()).hash);
  await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible();
  expect(await page.evaluate(() => window.location.hash)).toBe('');
});
