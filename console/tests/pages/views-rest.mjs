// Views of Runs, Agents, Access and Health.
const settle = (page) => page.waitForTimeout(700);
const builder = '/agents/builder';

export const rest = [
  { name: 'runs', path: '/runs', act: settle },
  { name: 'runs-none', path: '/runs', flags: ['--empty'] },
  { name: 'run', path: '/runs/run_release0001', act: settle },
  { name: 'run-waiting', path: '/runs/run_rename0001', act: settle },
  {
    name: 'run-live', path: '/runs/run_rename0001',
    act: async (page) => {
      await page.evaluate(() => fetch('/api/sessions', { method: 'POST', headers: { 'X-Agentry': '1' }, body: JSON.stringify({ text: 'Look at the cart' }) }));
      await page.waitForTimeout(900);
      await page.goto(`${new URL(page.url()).origin}/runs`);
      await page.locator('a[data-row]').first().click();
      await page.waitForTimeout(300);
    },
  },
  {
    name: 'run-entry', path: '/runs/run_release0001',
    act: async (page) => {
      await page.locator('section[aria-label=Entries] button', { hasText: 'Call proposed' }).nth(1).click();
      await settle(page);
    },
  },
  {
    name: 'run-replay', path: '/runs/run_release0001',
    act: async (page) => {
      await page.getByRole('button', { name: 'Replay', exact: true }).click();
      await settle(page);
    },
  },
  {
    name: 'run-cancel', path: '/runs/run_rename0001',
    act: async (page) => {
      await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    },
  },
  { name: 'run-missing', path: '/runs/run_nowhere' },
  { name: 'agents', path: '/agents', act: settle },
  { name: 'agents-none', path: '/agents', flags: ['--empty'] },
  { name: 'agent', path: builder },
  {
    name: 'agent-prompt', path: `${builder}?tab=prompt`,
    act: async (page) => {
      await page.locator('summary').nth(1).click();
      await settle(page);
    },
  },
  { name: 'agent-slash', path: '/agents/team%2Freviewer?tab=diagnostics', act: settle },
  { name: 'agent-history', path: `${builder}?tab=history&commit=4f1c2aa9d3b7e6015c8842f00d1e77ab90cc3412`, act: settle },
  {
    name: 'agent-revert', path: `${builder}?tab=history&commit=4f1c2aa9d3b7e6015c8842f00d1e77ab90cc3412`,
    act: async (page) => {
      await settle(page);
      await page.getByRole('button', { name: 'Revert', exact: true }).click();
    },
  },
  { name: 'agent-no-git', path: '/agents/visitor?tab=history', act: settle },
  { name: 'agent-personas', path: `${builder}?tab=personas` },
  { name: 'agent-tools', path: `${builder}?tab=tools` },
  { name: 'agent-tasks', path: `${builder}?tab=tasks` },
  { name: 'policies', path: '/access' },
  { name: 'policy', path: '/access/policies/family', act: settle },
  {
    name: 'what-if', path: '/access/what-if',
    act: async (page) => {
      await page.getByLabel('Channel', { exact: true }).first().fill('telegram');
      await page.getByLabel('Sender', { exact: false }).first().fill('5511');
      await page.getByRole('button', { name: 'Decide' }).click();
      await settle(page);
    },
  },
  {
    name: 'what-if-denied', path: '/access/what-if',
    act: async (page) => {
      await page.getByLabel('Sender', { exact: false }).first().fill('666');
      await page.getByRole('button', { name: 'Decide' }).click();
      await settle(page);
    },
  },
  { name: 'audit', path: '/access/audit', act: settle },
  { name: 'audit-record', path: '/access/audit', act: async (page) => { await settle(page); await page.locator('a[data-row]').nth(1).click(); await settle(page); } },
  { name: 'traces', path: '/access/traces', act: settle },
  { name: 'trace', path: '/access/traces', act: async (page) => { await settle(page); await page.locator('a[data-row]').nth(3).click(); await settle(page); } },
  { name: 'traces-none', path: '/access/traces', flags: ['--empty'], act: settle },
  { name: 'people', path: '/access/people' },
  { name: 'people-none', path: '/access/people', flags: ['--empty'] },
  { name: 'health', path: '/health', act: settle },
  { name: 'health-end', path: '/health', flags: ['--unsandboxed'], act: async (page) => { await settle(page); await page.locator('.frame > .body').evaluate((body) => (body.scrollTop = 99_999)); } },
  { name: 'health-well', path: '/health?hours=168', flags: ['--well'], act: async (page) => { await settle(page); await page.locator('.frame > .body').evaluate((body) => (body.scrollTop = 520)); } },
  { name: 'health-soft', path: '/health', flags: ['--soft'], act: settle },
  { name: 'health-table', path: '/health?hours=2', act: async (page) => { await settle(page); await page.getByRole('button', { name: 'Table' }).click(); } },
];
