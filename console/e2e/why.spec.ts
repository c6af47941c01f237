// Why something was done: from an entry down the chain of decisions to the file and the line.
import { expect, test } from './test';

test('an entry tells why it came to be, down to file and line', async ({ page, serve, enter }) => {
  const server = await serve({ script: [{ text: 'I look.', tool_calls: [{ name: 'Bash', input: { command: 'echo hello' } }] }, { text: 'Seen.' }] });
  const { runId } = await server.begin('Look');
  await server.until(runId, 'run_ended');
  await enter(server, page, `/runs/${runId}`);
  const entries = page.getByRole('region', { name: 'Entries' });
  const decided = await server.until(runId, 'call_started');
  const { seq } = decided.find((entry) => entry.event.type === 'call_started')!;
  await entries.getByRole('button', { name: new RegExp(`^${seq}\\b`) }).click();
  await expect(page).toHaveURL(new RegExp(`entry=${seq}`));
  const chain = page.getByRole('list', { name: 'Causes, in order' });
  await expect(chain).toContainText(/helper\/AGENT\.md:\d+/);
  await expect(chain).toContainText('{ tool: Bash, allow: true }');
  await expect(chain.getByText('this decided')).toBeVisible();
  // What came in is the beginning of it, and leads to its own entry.
  await expect(chain.getByRole('listitem').first()).toContainText(/http/i);
  await chain.getByRole('button', { name: /^entry \d+/ }).first().click();
  await expect(page).not.toHaveURL(new RegExp(`entry=${seq}$`));
  await page.keyboard.press('Escape');
  await expect(page.getByRole('complementary')).toBeHidden();
});

test('the audit names the policy that let a message in', async ({ page, serve, enter }) => {
  const server = await serve({ script: [{ text: 'Seen.' }] });
  const { runId } = await server.begin('Look');
  await server.until(runId, 'run_ended');
  await enter(server, page, '/access/audit');
  await page.getByRole('tabpanel', { name: 'Audit' }).getByRole('link', { name: /http/ }).first().click();
  const record = page.getByRole('complementary', { name: 'Decision' });
  await expect(record.getByText(/owner/).first()).toBeVisible();
  await expect(record.getByRole('button', { name: /\.ya?ml:\d+/ }).first()).toBeVisible();
  await record.getByRole('link', { name: 'Trace of the event' }).click();
  await expect(page).toHaveURL(/\/access\/traces\//);
});
