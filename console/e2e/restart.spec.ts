// The server dies in the middle of a turn and comes back: the page finds it again by itself, and nothing is lost or there twice.
import { done, expect, test, turn } from './test';

const WORDS = 'alpha beta gamma delta epsilon zeta eta theta iota kappa';

test('a turn goes on after the server was killed, and the page with it', async ({ page, serve, enter, trouble }) => {
  trouble.expect(/ERR_/);
  const server = await serve({
    script: [
      { text: 'I write it down.', tool_calls: [{ name: 'Bash', input: { command: 'echo line >> log.txt' } }] },
      { text: WORDS, pace_ms: 300 },
    ],
  });
  const { sessionId } = await server.begin('Go through the letters');
  await enter(server, page, `/sessions/${sessionId}`);
  await expect(turn(page).getByText('alpha beta')).toBeVisible();
  await server.kill();
  await expect(page.getByText('Reconnecting…')).toBeVisible();
  await server.start();
  await expect(page.getByText('Reconnecting…')).toBeHidden();
  await expect(turn(page).getByText(WORDS)).toBeVisible();
  await done(page);
  await expect(page.getByRole('article', { name: 'Turn' })).toHaveCount(1);
  await expect(page.getByText('kappa')).toHaveCount(1);
  await expect(page.getByText('I write it down.')).toHaveCount(1);
  await expect(turn(page).getByRole('button', { name: /^bash/i })).toHaveCount(1);
  expect(server.read('log.txt')).toBe('line\n');
});

test('a page finds a server that was away for long', async ({ page, serve, enter, trouble }) => {
  trouble.expect(/ERR_/);
  const server = await serve({ script: [{ text: 'Back again.' }] });
  const { sessionId, runId } = await server.begin('Before');
  await server.until(runId, 'run_ended');
  await enter(server, page, `/sessions/${sessionId}`);
  await done(page);
  await server.kill();
  // Long enough that it was looked for more than once.
  let failures = 0;
  page.on('requestfailed', (request) => (failures += request.url().includes('/api/stream') ? 1 : 0));
  await expect.poll(() => failures, { timeout: 30_000 }).toBeGreaterThan(2);
  await expect(page.getByText('Before', { exact: true }).last()).toBeVisible();
  await server.start();
  await expect(page.getByText('Reconnecting…')).toBeHidden({ timeout: 30_000 });
  await page.getByRole('textbox', { name: /Message/ }).fill('After');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('article', { name: 'Turn' })).toHaveCount(2);
  await done(page);
});
