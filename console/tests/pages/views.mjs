// What the page tests look at: a path, flags of the fake server, and what is done before the picture.
import { rest } from './views-rest.mjs';

const cart = '/sessions/ses_01m7ktmb2jes7a6mb7wv5xafvp';

export const views = [
  { name: 'sign-in', path: '/', flags: ['--signed-out'] },
  { name: 'not-found', path: '/nowhere' },
  { name: 'sessions', path: '/sessions', flags: ['--insecure', '--unsandboxed'] },
  { name: 'sessions-none', path: '/sessions', flags: ['--empty'] },
  {
    name: 'sessions-many', path: '/sessions',
    act: async (page) => {
      await page.route('**/api/sessions?*', async (route) => {
        const answer = await route.fetch();
        const { sessions } = await answer.json();
        const long = 'A very long title that says all about what was wanted, ' + 'and_one_word_that_does_not_end_'.repeat(3);
        const many = Array.from({ length: 50 }, (_, at) => ({ ...sessions[at % sessions.length], id: `ses_${at}`, key: at % 3 ? `http-${at}` : `telegram:group:${at}:a-key-that-is-long`, title: at % 4 ? `${long} ${at}` : '', updatedAt: Date.now() + 1000 - at * 3_600_000, lastSeq: 99_999 }));
        await route.fulfill({ json: { sessions: many, next: 'ses_49' } });
      });
      await page.reload();
      await page.waitForTimeout(500);
    },
  },
  {
    name: 'sessions-away', path: '/sessions',
    act: async (page) => {
      await page.route('**/api/sessions?*', (route) => route.fulfill({ status: 503, headers: { 'Retry-After': '30' }, json: { error: { code: 'busy', message: 'the server has too much to do', hint: 'try again in 30 s' } } }));
      await page.reload();
      await page.waitForTimeout(500);
    },
  },
  {
    name: 'session-not-sent', path: '/sessions/ses_release000000000000001',
    act: async (page) => {
      await page.route('**/messages', (route) => route.abort());
      await page.locator('[data-composer]').fill('This one does not get through, and stays in the field');
      await page.locator('[data-composer]').press('Enter');
      await page.waitForTimeout(300);
    },
  },
  { name: 'session-waiting', path: cart },
  {
    name: 'session-open', path: cart,
    act: async (page) => {
      await page.locator('article').first().scrollIntoViewIfNeeded();
      for (const line of await page.locator('article').first().locator('button.line').all()) await line.click();
      await page.locator('.scroll[role=group]').evaluate((scroller) => (scroller.scrollTop = 60));
    },
  },
  { name: 'session-release', path: '/sessions/ses_release000000000000001', act: (page) => page.locator('.scroll[role=group]').evaluate((scroller) => (scroller.scrollTop = 0)) },
  { name: 'session-release-end', path: '/sessions/ses_release000000000000001' },
  { name: 'session-compaction', path: '/sessions/ses_01m7ktmwb5eyp9ecxxncn6cfm2', act: (page) => page.locator('article details').last().locator('summary').click() },
  { name: 'session-new', path: '/sessions/new' },
  {
    name: 'session-live', path: '/sessions/ses_long00000000000000000001',
    act: async (page) => {
      await page.locator('[data-composer]').fill('Look at the cart again');
      await page.locator('[data-composer]').press('Enter');
      await page.waitForTimeout(500);
    },
  },
  { name: 'approvals', path: '/approvals' },
  { name: 'approval', path: '/approvals/apr_rename0001', act: (page) => page.waitForTimeout(900) },
  { name: 'approval-command', path: '/approvals/apr_3f76swh41tz85ryk6784q9qnwt', act: (page) => page.waitForTimeout(900) },
  { name: 'approval-request', path: '/approvals/apr_mom0001?tab=requests', act: (page) => page.waitForTimeout(900) },
  { name: 'grants', path: '/approvals?tab=grants' },
  { name: 'keys', path: '/sessions', act: (page) => page.keyboard.press('?') },
  { name: 'palette', path: '/sessions', act: (page) => page.keyboard.press('Control+k') },
  { name: 'settings', path: '/sessions', act: (page) => page.getByRole('button', { name: 'Settings' }).click() },
  ...rest,
];
