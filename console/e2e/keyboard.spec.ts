// Everything can be done without a pointer.
import { done, expect, test, turn } from './test';

test('from the first page to an answered approval with keys alone', async ({ page, serve, enter }) => {
  const server = await serve({
    script: [{ text: 'I write.', tool_calls: [{ name: 'Write', input: { path: 'note.txt', content: 'noted\n' } }] }, { text: 'Written down.' }],
  });
  await enter(server, page);
  await expect(page.getByText('No sessions yet.')).toBeVisible();
  await page.keyboard.press('n');
  await expect(page.getByRole('textbox', { name: 'First message' })).toBeFocused();
  await page.keyboard.type('Note it');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/sessions\/ses_/);
  await expect(page.getByRole('article', { name: /^Approval of/ })).toBeVisible();

  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await expect(page.getByRole('heading', { name: 'Approvals' })).toBeFocused();
  await expect(page.getByRole('region', { name: 'List of approvals' }).getByRole('link')).toBeVisible();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  const allow = page.getByRole('button', { name: 'Allow once' });
  await expect(allow).toBeEnabled();
  for (let presses = 0; presses < 40 && !(await allow.evaluate((button) => button === document.activeElement)); presses += 1) await page.keyboard.press('Tab');
  await expect(allow).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByText(/^Allowed once/)).toBeVisible();

  await page.keyboard.press('Control+k');
  await page.keyboard.type('Note it');
  await expect(page.getByRole('option', { name: /Note it/ })).toBeVisible();
  await page.keyboard.press('Enter');
  await expect(turn(page).getByText('Written down.')).toBeVisible();
  await done(page);
  expect(server.read('note.txt')).toBe('noted\n');
});

test('the focus is always seen, and never caught', async ({ page, serve, enter }) => {
  const server = await serve({ script: [{ text: 'Seen.' }] });
  const { sessionId, runId } = await server.begin('Look');
  await server.until(runId, 'run_ended');
  await enter(server, page, `/sessions/${sessionId}`);
  await done(page);
  const where = () =>
    page.evaluate(() => {
      const focused = document.activeElement;
      if (!focused || focused === document.body) return null;
      const style = getComputedStyle(focused);
      const shown = focused.checkVisibility();
      return { name: `${focused.tagName} ${focused.getAttribute('aria-label') ?? focused.textContent?.trim().slice(0, 40)}`, outlined: style.outlineStyle !== 'none' || focused.matches('textarea, input'), shown };
    });
  const met = new Set<string>();
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press('Tab');
    const now = await where();
    if (now === null) break;
    expect(now, now.name).toMatchObject({ outlined: true, shown: true });
    met.add(now.name);
  }
  expect(met.size).toBeGreaterThan(12);
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keys' });
  await expect(keys).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(keys).toBeHidden();
});
