// A call that nobody allowed waits for a person: its difference is shown, and the answer is for exactly that.
import type { Page } from '@playwright/test';
import { done, expect, test, turn } from './test';
import type { Server, Setting } from './server';

// Nothing needs to be scrolled, so nothing moves: buttons that move are shut.
test.use({ viewport: { width: 1280, height: 1400 } });

const EDIT: Setting = {
  script: [
    { text: 'I mend it.', tool_calls: [{ name: 'Edit', input: { path: 'list.md', old_string: 'Milk', new_string: 'Oat milk' } }] },
    { text: 'That is all.' },
  ],
  files: { 'list.md': '# To buy\n\nBread\nMilk\nEggs\n' },
};

async function waiting(server: Server, page: Page, enter: (server: Server, page: Page, path?: string) => Promise<void>) {
  const { runId } = await server.begin('Mend the list');
  await server.until(runId, 'approval_asked');
  await enter(server, page, '/approvals');
  await expect(page.getByRole('link', { name: /Approvals.*1 wait/ })).toBeVisible();
  await page.getByRole('region', { name: 'List of approvals' }).getByRole('link').first().click();
  const card = page.getByRole('article', { name: /^Approval of/ });
  await expect(card).toBeVisible();
  return { runId, card };
}

test('a difference is shown, and a yes makes exactly that', async ({ page, serve, enter }) => {
  const server = await serve(EDIT);
  const { runId, card } = await waiting(server, page, enter);
  await expect(card.getByText('Oat milk').first()).toBeVisible();
  await expect(card.getByText('list.md').first()).toBeVisible();
  await expect(card.getByText('Bread').first()).toBeVisible();
  expect(server.read('list.md')).toContain('\nMilk\n');
  await card.getByRole('button', { name: 'Allow once' }).click();
  await expect(card.getByText(/^Allowed once/)).toBeVisible();
  await server.until(runId, 'run_ended');
  expect(server.read('list.md')).toBe('# To buy\n\nBread\nOat milk\nEggs\n');
  await expect(page.getByText('None pending.')).toBeVisible();
});

test('a no reaches the agent with its reason', async ({ page, serve, enter }) => {
  const server = await serve(EDIT);
  const { runId, card } = await waiting(server, page, enter);
  await card.getByLabel('Reason, for a no').fill('We have enough of it');
  await card.getByRole('button', { name: 'Deny' }).click();
  await expect(card.getByText('We have enough of it')).toBeVisible();
  const entries = await server.until(runId, 'run_ended');
  expect(JSON.stringify(entries)).toContain('We have enough of it');
  expect(server.read('list.md')).toContain('\nMilk\n');
});

test('other arguments than those asked about are used, and are told', async ({ page, serve, enter }) => {
  const server = await serve(EDIT);
  const { runId, card } = await waiting(server, page, enter);
  await card.getByRole('button', { name: 'Change arguments' }).click();
  const field = card.getByLabel(/^The call runs with these arguments/);
  await field.fill('no JSON');
  await expect(card.getByText('Not a valid JSON object.')).toBeVisible();
  await expect(card.getByRole('button', { name: 'Allow once' })).toBeDisabled();
  await expect(card.getByRole('button', { name: 'Allow for this session' })).toHaveCount(0);
  await field.fill(JSON.stringify({ path: 'list.md', old_string: 'Milk', new_string: 'Soy milk' }));
  await card.getByRole('button', { name: 'Allow once' }).click();
  await expect(card.getByText(/^Allowed once/)).toContainText('with changed arguments');
  await expect(card.getByText(/http: console/)).toBeVisible();
  await server.until(runId, 'run_ended');
  expect(server.read('list.md')).toContain('Soy milk');
});

test('a run that a terminal left is answered and goes on here', async ({ page, serve, enter }) => {
  const server = await serve(EDIT);
  // Nobody is there to be asked, so it is left.
  expect(() => server.agentry('run', '--model', 'scripted:../script.jsonl', 'Mend the list')).toThrow();
  const { runs } = await server.api<{ runs: { id: string }[] }>('/api/runs');
  await enter(server, page, '/approvals');
  await page.getByRole('region', { name: 'List of approvals' }).getByRole('link').first().click();
  const card = page.getByRole('article', { name: /^Approval of/ });
  await card.getByRole('button', { name: 'Allow once' }).click();
  await expect(card.getByText('No process is running this run.')).toBeVisible();
  await card.getByRole('button', { name: 'Resume here' }).click();
  await server.until(runs[0]!.id, 'run_ended');
  expect(server.read('list.md')).toContain('Oat milk');
  await expect(card.getByText('No process is running this run.')).toHaveCount(0);
});

test('the buttons open only when the whole text was seen', async ({ page, serve, enter }) => {
  const long = Array.from({ length: 400 }, (_, index) => `line ${index}`).join('\n');
  const server = await serve({ script: [{ text: 'I write.', tool_calls: [{ name: 'Write', input: { path: 'long.txt', content: long } }] }, { text: 'Written.' }] });
  const { runId, card } = await waiting(server, page, enter);
  const allow = card.getByRole('button', { name: 'Allow once' });
  await expect(card.getByText('Scroll through the whole text to answer.')).toBeVisible();
  await expect(allow).toBeDisabled();
  // Straight to the end is not reading.
  await allow.scrollIntoViewIfNeeded();
  await expect(allow).toBeDisabled();
  await page.getByRole('group', { name: 'Approval', exact: true }).evaluate(async (box) => {
    const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (box.scrollTop = 0; box.scrollTop + box.clientHeight < box.scrollHeight - 1; box.scrollTop += box.clientHeight / 2) await drawn();
    await drawn();
  });
  await expect(allow).toBeEnabled();
  await allow.click();
  await server.until(runId, 'run_ended');
  expect(server.read('long.txt')).toBe(long);
});

test('a call is answered where it stands in its session', async ({ page, serve, enter }) => {
  const server = await serve(EDIT);
  const { sessionId, runId } = await server.begin('Mend the list');
  await server.until(runId, 'approval_asked');
  await enter(server, page, `/sessions/${sessionId}`);
  const card = page.getByRole('article', { name: /^Approval of/ });
  await expect(card.getByText('Oat milk').first()).toBeVisible();
  await card.getByRole('button', { name: 'Allow once' }).click();
  await expect(turn(page).getByText('That is all.')).toBeVisible();
  await done(page);
  expect(server.read('list.md')).toContain('Oat milk');
});

test('what was asked before cannot be answered after it changed', async ({ serve }) => {
  const server = await serve(EDIT);
  const { runId } = await server.begin('Mend the list');
  await server.until(runId, 'approval_asked');
  const { approvals } = await server.api<{ approvals: { id: string }[] }>('/api/approvals?status=waiting');
  const answer = server.api(`/api/approvals/${approvals[0]!.id}/answer`, { allow: true, reach: 'once', digest: 'blake3:0' });
  await expect(answer).rejects.toThrow(/: 409 /);
  expect(server.read('list.md')).toContain('\nMilk\n');
});
