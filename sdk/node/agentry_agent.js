'use strict';

// Hooks, gates, event hooks and tools for Agentry, in one file without dependencies. Node 16 or newer.
// sdk/README.md describes the protocol and the possible answers.
//
//     const agentry = require('./agentry_agent');
//     agentry.tool((input) => ({ fortune: `Great day for ${input.arguments.sign}!` }));
//
// The function may be async. Queries to the runtime block; `await` before them does no harm.

const fs = require('node:fs');
const path = require('node:path');

// The maximum size of a query to the runtime, with its newline, in bytes; a query must be smaller.
const CALL_BYTES_MAX = 64 * 1024;

// The runtime refused a query, or could not be reached.
class AgentryError extends Error {
  constructor(message) {
    super(message);
    this.name = 'AgentryError';
  }
}

// The input of a program: input.x as in the JSON, and the getters below, with defaults for missing fields.
class Input {
  constructor(fields) {
    for (const [key, value] of Object.entries(fields)) {
      if (value === null && key in Input.prototype) continue; // the getter has something better
      Object.defineProperty(this, key, { value, enumerable: true, writable: true });
    }
  }

  // The value at the end of the path, or undefined.
  dig(...keys) {
    return keys.reduce((value, key) => value?.[key], this);
  }

  // The name of the moment; for an event hook, the event itself.
  get event() { return this.hook_event_name; }
  get arguments() { return {}; }
  get args() { return {}; }
  get recent_messages() { return []; }
  get agent_state() { return {}; }
  get available_tools() { return []; }
  get conversation_id() { return Object.hasOwn(this, 'session_id') ? this.session_id : undefined; }
  get session_id() { return Object.hasOwn(this, 'conversation_id') ? this.conversation_id : undefined; }
  get tool_name() { return this.tool_call?.name; }
  get tool_input() { return this.tool_call?.arguments ?? {}; }
  // The config of the event hook.
  get config() { return this.hook?.config ?? {}; }

  // The fields in the spelling of the language.
  get conversationId() { return this.conversation_id; }
  get sessionId() { return this.session_id; }
  get turnId() { return this.turn_id; }
  get recentMessages() { return this.recent_messages; }
  get currentPersona() { return this.current_persona; }
  get agentState() { return this.agent_state; }
  get availableTools() { return this.available_tools; }
  get toolCall() { return this.tool_call; }
  get toolResult() { return this.tool_result; }
  get toolName() { return this.tool_name; }
  get toolInput() { return this.tool_input; }
}

// --- Kinds of programs ------------------------------------------------------------------------------

// Shapes a turn: the function returns an object, or nothing for no change.
function hook(fn) {
  return run('HOOK', fn, [], (answer) => object(answer ?? {}, 'hook'));
}

// Answers a tool call, with any JSON value.
function tool(fn) {
  return run('TOOL', fn, [], (answer) => answer ?? null);
}

// Decides as a gate: see deny, ask, allow and updateInput. Nothing means no objection.
function gate(fn) {
  return run('HOOK', fn, ['deny', 'ask', 'allow', 'update'], (answer, input) =>
    answer instanceof Answer ? gateJson(answer, input) : object(answer ?? {}, 'gate'));
}

// Inspects an event: see fire and no. Nothing and false mean no, true means fire.
function eventHook(fn) {
  return run('HOOK', fn, ['fire'], (answer) => {
    if (answer instanceof Answer) return answer.fields;
    if (answer == null || typeof answer === 'boolean') return { fire: answer === true };
    return object(answer, 'event hook');
  });
}

// --- Answers: each ends the function at once, wherever it is called ----------------------------------

const deny = (why) => settle('deny', { reason: String(why) });
const ask = (why) => settle('ask', { reason: String(why) });
const allow = (why) => settle('allow', { reason: why });
const updateInput = (args) => settle('update', { input: args });

function fire({ prompt, extracted, agent, includeThread, disableHook } = {}) {
  const context = { prompt, extracted, include_thread: includeThread };
  const said = Object.values(context).some((value) => value !== undefined);
  return settle('fire', { fire: true, agent, context: said ? context : undefined, disable_hook: disableHook });
}

function no({ disableHook } = {}) {
  return settle('fire', { fire: false, disable_hook: disableHook });
}

// --- During the run ------------------------------------------------------------------------------------

// Shows progress to the person: one line on stderr.
function progress(text) {
  say(String(text).replace(/\s*[\r\n]+\s*/g, ' '));
}

// Keeps a file with the result, from a Buffer or text. Returns its path.
function artifact(name, data) {
  const directory = process.env.AGENTRY_ARTIFACTS;
  if (!directory) throw new AgentryError('AGENTRY_ARTIFACTS is not set: there is no place for artifacts here');
  if (['', '.', '..'].includes(name) || /[/\0]/.test(name)) {
    throw new AgentryError(`not a plain file name: ${JSON.stringify(name)}`);
  }
  const file = path.join(directory, name);
  fs.writeFileSync(file, data);
  return file;
}

// Queries the model. With json: true, the answer is parsed.
function llm(prompt, { system, json = false, maxTokens } = {}) {
  const { text } = call({ call: 'llm', prompt, system, json, max_tokens: maxTokens });
  if (!json || typeof text !== 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new AgentryError('the model did not answer with JSON');
  }
}

// Classifies a text by these labels. Returns { label, confidence }, confidence from 0.0 to 1.0.
function classify(prompt, { labels }) {
  const { label, confidence } = call({ call: 'classify', prompt, labels });
  return { label, confidence };
}

// Searches earlier events: [{ eventId, score }]. Times are Date or milliseconds since 1970.
function search(query, { channels, since, until, limit } = {}) {
  const ms = (time) => (time instanceof Date ? time.getTime() : time);
  return call({ call: 'search', query, channels, since: ms(since), until: ms(until), limit }).results;
}

// --- Below ----------------------------------------------------------------------------------------------

// An answer that ends the function.
class Answer {
  constructor(kind, fields) {
    this.kind = kind;
    this.fields = fields;
    this.stack = new Error().stack;
  }
}

// The first answer. A catch-all in the program may swallow the exception; a deny remains valid.
let settled;

function settle(kind, fields) {
  settled ??= new Answer(kind, fields);
  throw settled;
}

// Reads the input, runs the function, writes its answer. A failure ends the program with exit code 1.
async function run(what, fn, kinds, finish) {
  let over = false;
  // If a promise is never settled, Node ends with 0 and no output.
  process.on('exit', () => {
    if (!over && !process.exitCode) {
      say('the function never came to an end');
      process.exitCode = 1;
    }
  });
  try {
    const input = read(what);
    let answer;
    try {
      answer = await fn(input);
    } catch (error) {
      if (!(error instanceof Answer)) throw error;
    }
    answer = settled ?? answer;
    if (answer instanceof Answer && !kinds.includes(answer.kind)) {
      const wrong = new AgentryError(`an answer of another kind of hook: ${answer.kind}`);
      wrong.stack = answer.stack;
      throw wrong;
    }
    const text = JSON.stringify(finish(answer, input));
    if (text === undefined) throw new AgentryError('the answer is not JSON');
    write(what, text);
  } catch (error) {
    const message = error instanceof Error ? `${error.name}: ${error.message.split('\n')[0]}` : String(error);
    say(`${where(error)}${message}`);
    // At once: timers and sockets of the program must not keep a failure alive.
    over = true;
    process.exit(1);
  }
  over = true;
}

// The innermost line of the program: in its directory, and not in this file.
function where(error) {
  const home = path.join(path.dirname(require.main?.filename ?? process.cwd()), '/');
  for (const line of String(error?.stack ?? '').split('\n')) {
    const found = /(\/[^()]*):(\d+):\d+\)?$/.exec(line);
    if (found && found[1].startsWith(home) && found[1] !== __filename) {
      return `${path.basename(found[1])}:${found[2]}: `;
    }
  }
  return '';
}

function object(answer, what) {
  if (typeof answer !== 'object' || Array.isArray(answer)) {
    throw new AgentryError(`the ${what} must answer an object or nothing, not ${JSON.stringify(answer)}`);
  }
  return answer;
}

function fileOf(what, way) {
  return process.env[`AGENTRY_${what}_${way}`] || process.env[`CYBROS_${what}_${way}`];
}

function read(what) {
  const fields = JSON.parse(fs.readFileSync(fileOf(what, 'INPUT') || 0, 'utf8'));
  if (fields === null || typeof fields !== 'object' || Array.isArray(fields)) {
    throw new AgentryError('the input is not a JSON object');
  }
  return new Input(fields);
}

function write(what, text) {
  const file = fileOf(what, 'OUTPUT');
  if (file) fs.writeFileSync(file, text);
  else fs.writeFileSync(1, `${text}\n`);
}

// The format of other runtimes: a permission decision about a call, or a block at any other moment.
function gateJson({ kind, fields }, input) {
  const named = input.hook_event_name ?? input.event;
  const event = typeof named === 'string' ? named : 'PreToolUse';
  if (event !== 'PreToolUse' && kind === 'deny') return { decision: 'block', reason: fields.reason };
  if (event !== 'PreToolUse' && kind === 'allow') return {};
  const said = kind === 'update'
    ? { updatedInput: fields.input }
    : { permissionDecision: kind, permissionDecisionReason: fields.reason };
  return { hookSpecificOutput: { hookEventName: event, ...said } };
}

// Writes one line, and reads one line.
function call(request) {
  const { AGENTRY_CALL: out, AGENTRY_ANSWER: back } = process.env;
  if (!out || !back) throw new AgentryError('the runtime cannot be asked: the hook must declare `model: true`');
  const line = Buffer.from(`${JSON.stringify(request)}\n`);
  if (line.length >= CALL_BYTES_MAX) {
    throw new AgentryError(`the request has ${line.length} bytes; it must stay below ${CALL_BYTES_MAX}`);
  }
  // Not flag 'w': that would make a plain file where the pipe is missing.
  const pipe = fs.openSync(out, fs.constants.O_WRONLY);
  try {
    fs.writeFileSync(pipe, line);
  } finally {
    fs.closeSync(pipe);
  }
  const told = readLine(back);
  if (!told) throw new AgentryError('the runtime did not answer');
  const found = JSON.parse(told);
  if (!found.ok) throw new AgentryError(found.error || 'the runtime said no');
  return found;
}

// Up to the newline and no further: the runtime may keep its end open.
function readLine(file) {
  const pipe = fs.openSync(file, fs.constants.O_RDONLY);
  const parts = [];
  try {
    const part = Buffer.alloc(CALL_BYTES_MAX);
    for (;;) {
      const count = fs.readSync(pipe, part, 0, part.length, null);
      parts.push(Buffer.from(part.subarray(0, count)));
      if (count === 0 || part.subarray(0, count).includes(10)) break;
    }
  } finally {
    fs.closeSync(pipe);
  }
  return Buffer.concat(parts).toString('utf8').split('\n')[0];
}

function say(line) {
  fs.writeSync(2, `${line}\n`);
}

module.exports = {
  hook, tool, gate, eventHook,
  deny, ask, allow, updateInput, fire, no,
  progress, artifact, llm, classify, search,
  Input, AgentryError,
};
