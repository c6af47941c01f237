// Agents in full: definitions, prompts, findings, history.
import { readFileSync } from 'node:fs';
import { fail, wait } from '../wire.mjs';

const EMPTY = process.argv.includes('--empty');
const MIN = 60_000;
const read = (name) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8');
const sections = JSON.parse(read('sections.json')).map((one) => ({ ...one, tokens: Math.ceil(one.bytes / 4), leftOut: one.bytes === 0 ? 'there is none' : null }));
const AGENT = '.agentry/agents/builder/AGENT.md';

const warning = {
  code: 'E0442', severity: 'warning', file: AGENT, line: 11, column: 5, message: 'this rule is never reached: the one in line 9 matches all that it matches', help: 'put the narrower rule first, or take it out',
  rendered: `warning[E0442]: this rule is never reached: the one in line 9 matches all that it matches\n --> ${AGENT}:11:5\n   |\n11 |   - { tool: Grep, path: "src/**" }\n   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n   |\n   = help: put the narrower rule first, or take it out\n`,
};
const error = {
  code: 'E0401', severity: 'error', file: '.agentry/agents/team/reviewer/AGENT.md', line: 3, column: 15, message: 'no tool is called `Bsh`', help: 'did you mean `Bash`?; a tool of an agent program needs tools/Bsh.yml',
  rendered: 'error[E0401]: no tool is called `Bsh`\n --> .agentry/agents/team/reviewer/AGENT.md:3:15\n  |\n3 | tools: [Read, Bsh]\n  |               ^^^\n  |\n  = help: did you mean `Bash`?; a tool of an agent program needs tools/Bsh.yml\n',
};
const rows = EMPTY ? [] : [
  { id: 'builder', name: 'Builder', description: 'Makes small changes to the shop and keeps its tests green', file: AGENT, errors: 0, warnings: 1, loads: true, trusted: true, model: 'anthropic/claude-sonnet-4-5' },
  { id: 'clerk', name: 'Clerk', description: 'Keeps notes and answers short questions', file: '.agentry/agents/clerk/AGENT.md', errors: 0, warnings: 0, loads: true, trusted: true, model: null },
  { id: 'team/reviewer', name: 'Reviewer', description: 'Reads changes before they go out', file: '.agentry/agents/team/reviewer/AGENT.md', errors: 1, warnings: 0, loads: false, trusted: true, model: 'openai/gpt-5-mini' },
  { id: 'visitor', name: 'Visitor', description: 'Came with a pack; its hooks have not been looked at', file: 'packs/visitor/agent.yml', errors: 0, warnings: 0, loads: true, trusted: false, model: null },
];
const at = (line, file = AGENT) => ({ file, line });
const field = (group, field, value, origin = null) => ({ group, field, value, origin, saidBy: origin ? null : 'built-in' });
const definition = [
  field('agent', 'directory', '.agentry/agents/builder'), field('agent', 'name', 'Builder', at(2)), field('agent', 'description', rows[0]?.description ?? '', at(3)),
  field('texts', 'instructions', sections[0].text, at(17)), field('texts', 'soul', '276 bytes', at(1, '.agentry/agents/builder/SOUL.md')),
  field('models', 'choice 1', 'anthropic/claude-sonnet-4-5', at(4)), field('models', 'choice 2', 'openai/gpt-5-mini', at(5)), field('models', 'choice 3', 'local/smollm2-135m', at(5)),
  ...['read_file: low', 'write_file: medium', 'edit_file: medium', 'glob: low', 'grep: low', 'bash: high', 'web_fetch: medium'].map((one) => field('tools', one.split(': ')[0], `${one.split(': ')[1]} risk`, at(6))),
  field('approval', 'read_file', 'allowed', at(8)), field('approval', 'grep', 'allowed', at(9)), field('approval', 'bash', 'allowed when command starts with `cargo test`', at(10)),
  field('approval', 'edit_file', 'is denied when path starts with `src/checkout`', at(11)), field('approval', '(anything else)', 'needs approval'),
  field('access', 'mode', 'full'), field('access', 'shell timeout', '15000 ms', at(14, 'agentry.toml')), field('access', 'self_modify', 'false'),
];
const tool = (name, verdict, why) => ({ name, verdict, why });
const detail = {
  definition, sections, promptProblem: null,
  personas: [{ id: 'plain', name: 'Plain', description: 'Says what it did and nothing else', isDefault: true }, { id: 'reviewer', name: 'Reviewer', description: 'Looks for what is wrong first', isDefault: false }],
  tools: [
    tool('read_file', 'allow', `a rule allows it (\`${AGENT}:9\`)`), tool('grep', 'allow', `a rule allows it (\`${AGENT}:10\`)`), tool('glob', 'allow', 'it only looks at names'),
    tool('bash', 'ask', 'only commands that begin with `cargo test` are allowed without a question'), tool('edit_file', 'ask', 'no approval rule matches, so it needs approval'),
    tool('write_file', 'ask', 'no approval rule matches, so it needs approval'), tool('web_fetch', 'deny', 'the confinement has no network'), tool('load_skill', 'allow', 'it only reads skills of the agent'),
  ],
  skills: [{ id: 'careful-edit', description: 'Change code that many callers depend on or few tests cover.' }, { id: 'fix-a-bug', description: 'Find the cause of a failure, and show that it is gone.' }],
  tasks: [{ id: 'release', description: 'Look at everything that a release needs, and write the notes.' }],
};
const now = Date.now();
const commits = [
  ['4f1c2aa9d3b7e6015c8842f00d1e77ab90cc3412', 'Ask before the checkout is changed', 'Ada', 40, 1],
  ['b81d07e2c95540e3a8b1f6d2c7741e09ad52be60', 'Let the builder run the tests without a question', 'Ada', 26 * 60, 1],
  ['09e6c1f4d7aa2b3c5e8f1029384756aabbccddee', 'Say how a bug is fixed', 'Grace', 4 * 24 * 60, 2],
  ['77c3ae10b2d94f5566778899aabbccddeeff0011', 'Add the builder', 'Ada', 12 * 24 * 60, 5],
].map(([id, summary, author, minutes, files]) => ({ id, summary, author, time: now - minutes * MIN, files }));
const DIFF = `--- a/${AGENT}\n+++ b/${AGENT}\n@@ -8,7 +8,8 @@\n tool_approvals:\n   - { tool: Read }\n   - { tool: Grep }\n-  - { tool: Bash, when: { command: { startsWith: cargo } } }\n+  - { tool: Bash, when: { command: { startsWith: cargo test } } }\n+  - { tool: Edit, allow: false, when: { path: { startsWith: src/checkout } } }\n ---\n # How you work\n \n`;

const find = (id) => rows.find((one) => one.id === id) ?? fail(404, 'not_found', `there is no agent ${id}`, 'list them with GET /api/agents');

export default [
  ['GET', '/api/agents', () => ({ body: { agents: rows, diagnostics: EMPTY ? [] : [warning, error] } })],
  ['GET', '/api/agents/:id', ({ params }) => {
    const agent = find(params.id);
    if (agent.id === 'team/reviewer') return { body: { agent, definition: definition.slice(0, 2), sections: [], promptProblem: 'the agent does not load', diagnostics: [error], personas: [], tools: [], skills: [], tasks: [] } };
    const small = { definition: definition.slice(0, 3), sections: sections.slice(0, 1), promptProblem: null, diagnostics: [], personas: [], tools: [], skills: [], tasks: [] };
    return { body: { agent, ...(agent.id === 'builder' ? { ...detail, diagnostics: [warning] } : small) } };
  }],
  ['GET', '/api/agents/:id/history', ({ params }) => {
    find(params.id);
    if (params.id === 'visitor') return { body: { commits: [], dirty: false, why: 'packs/visitor is not in a git repository' } };
    return { body: { commits, dirty: params.id === 'builder', why: null } };
  }],
  ['GET', '/api/agents/:id/history/:commit', ({ params }) => {
    const commit = commits.find((one) => one.id === params.commit) ?? fail(404, 'not_found', `there is no commit ${params.commit}`);
    return { body: { commit, files: [{ path: AGENT, status: 'modified', diff: DIFF, cut: false }] } };
  }],
  ['POST', '/api/agents/:id/history/:commit/revert', async ({ params }) => {
    await wait(300);
    const from = commits.find((one) => one.id === params.commit) ?? fail(404, 'not_found', `there is no commit ${params.commit}`);
    if (from === commits.at(-1)) fail(409, 'conflict', `${AGENT} was changed since in the same lines`, 'take back the later commits first, or edit the file');
    const commit = { id: `${'5a'.repeat(4)}${String(now).padStart(32, '0')}`.slice(0, 40), summary: `Revert "${from.summary}"`, author: 'Ada', time: Date.now(), files: from.files };
    commits.unshift(commit);
    return { body: { commit: commit.id } };
  }],
];
