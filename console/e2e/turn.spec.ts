// A turn while it runs: words as they come, calls folded away with what came back.
import { done, expect, test, turn } from './test';

const WORDS = 'one two three four five six seven eight nine ten';

test('words are shown while they come, and calls stand folded between them', async ({ page, serve, enter }) => {
  const server = await serve({
    script: [
      { text: 'I look.', tool_calls: [{ name: 'Bash', input: { command: 'echo seen; echo twice' } }] },
      { text: `${WORDS} done.`, pace_ms: 120 },
    ],
  });
  await enter(server, page, '/sessions/new');
  // Everything that was ever shown of the answer.
  await page.evaluate(() => {
    const shown: string[] = ((window as { shown?: string[] }).shown = []);
    new MutationObserver(() => shown.push(document.querySelector('article .items')?.textContent ?? '')).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  await page.getByRole('textbox', { name: 'First message' }).fill('Count');
  await page.keyboard.press('Enter');
  const now = turn(page);
  await expect(now.getByText(`${WORDS} done.`)).toBeVisible();
  await done(page);
  const shown = await page.evaluate(() => (window as { shown?: string[] }).shown ?? []);
  expect(shown.some((text) => text.includes('three') && !text.includes('ten'))).toBe(true);

  const call = now.getByRole('button', { name: /^bash/i });
  await expect(call).toHaveAttribute('aria-expanded', 'false');
  await call.click();
  const output = now.getByRole('group', { name: 'Output' });
  await expect(output).toContainText('seen');
  await expect(output).toContainText('twice');
  await expect(now.getByText('I look.')).toBeVisible();
});

test('what was said before one looked is there, and a run is cancelled in the middle', async ({ page, serve, enter }) => {
  const server = await serve({ script: [{ text: WORDS, pace_ms: 20_000 }] });
  const { sessionId } = await server.begin('Count slowly');
  await enter(server, page, `/sessions/${sessionId}`);
  await expect(turn(page).getByText('one', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await expect(turn(page).locator('footer').getByText('cancelled')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Cancel run' })).toBeHidden();
});

test('a tab that was hidden has nothing twice and misses nothing', async ({ page, serve, enter }) => {
  const server = await serve({ script: [{ text: 'Heard you.' }] });
  const first = await server.begin('First');
  await server.until(first.runId, 'run_ended');
  await enter(server, page, `/sessions/${first.sessionId}`);
  await done(page);
  const hide = (hidden: boolean) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { value, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  await hide(true);
  await server.api(`/api/sessions/${first.sessionId}/messages`, { text: 'While nobody looks' });
  await expect.poll(async () => (await server.api<{ session: { turns: number; state: string } }>(`/api/sessions/${first.sessionId}`)).session).toMatchObject({ turns: 2, state: 'idle' });
  await hide(false);
  await expect(page.getByRole('article', { name: 'Turn' })).toHaveCount(2);
  await expect(turn(page).getByText('Heard you.')).toBeVisible();
  await done(page);
  await expect(page.getByText('Heard you.', { exact: true })).toHaveCount(2);
});
