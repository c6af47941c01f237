// Entries that are written by hand after docs/events.md: a fallback, steering, a hook, colours of a terminal, a request, a long session.
import { readFileSync } from 'node:fs';

const MIN = 60_000;

const findings = (tool, last) => [
  { stage: 'registered', verdict: 'allow', why: `this host has the tool \`${tool}\`` },
  { stage: 'input', verdict: 'allow', why: "the arguments fit the tool's schema" },
  { stage: 'scope', verdict: 'allow', why: `\`${tool}\` is one of the agent's tools` },
  last,
];

export function* written(now) {
  yield* long(now - 30 * 60 * MIN);
  yield* release(now - 48 * MIN);
  yield* request(now - 9 * MIN);
  yield* rename(now - 4 * MIN);
}

function* run({ session, key, run, turn, agent, prompt, at, model = 'anthropic/claude-sonnet-4-5', open = true, parent }) {
  const about = { stream: 'turns', sessionId: session, runId: run };
  if (open) yield { time: at, ...about, event: { type: 'session_opened', key, agent } };
  yield { time: at, ...about, stream: 'world', event: { type: 'prompt_received', content: prompt } };
  yield { time: at + 1, ...about, event: { type: 'run_created', agent, prompt, model, mode: 'structured', steps: [{ id: 's1', uses: 'prompt', agent }] } };
  yield { time: at + 2, ...about, event: { type: 'step_started', index: 0 } };
  yield { time: at + 20, ...about, turnId: turn, event: { type: 'turn_started', step: 0, prompt, ...(parent ? { parent } : {}) } };
}

function* end({ session, run, turn, at, ending = 'done', result = '' }) {
  const about = { stream: 'turns', sessionId: session, runId: run };
  yield { time: at, ...about, turnId: turn, event: { type: 'turn_ended', ending, result, usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0, estimated: false } } };
  yield { time: at + 1, ...about, event: { type: 'step_ended', index: 0, status: ending === 'done' ? 'succeeded' : 'failed' } };
  yield { time: at + 2, ...about, event: { type: 'run_ended', ending } };
}

function reply(text, calls, [input, output, cached], extra = {}) {
  const usage = { input_tokens: input, output_tokens: output, cached_tokens: cached, estimated: false };
  const cost = Math.round(((input - cached) * 3 + cached * 0.3 + output * 15) * 1000);
  return { text, ...(calls.length ? { calls } : {}), usage, cost_nano_usd: cost, ...extra };
}

/** A session with many turns, to page back through. */
function* long(at) {
  const session = 'ses_long00000000000000000001';
  const questions = ['What does the cart do?', 'Which files use it?', 'Is there a test for an empty cart?', 'How are prices kept?', 'What happens with a discount?'];
  for (let index = 0; index < 60; index += 1) {
    const ids = { session, run: `run_long${String(index).padStart(4, '0')}`, turn: `trn_long${String(index).padStart(4, '0')}` };
    const start = at + index * 8 * MIN;
    const prompt = `${questions[index % questions.length]} (${index + 1})`;
    const answer = `Answer ${index + 1}. Prices are whole cents, so nothing is lost when they are added:\n\n\`\`\`rust\nlet total: u64 = items.iter().map(|item| item.cents).sum();\n\`\`\``;
    const about = { stream: 'turns', sessionId: session, runId: ids.run, turnId: ids.turn };
    yield* run({ ...ids, key: 'questions', agent: 'builder', prompt, at: start, open: index === 0 });
    yield { time: start + 30, ...about, event: { type: 'model_asked', step: 1, bytes: 4000 } };
    yield { time: start + 3400, ...about, event: { type: 'model_replied', step: 1, reply: reply(answer, [], [2100 + index * 40, 90, 1800]) } };
    yield* end({ ...ids, at: start + 3410, result: answer });
  }
}

/** A turn in which much happens. */
function* release(at) {
  const ids = { session: 'ses_release000000000000001', run: 'run_release0001', turn: 'trn_release0001' };
  const about = { stream: 'turns', sessionId: ids.session, runId: ids.run, turnId: ids.turn };
  const grep = { id: 'call_r1', tool: 'grep', input: { pattern: 'total\\(', path: 'src' } };
  const test = { id: 'call_r2', tool: 'bash', input: { command: 'cargo test --workspace 2>&1 | tail -n 12' } };
  const fetch = { id: 'call_r3', tool: 'web_fetch', input: { url: 'https://doc.rust-lang.org/std/primitive.u64.html' } };
  yield* run({ ...ids, key: 'release', agent: 'builder', prompt: 'Is the cart ready for a release?\n\nPlease look at the tests and say what is missing.', at });
  yield { time: at + 21, ...about, event: { type: 'hook', change: 'started', number: 1, moment: 'before_model', program: 'hooks/before_inference' } };
  yield { time: at + 90, ...about, event: { type: 'hook', change: 'finished', number: 1, moment: 'before_model', program: 'hooks/before_inference', report: { result: { kind: 'shaped', shape: { text: 'Today is a release day.' } } } } };
  yield { time: at + 100, ...about, event: { type: 'model_asked', step: 1, bytes: 4400 } };
  yield { time: at + 2100, ...about, event: { type: 'model_retried', step: 1, attempt: 1, wait_ms: 2000, failure: { kind: 'overloaded', message: 'the provider is busy' } } };
  yield { time: at + 6300, ...about, event: { type: 'model_replaced', step: 1, from: 'anthropic/claude-sonnet-4-5', to: 'openai/gpt-5-mini', failure: { kind: 'timeout', message: 'no answer within 30 s' } } };
  yield { time: at + 9800, ...about, event: { type: 'model_replied', step: 1, reply: reply('I look for callers, run the tests, and read what the standard library says about overflow.', [grep, test, fetch], [5200, 210, 3000], {
    model: 'openai/gpt-5-mini', thinking: 'A release needs: callers known, tests green, no overflow in `total`.\n\nI begin with the three things that can be looked at side by side.',
  }) } };
  yield { time: at + 9801, ...about, event: { type: 'call_proposed', call: grep, ruling: { verdict: 'allow', findings: findings('grep', { stage: 'rules', verdict: 'allow', why: 'a rule allows it', rule: '.agentry/agents/builder/AGENT.md:9' }) } } };
  yield { time: at + 9802, ...about, event: { type: 'call_proposed', call: test, ruling: { verdict: 'allow', findings: findings('bash', { stage: 'rules', verdict: 'allow', why: 'a rule allows it', rule: '.agentry/agents/builder/AGENT.md:11' }) } } };
  yield { time: at + 9803, ...about, event: { type: 'call_proposed', call: fetch, ruling: { verdict: 'deny', findings: findings('web_fetch', { stage: 'sandbox', verdict: 'deny', why: '`doc.rust-lang.org` is not one of the allowed domains' }) } } };
  yield { time: at + 9804, ...about, event: { type: 'call_refused', call: 'call_r3', why: '`doc.rust-lang.org` is not one of the allowed domains' } };
  yield { time: at + 9805, ...about, event: { type: 'call_started', call: 'call_r1', by: { kind: 'rule', rule: '.agentry/agents/builder/AGENT.md:9' }, under: { level: 'ns' } } };
  yield { time: at + 9860, ...about, event: { type: 'call_finished', call: 'call_r1', outcome: { status: 'done', text: 'src/cart.rs:23:    pub fn total(&self) -> u64 {\nsrc/checkout.rs:41:        let due = cart.total();', measured: { duration_ms: 51 } } } };
  yield { time: at + 9861, ...about, event: { type: 'call_started', call: 'call_r2', by: { kind: 'rule', rule: '.agentry/agents/builder/AGENT.md:11' }, under: { level: 'ns' } } };
  yield { time: at + 15_000, ...about, stream: 'world', event: { type: 'steer_received', content: 'Leave the docs alone for now, only the tests.' } };
  yield { time: at + 24_300, ...about, event: { type: 'call_finished', call: 'call_r2', outcome: { status: 'failed', text: '\u001b[32mrunning 14 tests\u001b[0m\ntest cart::adds ... \u001b[32mok\u001b[0m\ntest cart::counts ... \u001b[32mok\u001b[0m\ntest checkout::rounds ... \u001b[31mFAILED\u001b[0m\n\nfailures:\n    checkout::rounds\n\ntest result: \u001b[31mFAILED\u001b[0m. 13 passed; 1 failed\n[exit code 101, 14.4 s]', measured: { exit_code: 101, duration_ms: 14_400, denied: ['connect registry.example:443: not an allowed domain'] } } } };
  yield { time: at + 24_310, ...about, event: { type: 'input_taken', input: 0 } };
  yield { time: at + 24_320, ...about, event: { type: 'model_asked', step: 2, bytes: 6900 } };
  const text = [
    '## Not yet', '', 'Thirteen tests pass, one fails:', '', '| test | result | why |', '|---|---|---|', '| `cart::counts` | ok | |', '| `checkout::rounds` | **failed** | expects 1999, gets 2000 |', '',
    '1. `checkout::rounds` still expects the old total. The test is wrong, not the code.', '2. There is no test for an **overflow**: `u64::MAX` cents times two wraps in a release build.', '', 'I would write it like this:', '',
    '```rust', '/// What all items cost together, or nothing if it is too much to count.', 'pub fn total(&self) -> Option<u64> {', '    self.items', '        .iter()', '        .try_fold(0u64, |sum, item| {', '            sum.checked_add(item.cents.checked_mul(u64::from(item.count))?)', '        })', '}', '```', '',
    '> The docs are left alone, as you asked.', '', 'More on this: [checked arithmetic](https://doc.rust-lang.org/std/primitive.u64.html), and ![the build](https://ci.example.com/badge.svg).',
  ].join('\n');
  yield { time: at + 33_000, ...about, event: { type: 'model_replied', step: 2, reply: reply(text, [], [6900, 420, 5200], { model: 'openai/gpt-5-mini' }) } };
  yield* end({ ...ids, at: at + 33_010, result: text });
}

/** Somebody else asks for a power; the owner is asked. */
function* request(at) {
  const ids = { session: 'ses_mom00000000000000000001', run: 'run_mom0001', turn: 'trn_mom0001' };
  const about = { stream: 'turns', sessionId: ids.session, runId: ids.run, turnId: ids.turn };
  const call = { id: 'call_m1', tool: 'calendar_read', input: { from: '2026-11-20', to: '2026-11-22' } };
  const ruling = { verdict: 'ask', findings: findings('calendar_read', { stage: 'access', verdict: 'ask', why: 'Mom may not use `calendar_read`; she asks you for it' }) };
  yield* run({ ...ids, key: 'telegram:dm:mom', agent: 'clerk', prompt: 'Is Ada free on the weekend?', at, model: 'openai/gpt-5-mini' });
  yield { time: at + 30, ...about, event: { type: 'model_asked', step: 1, bytes: 1900 } };
  yield { time: at + 2500, ...about, event: { type: 'model_replied', step: 1, reply: reply('I look into the calendar.', [call], [1900, 40, 0]) } };
  yield { time: at + 2501, ...about, event: { type: 'call_proposed', call, ruling } };
  yield { time: at + 2502, ...about, event: { type: 'approval_asked', id: 'apr_mom0001', call, ruling, risk: 'medium', digest: 'blake3:7f01dd98f979e5977a3eca5de36420d207b924dfc8baac4047963d4f0c48ffc0', kind: {
    kind: 'permission', requester: 'Mom', requester_channel: 'telegram', resources: ['calendar_read'], reason: 'Planning the birthday party', original_message: 'Is Ada free on the weekend?', created_at: at + 2502, expires_at: at + 24 * 60 * MIN,
  } } };
  yield { time: at + 2510, stream: 'turns', sessionId: ids.session, runId: ids.run, event: { type: 'run_paused', approvals: ['apr_mom0001'] } };
}

/** A change of a file that waits for an answer, with the difference and the rule that asks. */
function* rename(at) {
  const ids = { session: 'ses_rename00000000000000001', run: 'run_rename0001', turn: 'trn_rename0001' };
  const about = { stream: 'turns', sessionId: ids.session, runId: ids.run, turnId: ids.turn };
  const diff = readFileSync(new URL('./fixtures/rename.diff', import.meta.url), 'utf8');
  const rule = '.agentry/agents/builder/AGENT.md:12';
  const call = { id: 'call_n1', tool: 'edit_file', input: { path: 'src/checkout.rs', old_string: 'cart.total()', new_string: 'cart.total().ok_or(TooMuch)?', replace_all: true } };
  const ruling = { verdict: 'ask', findings: findings('edit_file', { stage: 'rules', verdict: 'ask', why: 'changes of the checkout are asked about', rule }) };
  yield* run({ ...ids, key: 'checkout', agent: 'builder', prompt: 'Let the checkout say when a total is too large to count', at });
  yield { time: at + 30, ...about, event: { type: 'model_asked', step: 1, bytes: 5100 } };
  yield { time: at + 5200, ...about, event: { type: 'model_replied', step: 1, reply: reply('Two places use the total. I let both hand on the error.', [call], [5100, 160, 4000]) } };
  yield { time: at + 5201, ...about, event: { type: 'call_proposed', call, ruling } };
  yield { time: at + 5202, ...about, event: { type: 'approval_asked', id: 'apr_rename0001', call, ruling, risk: 'medium', diff, digest: 'blake3:2bae31f99f322494f8314bae3f150a52fd15e8b6038ab80c82dbcfaf54c1196e',
    rule: { file: '.agentry/agents/builder/AGENT.md', line: 12, text: '- { tool: Edit, allow: false, when: { path: { startsWith: src/checkout } } }' } } };
  yield { time: at + 5210, stream: 'turns', sessionId: ids.session, runId: ids.run, event: { type: 'run_paused', approvals: ['apr_rename0001'] } };
}
