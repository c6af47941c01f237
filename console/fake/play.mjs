// Lets the fake agents act: a turn that streams, and what follows an answer to an approval.
import { append, entries, id, queues, run as runOf, tell } from './world.mjs';

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const stopped = new Set();
let speed = 1;

export function setSpeed(factor) {
  speed = factor;
}

export function stop(runId) {
  stopped.add(runId);
}

const ANSWER = `I looked at it. Here is what I found:

- the cart keeps its items in a \`Vec\`
- each item has a price in cents and a count

\`\`\`rust
impl Cart {
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
\`\`\`

With this a checkout can say early that there is nothing to pay for. I would add a test beside it, so that the next change does not lose it.`;

export async function turn({ sessionId, agent, text, model = 'anthropic/claude-sonnet-4-5', mode = 'structured', approval = false, slow = 1 }) {
  const runId = id('run');
  const turnId = id('trn');
  const run = { sessionId, runId };
  const about = { ...run, turnId };
  const parent = entries.findLast((entry) => entry.sessionId === sessionId && entry.event.type === 'turn_ended')?.turnId;
  append(run, { type: 'prompt_received', content: text }, 'world');
  append(run, { type: 'run_created', agent, prompt: text, model, mode, steps: [{ id: 's1', uses: 'prompt', agent }] });
  append(run, { type: 'step_started', index: 0 });
  append(about, { type: 'turn_started', step: 0, prompt: text, ...(parent ? { parent } : {}) });
  const read = { id: id('call'), tool: 'read_file', input: { path: 'src/cart.rs' } };
  const first = append(about, { type: 'model_asked', step: 1, bytes: 4000 });
  await stream(about, first.seq, 'thinking', 'I read the file before I say anything about it.', slow);
  await stream(about, first.seq, 'text', 'Let me look at the file first.', slow);
  append(about, { type: 'model_replied', step: 1, reply: reply('Let me look at the file first.', [read], 'I read the file before I say anything about it.') });
  const rule = '.agentry/agents/builder/AGENT.md:7';
  append(about, { type: 'call_proposed', call: read, ruling: { verdict: 'allow', findings: [{ stage: 'rules', verdict: 'allow', why: 'a rule allows it', rule }] } });
  append(about, { type: 'call_started', call: read.id, by: { kind: 'rule', rule }, under: { level: 'ns' } });
  await pause(900 * slow * speed);
  append(about, { type: 'call_finished', call: read.id, outcome: { status: 'done', text: '[lines 1-3 of 3]\npub struct Cart {\n    items: Vec<Item>,\n}\n', measured: { duration_ms: 31 } } });
  if (approval) {
    ask(about);
    append(run, { type: 'run_paused', approvals: [] });
    return { runId };
  }
  await say(about, 2, ANSWER, slow);
  finish(about);
  return { runId };
}

async function say(about, step, text, slow) {
  const asked = append(about, { type: 'model_asked', step, bytes: 5200 });
  await stream(about, asked.seq, 'text', text, slow);
  if (!stopped.has(about.runId)) append(about, { type: 'model_replied', step, reply: reply(text, []) });
}

function ask(about) {
  const call = { id: id('call'), tool: 'bash', input: { command: 'cargo fmt --all && git commit -am "format"' } };
  const ruling = { verdict: 'ask', findings: [{ stage: 'rules', verdict: 'ask', why: 'no approval rule matches, so it needs approval' }] };
  append(about, { type: 'call_proposed', call, ruling });
  append(about, { type: 'approval_asked', id: id('apr'), call, ruling, digest: `blake3:${call.id}` });
}

function finish(about) {
  const { sessionId, runId } = about;
  const ending = stopped.has(runId) ? 'cancelled' : 'done';
  append(about, { type: 'turn_ended', ending, usage: {} });
  append({ sessionId, runId }, { type: 'run_ended', ending });
  const next = queues.get(sessionId)?.shift();
  if (next) void turn({ sessionId, agent: runOf(runId).agent, text: next.text });
}

async function stream(about, asked, kind, text, slow) {
  for (const piece of text.match(/\S+\s*/g) ?? []) {
    if (stopped.has(about.runId)) return;
    await pause(35 * slow * speed);
    tell({ ...about, asked, kind, content: piece, callId: null, whole: false });
  }
}

function reply(text, calls, thinking) {
  const usage = { input_tokens: 3100, output_tokens: 140, cached_tokens: 2400, estimated: false };
  return { text, ...(thinking ? { thinking } : {}), ...(calls.length ? { calls } : {}), usage, cost_nano_usd: 4_920_000 };
}

/** What follows an answer: the call is made or not, and once nothing waits the turn goes on to its end. */
export async function answered(approval, allow, reason) {
  const about = { sessionId: approval.sessionId, runId: approval.runId, turnId: approval.turnId };
  const asked = entries.find((entry) => entry.event.type === 'approval_asked' && entry.event.id === approval.id);
  const call = asked.event.call.id;
  await pause(400 * speed);
  append({ sessionId: about.sessionId, runId: about.runId }, { type: 'run_resumed' });
  if (allow) {
    append(about, { type: 'call_started', call, by: { kind: 'approval', approval: approval.id }, under: { level: 'ns' } });
    for (const line of ['[main 4f1c2aa] count every piece\n', ' 2 files changed, 5 insertions(+), 1 deletion(-)\n']) {
      await pause(500 * speed);
      tell({ ...about, asked: asked.seq, kind: 'progress', content: line, callId: call, whole: false });
    }
    append(about, { type: 'call_finished', call, outcome: { status: 'done', text: '[main 4f1c2aa] count every piece\n 2 files changed, 5 insertions(+), 1 deletion(-)', measured: { exit_code: 0, duration_ms: 1020 } } });
  } else append(about, { type: 'call_refused', call, why: reason ? `a person said no: ${reason}` : 'a person said no' });
  const open = entries.some((entry) => entry.runId === about.runId && entry.event.type === 'approval_asked'
    && !entries.some((other) => other.event.type === 'approval_answered' && other.event.approval === entry.event.id));
  if (open) return;
  await say(about, 9, allow ? 'Done, as you allowed.' : 'I leave it at that.', 1);
  finish(about);
}
