// Runs with their timelines, why a call was allowed, and replays.
import { branch, entries, run, runs } from '../world.mjs';
import { fail, wait } from '../wire.mjs';

function known(id) {
  return run(id) ?? fail(404, 'not_found', `there is no run ${id}`, 'list them with GET /api/runs');
}

/** A row begins with one entry and ends with another of the same request, call, approval, hook or check. */
function timeline(list) {
  const rows = [];
  const open = new Map();
  const begin = (key, entry, row) => open.set(key, rows[rows.push({ seq: entry.seq, startedAt: entry.time, endedAt: null, status: 'running', turnId: entry.turnId ?? null, callId: null, inputTokens: null, outputTokens: null, ...row }) - 1]);
  const end = (key, entry, row) => Object.assign(open.get(key) ?? {}, { endedAt: entry.time, ...row });
  const tools = new Map();
  for (const entry of list) {
    const { event } = entry;
    const turn = entry.turnId;
    if (event.type === 'model_asked') begin(`m${turn}${event.step}`, entry, { kind: 'model', label: `request ${event.step}` });
    if (event.type === 'model_replied') {
      const { usage } = event.reply;
      end(`m${turn}${event.step}`, entry, { status: 'done', inputTokens: usage.input_tokens, outputTokens: usage.output_tokens });
    }
    if (event.type === 'model_failed') end(`m${turn}${event.step}`, entry, { status: 'failed' });
    if (event.type === 'call_proposed') tools.set(event.call.id, event.call);
    if (event.type === 'call_started') {
      const call = tools.get(event.call);
      begin(event.call, entry, { kind: 'tool', label: `${call?.tool} ${call?.input?.command ?? call?.input?.path ?? call?.input?.pattern ?? ''}`, callId: event.call });
    }
    if (event.type === 'call_finished') end(event.call, entry, { status: event.outcome.status });
    if (event.type === 'approval_asked') begin(event.id, entry, { kind: 'approval', label: event.call.tool, status: 'waiting', callId: event.call.id });
    if (event.type === 'approval_answered') end(event.approval, entry, { status: event.answer.allow ? 'allowed' : 'denied' });
    if (event.type === 'hook' && event.change === 'started') begin(`h${turn}${event.number}`, entry, { kind: 'hook', label: `${event.moment} ${event.program}` });
    if (event.type === 'hook' && event.change === 'finished') end(`h${turn}${event.number}`, entry, { status: 'done' });
    if (event.type === 'check_started') begin(`c${turn}${event.iteration}`, entry, { kind: 'check', label: event.command });
    if (event.type === 'check_finished') end(`c${turn}${event.iteration}`, entry, { status: event.outcome.status });
    if (event.type === 'run_ended') for (const row of rows) if (row.endedAt === null) Object.assign(row, { endedAt: entry.time, status: 'cancelled' });
  }
  return rows;
}

function detail(id) {
  const one = known(id);
  const list = entries.filter((entry) => entry.runId === id);
  const turns = branch(list);
  const created = list.find((entry) => entry.event.type === 'run_created').event;
  const steps = (created.steps ?? []).map((step, index) => {
    const ended = list.find((entry) => entry.event.type === 'step_ended' && entry.event.index === index);
    const began = list.some((entry) => entry.event.type === 'step_started' && entry.event.index === index);
    return { index, id: step.id, uses: step.uses, agent: step.agent, status: ended?.event.status ?? (began ? 'running' : 'planned'), turnId: turns[index]?.turnId ?? null };
  });
  const rows = timeline(list);
  const calls = list.filter((entry) => entry.event.type === 'call_proposed').map((entry) => {
    const row = rows.find((other) => other.kind === 'tool' && other.callId === entry.event.call.id);
    return { id: entry.event.call.id, tool: entry.event.call.tool, status: row?.status ?? 'proposed', turnId: entry.turnId, proposedSeq: entry.seq, startedSeq: row?.seq ?? null, finishedSeq: row?.endedAt ? row.seq + 1 : null };
  });
  return { run: one, steps, turns, calls, timeline: rows };
}

const SOURCES = { '.agentry/agents/builder/AGENT.md:12': '- { tool: Edit, allow: false, when: { path: { startsWith: src/checkout } } }' };

function why(seq) {
  const entry = entries.find((one) => one.seq === seq) ?? fail(404, 'not_found', `there is no entry ${seq}`, null);
  const callId = entry.event.call?.id ?? (typeof entry.event.call === 'string' ? entry.event.call : null)
    ?? entries.find((one) => one.event.type === 'approval_asked' && one.event.id === entry.event.approval)?.event.call.id;
  const about = entries.filter((one) => one.runId && one.runId === entry.runId);
  const prompt = about.find((one) => one.event.type === 'prompt_received');
  const created = about.find((one) => one.event.type === 'run_created');
  if (!created) return { seq, links: [] };
  const link = (stage, title, detail, more = {}) => ({ seq: null, stage, title, detail, verdict: null, where: null, text: null, ...more });
  const links = [
    link('received', 'Ada said it at the terminal', prompt?.event.content ?? '', { seq: prompt?.seq ?? null }),
    link('access', 'The owner may do everything', 'the policy `owner-full-access` allows it', { verdict: 'allow', where: { file: 'built-in/owner.yml', line: 3 }, text: '- name: owner-full-access' }),
    link('route', `To ${created.event.agent}`, `in the session of the run`, { seq: created.seq }),
    link('agent', `${created.event.agent}, with ${created.event.model}`, 'the mode is structured', { where: { file: `.agentry/agents/${created.event.agent}/AGENT.md`, line: 1 } }),
  ];
  const proposed = about.find((one) => one.event.type === 'call_proposed' && one.event.call.id === callId);
  for (const finding of proposed?.event.ruling.findings ?? []) {
    const [file, line] = finding.rule?.split(/:(\d+)$/) ?? [];
    links.push(link(finding.stage === 'rules' ? 'rule' : 'guard', finding.why, `stage \`${finding.stage}\``, {
      seq: proposed.seq, verdict: finding.verdict, where: file ? { file, line: Number(line) } : null, text: finding.rule ? (SOURCES[finding.rule] ?? '- { tool: Bash, when: { command: { startsWith: cargo test } } }') : null,
    }));
  }
  const asked = about.find((one) => one.event.type === 'approval_asked' && one.event.call.id === callId);
  const answered = asked && about.find((one) => one.event.type === 'approval_answered' && one.event.approval === asked.event.id);
  if (answered) links.push(link('approval', `Ada said ${answered.event.answer.allow ? 'yes' : 'no'}`, `for ${answered.event.answer.reach}`, { seq: answered.seq, verdict: answered.event.answer.allow ? 'allow' : 'deny' }));
  const started = about.find((one) => one.event.type === 'call_started' && one.event.call === callId);
  if (started) links.push(link('confinement', `Run in the sandbox ${started.event.under?.level}`, 'writes only in the workspace, no network', { seq: started.seq }));
  const finished = about.find((one) => one.event.type === 'call_finished' && one.event.call === callId);
  if (finished) links.push(link('result', `It came out as ${finished.event.outcome.status}`, '', { seq: finished.seq }));
  return { seq, links };
}

export default [
  ['GET', '/api/runs', ({ query }) => {
    const status = query.get('status');
    const found = runs().filter((one) => !status || one.status === status);
    const limit = Number(query.get('limit') ?? 50);
    return { body: { runs: found.slice(0, limit), next: found.length > limit ? String(limit) : null } };
  }],
  ['GET', '/api/runs/:id', ({ params }) => ({ body: detail(params.id) })],
  ['GET', '/api/entries/:seq/why', ({ params }) => ({ body: why(Number(params.seq)) })],
  ['POST', '/api/runs/:id/replay', async ({ params }) => {
    known(params.id);
    await wait(300);
    if (params.id !== 'run_release0001') return { body: { identical: true, moves: entries.filter((entry) => entry.runId === params.id && /asked|proposed|started|refused/.test(entry.event.type)).length, recorded: null, today: null } };
    const proposed = entries.find((entry) => entry.runId === params.id && entry.event.type === 'call_proposed' && entry.event.call.id === 'call_r2');
    const today = { ...proposed.event, ruling: { verdict: 'ask', findings: [{ stage: 'rules', verdict: 'ask', why: 'no approval rule matches, so it needs approval' }] } };
    const recorded = { ...proposed.event, ruling: { verdict: 'allow', findings: [{ stage: 'rules', verdict: 'allow', why: 'a rule allows it', rule: '.agentry/agents/builder/AGENT.md:11' }] } };
    return { body: { identical: false, moves: 4, recorded: JSON.stringify(recorded), today: JSON.stringify(today) } };
  }],
];
