// The console on a phone.
import { done, expect, test, turn } from './test';

test.use({ viewport: { width: 390, height: 844 }, hasTouch: true });

test('list and session take turns, a message is sent, and nothing is wider than the page', async ({ page, serve, enter }) => {
  const server = await serve({ script: [{ text: `Look at \`${'a_long_name_'.repeat(12)}\` and\n\n\`\`\`\n${'x'.repeat(300)}\n\`\`\`\n` }] });
  const { sessionId, runId } = await server.begin('Say something long');
  await server.until(runId, 'run_ended');
  const fits = async () => expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await enter(server, page);
  await fits();
  await page.getByRole('link', { name: /Say something long/ }).tap();
  await expect(page).toHaveURL(new RegExp(sessionId));
  await expect(page.getByRole('region', { name: 'List of sessions' })).toBeHidden();
  await done(page);
  await fits();
  await page.getByRole('textbox', { name: /^Message to/ }).fill('Again');
  await page.getByRole('button', { name: 'Send' }).tap();
  await expect(page.getByRole('article', { name: 'Turn' })).toHaveCount(2);
  await done(page);
  await expect(turn(page).getByText('Again', { exact: true }).last()).toBeVisible();
  await page.getByRole('region', { name: 'Details' }).getByRole('link', { name: 'Sessions' }).tap();
  await expect(page.getByRole('region', { name: 'List of sessions' })).toBeVisible();
  for (const name of ['Approvals', 'Runs', 'Agents', 'Access', 'Health']) {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).tap();
    await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
    await fits();
  }
});
