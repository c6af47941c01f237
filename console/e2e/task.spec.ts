// A task is begun with what it is given, and its steps are done one after the other.
import { expect, test } from './test';

const FILES = {
  '.agentry/tasks/release/TASK.md': '---\nname: Release\nagent: helper\ndescription: Makes a release.\nnext: tell.md\ninputs:\n  - { name: version, description: Which one. }\n  - { name: channel, description: Where to., default: stable }\n---\nRelease {{input.version}} to {{input.channel}}.\n',
  '.agentry/tasks/release/tell.md': '---\nname: Tell\n---\nTell people about {{input.version}}.\n',
};

test('a task is run with its inputs', async ({ page, serve, enter }) => {
  const server = await serve({ script: [{ text: 'It is released.' }, { text: 'Everybody knows.' }], files: FILES });
  await enter(server, page, '/sessions/new');
  await page.getByRole('tab', { name: 'Task' }).click();
  await expect(page.getByText('Makes a release.')).toBeVisible();
  const run = page.getByRole('button', { name: 'Run the task' });
  await expect(run).toBeDisabled();
  await page.getByLabel(/^version/).fill('1.2');
  await run.click();
  await expect(page.getByText('It is released.')).toBeVisible();
  await expect(page.getByText('Everybody knows.')).toBeVisible();
  await expect(page.getByText('Release 1.2 to stable.').first()).toBeVisible();
  const { runs } = await server.api<{ runs: { id: string; task: string }[] }>('/api/runs');
  expect(runs[0]!.task).toBe('release');
  await page.goto(`${server.url}/runs/${runs[0]!.id}`);
  await expect(page.getByText('task release')).toBeVisible();
});

test('a message is written where no task is', async ({ page, serve, enter }) => {
  const server = await serve({ script: [{ text: 'Hello.' }] });
  await enter(server, page, '/sessions/new');
  await expect(page.getByLabel('First message')).toBeVisible();
  await expect(page.getByRole('tab')).toHaveCount(0);
});
