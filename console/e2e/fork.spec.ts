// A session is forked at a turn, and goes its own way.
import { done, expect, test, turn } from './test';

test('a fork has the past up to its turn, and what is said there stays there', async ({ page, serve, enter }) => {
  const server = await serve({ script: [{ text: 'Understood.' }] });
  const { sessionId, runId } = await server.begin('The first thing');
  await server.until(runId, 'run_ended');
  await enter(server, page, `/sessions/${sessionId}`);
  const say = async (text: string) => {
    await page.getByRole('textbox', { name: /^Message to/ }).fill(text);
    await page.keyboard.press('Enter');
    await expect(turn(page).getByText(text, { exact: true }).last()).toBeVisible();
    await done(page);
  };
  await say('The second thing');

  const first = page.getByRole('article', { name: 'Turn' }).first();
  await first.getByRole('button', { name: 'Fork' }).click();
  await expect(page).not.toHaveURL(new RegExp(sessionId));
  await expect(page).toHaveURL(/\/sessions\/ses_/);
  await expect(page.getByRole('article', { name: 'Turn' })).toHaveCount(1);
  await expect(turn(page).getByText('The first thing', { exact: true }).last()).toBeVisible();
  await say('Another second thing');
  await expect(page.getByRole('article', { name: 'Turn' })).toHaveCount(2);

  await page.goto(`${server.url}/sessions/${sessionId}`);
  await expect(page.getByRole('article', { name: 'Turn' })).toHaveCount(2);
  await expect(turn(page).getByText('The second thing', { exact: true }).last()).toBeVisible();
  await expect(page.getByRole('article').getByText('Another second thing')).toHaveCount(0);
});
