// Every page in light and dark: nothing for axe to find, and a picture of it in target/console-shots.
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, test } from './test';

const SHOTS = `${process.env.CARGO_TARGET_DIR ?? '../target'}/console-shots`;

const SCRIPT = [
  { text: 'I look first.', thinking: 'What is there?', tool_calls: [{ name: 'Bash', input: { command: 'ls' } }] },
  { text: '# A plan\n\n1. Read `list.md`\n2. Mend it\n\n| thing | how many |\n|---|---|\n| milk | 2 |\n\n```js\nconst one = 1;\n```\n', tool_calls: [{ name: 'Edit', input: { path: 'list.md', old_string: 'Milk', new_string: 'Oat milk' } }] },
  { text: 'Done.' },
];

/** The pages, and what must be there before one looks. */
const views: { name: string; path: (ids: Ids) => string; ready: (page: Page) => Promise<unknown> }[] = [
  { name: 'sessions', path: () => '/sessions', ready: (page) => expect.soft(page.getByRole('link', { name: /Mend the list/ })).toBeVisible() },
  { name: 'session', path: ({ session }) => `/sessions/${session}`, ready: (page) => expect.soft(page.getByRole('article', { name: /^Approval of/ })).toBeVisible() },
  { name: 'session-new', path: () => '/sessions/new', ready: (page) => expect.soft(page.getByRole('textbox', { name: 'First message' })).toBeVisible() },
  { name: 'approvals', path: () => '/approvals', ready: (page) => expect.soft(page.getByRole('region', { name: 'List of approvals' }).getByRole('link')).toBeVisible() },
  { name: 'approval', path: ({ approval }) => `/approvals/${approval}`, ready: (page) => expect.soft(page.getByRole('button', { name: 'Allow once' })).toBeEnabled() },
  { name: 'requests', path: () => '/approvals?tab=requests', ready: (page) => expect.soft(page.getByText('None pending.')).toBeVisible() },
  { name: 'grants', path: () => '/approvals?tab=grants', ready: (page) => expect.soft(page.getByText('No grants')).toBeVisible() },
  { name: 'runs', path: () => '/runs', ready: (page) => expect.soft(page.getByRole('link', { name: /Mend the list/ })).toBeVisible() },
  { name: 'run', path: ({ run }) => `/runs/${run}`, ready: (page) => expect.soft(page.getByRole('region', { name: 'Entries' }).getByRole('button').nth(5)).toBeVisible() },
  { name: 'run-entry', path: ({ run, seq }) => `/runs/${run}?entry=${seq}`, ready: (page) => expect.soft(page.getByRole('list', { name: 'Causes, in order' })).toBeVisible() },
  { name: 'agents', path: () => '/agents', ready: (page) => expect.soft(page.getByRole('link', { name: /Helper/ })).toBeVisible() },
  { name: 'agent', path: () => '/agents/helper', ready: async (page) => (await expect.soft(page.getByRole('heading', { name: /Helper/ }).first()).toBeVisible(), await expect.soft(page.getByRole('link', { name: /Helper/ }).first()).toBeVisible()) },
  { name: 'policies', path: () => '/access', ready: (page) => expect.soft(page.getByRole('tabpanel', { name: 'Policies' }).getByText('owner').first()).toBeVisible() },
  { name: 'what-if', path: () => '/access/what-if', ready: (page) => expect.soft(page.getByRole('tabpanel', { name: 'What if' }).getByRole('button').first()).toBeVisible() },
  { name: 'audit', path: () => '/access/audit', ready: (page) => expect.soft(page.getByRole('tabpanel', { name: 'Audit' }).getByRole('link').first()).toBeVisible() },
  { name: 'traces', path: () => '/access/traces', ready: (page) => expect.soft(page.getByRole('tabpanel', { name: 'Traces' }).getByRole('link').first()).toBeVisible() },
  { name: 'people', path: () => '/access/people', ready: (page) => expect.soft(page.getByRole('tabpanel', { name: 'People' })).toBeVisible() },
  { name: 'health', path: () => '/health', ready: (page) => expect.soft(page.getByRole('heading', { level: 1, name: 'Health' })).toBeVisible() },
  { name: 'not-found', path: () => '/nowhere', ready: (page) => expect.soft(page.getByText('Page not found')).toBeVisible() },
];

interface Ids {
  session: string;
  run: string;
  approval: string;
  seq: number;
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every page is clean and has its picture: ${colorScheme}`, async ({ page, serve, enter, trouble }) => {
    test.setTimeout(240_000);
    trouble.expect(/^401 for GET \/api\/me$/);
    const server = await serve({ script: SCRIPT, files: { 'list.md': 'Bread\nMilk\n' } });
    const { sessionId: session, runId: run } = await server.begin('Mend the list');
    const entries = await server.until(run, 'approval_asked');
    const { approvals } = await server.api<{ approvals: { id: string }[] }>('/api/approvals?status=waiting');
    const seq = entries.find((entry) => entry.event.type === 'call_started')!.seq;
    const ids = { session, run, approval: approvals[0]!.id, seq };
    await page.emulateMedia({ colorScheme });
    await page.goto(server.url);
    await expect(page.getByRole('heading', { name: 'Sign in to Agentry' })).toBeVisible();
    await look(page, `sign-in-${colorScheme}`);
    await enter(server, page);
    for (const { name, path, ready } of views) {
      await page.goto(server.url + path(ids));
      await ready(page);
      await look(page, `${name}-${colorScheme}`);
    }
  });
}

async function look(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${SHOTS}/${name}.png` });
  const { violations } = await new AxeBuilder({ page }).options({ resultTypes: ['violations'] }).setLegacyMode().analyze();
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' ')}`);
  expect.soft(found, name).toEqual([]);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  expect.soft(wide, `${name} is wider than the window`).toBe(false);
}
