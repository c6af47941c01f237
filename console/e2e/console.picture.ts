// A session with a finished turn and a call that waits for an answer; PICTURE names the file.
import { done, expect, test } from './test';

const AGENT = `---
name: Coder
description: Fixes bugs and shows that the checks pass.
model: scripted
tools: [edit_file, bash]
tool_approvals:
  default: approve
  rules:
    - { tool: bash, allow: true, when: { command: { equals: python3 check.py && cat price.py } } }
---
Read before you edit. Run the check before you say that it works.
`;

const PROGRAM = `def total(items):
    """Return the sum in cents."""
    result = 0
    for price, count in items:
        result += price
    return result
`;

const CHECK = `from price import total

got = total([(250, 2), (100, 1)])
print(f"2 coffees and 1 cookie cost {got / 100:.2f}, not 6.00")
`;

/** What the model says in each session or turn, in order; every run reads the script anew. */
const SCRIPTS = {
  question: [{ text: 'None: all amounts are in cents.' }],
  search: [
    { tool_calls: [{ name: 'bash', input: { command: 'python3 check.py && cat price.py' } }] },
    { text: 'Two coffees cost as much as one: `total` adds each price once and never uses `count`.' },
  ],
  fix: [
    { tool_calls: [{ name: 'edit_file', input: { path: 'price.py', old_string: 'result += price', new_string: 'result += price * count' } }] },
    { text: 'Fixed.' },
  ],
};

const lines = (script: unknown[]) => script.map((line) => `${JSON.stringify(line)}\n`).join('');

// The page has more room than the picture has pixels, so that the turn and the question are in one view.
const ROOM = { width: 1664, height: 1040 };

test.use({ viewport: ROOM, deviceScaleFactor: 1280 / ROOM.width, colorScheme: 'light' });

test('the console with a call that waits', async ({ page, serve, enter }) => {
  const server = await serve({ script: SCRIPTS.question, files: { '.agentry/agents/coder/AGENT.md': AGENT, 'price.py': PROGRAM, 'check.py': CHECK } });
  const begin = async (text: string) => {
    const { eventId } = await server.api<{ eventId: string }>('/api/sessions', { text, agent: 'coder' });
    const begun = await server.api<{ sessionId: string; runId: string }>(`/api/messages/${encodeURIComponent(eventId)}?waitMs=15000`);
    await server.until(begun.runId, 'run_ended');
    return begun.sessionId;
  };
  await begin('Which currencies does price.py know?');
  server.write('../script.jsonl', lines(SCRIPTS.search));
  const session = await begin('Why is the sum wrong for two coffees?');
  server.write('../script.jsonl', lines(SCRIPTS.fix));
  await server.api(`/api/sessions/${session}/messages`, { text: 'Fix the sum in price.py' });
  await enter(server, page, `/sessions/${session}`);
  const card = page.getByRole('article', { name: /^Approval of/ });
  await expect(card.getByRole('button', { name: 'Allow once' })).toBeEnabled();
  await page.screenshot({ path: process.env.PICTURE ?? '../docs/pictures/console.png', animations: 'disabled', caret: 'hide' });
  await card.getByRole('button', { name: 'Allow once' }).click();
  await done(page);
});
