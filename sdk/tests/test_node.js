'use strict';

// Tests of sdk/node/agentry_agent.js: each program runs in a Node of its own.

const assert = require('node:assert');
const { spawn, spawnSync, execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');

const LIBRARY = path.join(__dirname, '..', 'node', 'agentry_agent.js');

function makeRoom(t) {
  const room = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'agentry-')));
  t.after(() => fs.rmSync(room, { recursive: true }));
  return room;
}

// Runs a program with files, or without if `what` is null. `out` is undefined if there is no output.
function run(t, program, input, { what = 'AGENTRY_HOOK', room = makeRoom(t), ...env } = {}) {
  const file = (name) => path.join(room, name);
  fs.writeFileSync(file('program.js'), `const a = require(${JSON.stringify(LIBRARY)});\n${program}\n`);
  const files = what ? { [`${what}_INPUT`]: file('in.json'), [`${what}_OUTPUT`]: file('out.json') } : {};
  const text = JSON.stringify(input);
  fs.writeFileSync(file('in.json'), text);
  const done = spawnSync(process.execPath, [file('program.js')], {
    input: text, encoding: 'utf8', timeout: 30000, env: { PATH: process.env.PATH, LC_ALL: 'C', ...files, ...env },
  });
  const out = fs.existsSync(file('out.json')) ? JSON.parse(fs.readFileSync(file('out.json'), 'utf8')) : undefined;
  return { code: done.status, err: done.stderr, stdout: done.stdout, out, room };
}

// The same, with a runtime that answers one request. It is a process: the test itself waits for the program.
function withRuntime(t, answer, program) {
  const room = makeRoom(t);
  execFileSync('mkfifo', [path.join(room, 'call'), path.join(room, 'answer')]);
  const script = 'IFS= read -r line <call; printf "%s\\n" "$line" >asked; printf "%s\\n" "$1" >answer';
  const runtime = spawn('sh', ['-c', script, 'sh', JSON.stringify(answer)], { cwd: room, stdio: 'ignore' });
  t.after(() => runtime.kill());
  const done = run(t, program, {}, { room, AGENTRY_CALL: path.join(room, 'call'), AGENTRY_ANSWER: path.join(room, 'answer') });
  return { ...done, asked: JSON.parse(fs.readFileSync(path.join(room, 'asked'), 'utf8')) };
}

test('a hook answers', (t) => {
  const { code, out } = run(t,
    'a.hook((input) => ({ system_prompt_append: input.event, state_updates: input.agentState, tool_removals: input.available_tools }));',
    { event: 'before_inference', agent_state: { n: 5 } });
  assert.deepEqual([code, out], [0, { system_prompt_append: 'before_inference', state_updates: { n: 5 }, tool_removals: [] }]);
});

test('a hook without an answer changes nothing', (t) => {
  assert.deepEqual(run(t, 'a.hook(() => {});', {}).out, {});
});

test('a tool answers, later, under the CYBROS_ names', (t) => {
  const { out } = run(t,
    'a.tool(async (input) => { await new Promise((go) => setTimeout(go, 5)); return [input.arguments.sign, input.dig("arguments", "x", 0) ?? null]; });',
    { arguments: { sign: 'größer 世界 😀' } }, { what: 'CYBROS_TOOL' });
  assert.deepEqual(out, ['größer 世界 😀', null]);
});

test('without files, stdin and stdout are used', (t) => {
  const { code, stdout } = run(t, 'a.tool((input) => ({ sign: input.arguments.sign }));', { arguments: { sign: 'ö' } }, { what: null });
  assert.deepEqual([code, stdout], [0, '{"sign":"ö"}\n']);
});

test('an exception ends with 1 and without output', (t) => {
  const { code, err, out } = run(t, 'a.hook((input) => {\n  JSON.parse("x");\n});', {});
  assert.deepEqual([code, out], [1, undefined]);
  assert.match(err, /^program\.js:3: SyntaxError: .*\n$/);
});

test('a rejected promise ends with 1 and without output', (t) => {
  const { code, err, out } = run(t, 'a.hook(async () => { throw new Error("größer"); });', {});
  assert.deepEqual([code, out, err], [1, undefined, 'program.js:2: Error: größer\n']);
});

test('a promise that nobody keeps is a failure', (t) => {
  const { code, out, err } = run(t, 'a.hook(() => new Promise(() => {}));', {});
  assert.deepEqual([code, out, err], [1, undefined, 'the function never came to an end\n']);
});

test('a hook must answer an object', (t) => {
  const { code, err } = run(t, 'a.hook(() => [1]);', {});
  assert.deepEqual([code, err], [1, 'AgentryError: the hook must answer an object or nothing, not [1]\n']);
});

test('an answer of another kind is an error', (t) => {
  const { code, err, out } = run(t, 'a.hook(() => {\n  a.deny("x");\n});', {});
  assert.deepEqual([code, out, err], [1, undefined, 'program.js:3: AgentryError: an answer of another kind of hook: deny\n']);
});

function gate(t, body, event = 'PreToolUse') {
  return run(t, `a.gate((input) => { ${body} });`, { hook_event_name: event, tool_name: 'bash', tool_input: { command: 'rm' } }).out;
}

test('a gate denies though the program catches everything and goes on', (t) => {
  assert.deepEqual(gate(t, 'try { a.deny(`no ${input.toolName}`); } catch {} return {};'), {
    hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'no bash' },
  });
});

test('a gate asks', (t) => {
  assert.deepEqual(gate(t, 'a.ask("why");'), {
    hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'ask', permissionDecisionReason: 'why' },
  });
});

test('a gate allows', (t) => {
  assert.deepEqual(gate(t, 'a.allow();'), { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow' } });
});

test('a gate changes the input', (t) => {
  assert.deepEqual(gate(t, 'a.updateInput({ command: `${input.toolInput.command} -i` });'), {
    hookSpecificOutput: { hookEventName: 'PreToolUse', updatedInput: { command: 'rm -i' } },
  });
});

test('a gate that is not about a call blocks', (t) => {
  assert.deepEqual(gate(t, 'a.deny("not yet");', 'Stop'), { decision: 'block', reason: 'not yet' });
});

test('a gate does not mind', (t) => {
  assert.deepEqual(gate(t, ''), {});
});

test('an event hook fires', (t) => {
  const { out } = run(t, 'a.eventHook((input) => a.fire({ prompt: input.event.content, extracted: input.config, agent: "x" }));',
    { event: { content: 'ö' }, hook: { config: { k: 1 } } });
  assert.deepEqual(out, { fire: true, agent: 'x', context: { prompt: 'ö', extracted: { k: 1 } } });
});

test('an event hook says no', (t) => {
  assert.deepEqual(run(t, 'a.eventHook(() => {});', {}).out, { fire: false });
  assert.deepEqual(run(t, 'a.eventHook(() => a.no({ disableHook: true }));', {}).out, { fire: false, disable_hook: true });
});

test('a classification', (t) => {
  const { out, asked } = withRuntime(t, { ok: true, label: 'größer', confidence: 0.9 },
    'a.eventHook(() => a.fire({ extracted: a.classify("Wie groß?", { labels: ["größer", "kleiner"] }) }));');
  assert.deepEqual(out, { fire: true, context: { extracted: { label: 'größer', confidence: 0.9 } } });
  assert.deepEqual(asked, { call: 'classify', prompt: 'Wie groß?', labels: ['größer', 'kleiner'] });
});

test('the model is asked for JSON', (t) => {
  const { out, asked } = withRuntime(t, { ok: true, text: '{"n": 4}' },
    'a.eventHook(async () => a.fire({ extracted: await a.llm("2+2?", { system: "brief", json: true, maxTokens: 9 }) }));');
  assert.deepEqual(out, { fire: true, context: { extracted: { n: 4 } } });
  assert.deepEqual(asked, { call: 'llm', prompt: '2+2?', system: 'brief', json: true, max_tokens: 9 });
});

test('a search', (t) => {
  const { out, asked } = withRuntime(t, { ok: true, results: [{ eventId: 'e1', score: 0.5 }] },
    'a.eventHook(() => a.fire({ extracted: a.search("rent", { channels: ["mail"], since: new Date(1500), until: 9, limit: 3 }) }));');
  assert.deepEqual(out, { fire: true, context: { extracted: [{ eventId: 'e1', score: 0.5 }] } });
  assert.deepEqual(asked, { call: 'search', query: 'rent', channels: ['mail'], since: 1500, until: 9, limit: 3 });
});

test('a refusal is an error', (t) => {
  const { code, out, err } = withRuntime(t, { ok: false, error: 'spent' }, 'a.eventHook(() => a.llm("x"));');
  assert.deepEqual([code, out, err], [1, undefined, 'program.js:2: AgentryError: spent\n']);
});

test('without pipes it says what to declare', (t) => {
  const { code, out, err } = run(t, 'a.eventHook(() => a.llm("x"));', {});
  assert.deepEqual([code, out], [1, undefined]);
  assert.match(err, /the hook must declare `model: true`/);
});

test('a request has a limit', (t) => {
  const { err } = run(t, 'a.eventHook(() => a.llm("x".repeat(70000)));', {}, { AGENTRY_CALL: '/x', AGENTRY_ANSWER: '/x' });
  assert.match(err, /it must stay below 65536/);
});

test('progress is one line', (t) => {
  const { code, err } = run(t, 'a.hook(() => a.progress("half\\n  wäy"));', {});
  assert.deepEqual([code, err], [0, 'half wäy\n']);
});

test('an artifact is kept', (t) => {
  const room = makeRoom(t);
  const { out } = run(t, 'a.tool(() => a.artifact("ä.bin", Buffer.from([0, 255])));', {}, { what: 'AGENTRY_TOOL', room, AGENTRY_ARTIFACTS: room });
  assert.equal(out, path.join(room, 'ä.bin'));
  assert.deepEqual([...fs.readFileSync(out)], [0, 255]);
});

test('an artifact stays in its place', (t) => {
  const { code, out, err } = run(t, 'a.tool(() => a.artifact("../a", ""));', {}, { what: 'AGENTRY_TOOL', AGENTRY_ARTIFACTS: '/nowhere' });
  assert.deepEqual([code, out], [1, undefined]);
  assert.match(err, /not a plain file name/);
});
