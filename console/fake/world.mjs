// The fake ledger: recorded and written entries, new ones, and what is derived from them.
import { readFileSync } from 'node:fs';
import { written } from './written.mjs';

const BEGUN = Date.now();
const listeners = new Set();
export const entries = [];
export const queues = new Map();
let ids = 1;

for (const line of readFileSync(new URL('./fixtures/recorded.jsonl', import.meta.url), 'utf8').trim().split('\n')) {
  const entry = JSON.parse(line);
  entries.push({ ...entry, time: BEGUN + entry.time });
}
let steered = 0;
for (const entry of written(BEGUN)) {
  const seq = lastSeq() + 1;
  if (entry.event.type === 'steer_received') steered = seq;
  if (entry.event.type === 'input_taken') entry.event.input = steered;
  entries.push({ seq, ...entry });
}

export function lastSeq() {
  return entries.at(-1)?.seq ?? 0;
}

export function id(kind) {
  return `${kind}_fake${String(ids++).padStart(8, '0')}`;
}

export function append(about, event, stream = 'turns') {
  const entry = { seq: lastSeq() + 1, time: Date.now(), stream, ...about, event };
  entries.push(entry);
  for (const listener of listeners) listener('entry', entry);
  return entry;
}

export function tell(delta) {
  for (const listener of listeners) listener('delta', delta);
}

export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function ofSession(session) {
  return entries.filter((entry) => entry.sessionId === session);
}

function usage(list) {
  const sum = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 };
  for (const { event } of list) {
    if (event.type !== 'model_replied') continue;
    sum.inputTokens += event.reply.usage.input_tokens;
    sum.outputTokens += event.reply.usage.output_tokens;
    sum.cachedTokens += event.reply.usage.cached_tokens ?? 0;
    if (event.reply.cost_nano_usd === undefined) sum.costUsd = null;
    else if (sum.costUsd !== null) sum.costUsd += event.reply.cost_nano_usd / 1e9;
  }
  return sum;
}

const STATUS = { done: 'completed', cancelled: 'canceled' };

export function run(runId) {
  const list = entries.filter((entry) => entry.runId === runId);
  const created = list.find((entry) => entry.event.type === 'run_created');
  if (!created) return null;
  const ended = list.findLast((entry) => entry.event.type === 'run_ended');
  const last = list.findLast((entry) => ['run_paused', 'run_resumed', 'turn_started'].includes(entry.event.type));
  const { event } = created;
  return {
    id: runId, sessionId: created.sessionId, agent: event.agent, task: event.task ?? null, model: event.model, mode: event.mode,
    status: ended ? (STATUS[ended.event.ending] ?? 'failed') : last?.event.type === 'run_paused' ? 'paused_for_approval' : 'running',
    ending: ended?.event.ending ?? null, createdAt: created.time, endedAt: ended?.time ?? null, prompt: event.prompt, usage: usage(list),
  };
}

export function runs() {
  const all = entries.filter((entry) => entry.event.type === 'run_created').map((entry) => run(entry.runId));
  return all.sort((one, other) => other.createdAt - one.createdAt);
}

export function session(sessionId) {
  const list = ofSession(sessionId);
  const opened = list.find((entry) => entry.event.type === 'session_opened');
  if (!opened) return null;
  const prompts = list.filter((entry) => entry.event.type === 'run_created');
  const last = prompts.length > 0 ? run(prompts.at(-1).runId) : null;
  const waiting = approvals().filter((approval) => approval.sessionId === sessionId && approval.status === 'waiting').length;
  const open = last && (last.status === 'running' || last.status === 'paused_for_approval');
  return {
    id: sessionId, key: opened.event.key, agent: opened.event.agent, title: prompts.at(-1)?.event.prompt ?? '',
    state: waiting > 0 ? 'waiting' : open ? 'running' : last?.status === 'failed' ? 'failed' : 'idle',
    turns: list.filter((entry) => entry.event.type === 'turn_started').length, createdAt: opened.time, updatedAt: list.at(-1).time, lastSeq: list.at(-1).seq,
    run: last ? { id: last.id, status: last.status, model: last.model, mode: last.mode } : null, approvals: waiting,
    waiting: queues.get(sessionId)?.length ?? 0, usage: usage(list),
  };
}

export function sessions() {
  const opened = entries.filter((entry) => entry.event.type === 'session_opened').map((entry) => session(entry.sessionId));
  return opened.sort((one, other) => other.updatedAt - one.updatedAt);
}

export function branch(list) {
  return list.filter((entry) => entry.event.type === 'turn_started').map((started) => {
    const mine = list.filter((entry) => entry.turnId === started.turnId);
    const ended = mine.find((entry) => entry.event.type === 'turn_ended');
    return {
      turnId: started.turnId, runId: started.runId, parentId: started.event.parent ?? null, prompt: started.event.prompt, startedAt: started.time,
      endedAt: ended?.time ?? null, startedSeq: started.seq, endedSeq: ended?.seq ?? null, ending: ended?.event.ending ?? null,
      compaction: Boolean(started.event.compaction), usage: usage(mine),
    };
  });
}

export function approvals() {
  return entries.filter((entry) => entry.event.type === 'approval_asked').map((asked) => {
    const { event } = asked;
    const answered = entries.find((entry) => entry.event.type === 'approval_answered' && entry.event.approval === event.id);
    const over = entries.some((entry) => entry.runId === asked.runId && entry.event.type === 'run_ended' && entry.seq > asked.seq);
    const answer = answered?.event.answer ?? null;
    const findings = event.ruling.findings.map((finding) => ({ source: finding.stage, verdict: finding.verdict, why: finding.why, rule: finding.rule ?? null }));
    return {
      id: event.id, kind: event.kind?.kind === 'permission' ? 'request' : 'call',
      status: answer ? (answer.expired ? 'expired' : answer.allow ? 'allowed' : 'denied') : over ? 'withdrawn' : 'waiting',
      askedSeq: asked.seq, askedAt: asked.time, expiresAt: event.kind?.expires_at ?? null, callId: event.call.id, tool: event.call.tool, input: event.call.input, digest: event.digest, legible: event.call.input?.command ?? JSON.stringify(event.call.input), chars: JSON.stringify(event.call.input).length, bytes: JSON.stringify(event.call.input).length, notes: [],
      reason: findings.find((finding) => finding.verdict === event.ruling.verdict)?.why ?? '', rule: event.rule ?? null, findings,
      risk: event.risk ?? (event.call.tool === 'bash' ? 'high' : 'medium'), sessionId: asked.sessionId, runId: asked.runId, turnId: asked.turnId,
      agent: run(asked.runId)?.agent ?? 'builder',
      requester: event.kind?.requester ? { name: event.kind.requester, kind: 'known', channel: 'telegram', message: 'm_1', reason: event.kind.reason, resources: event.kind.resources } : null,
      answer: answer ? { reach: 'once', ...answer } : null, diff: event.diff ?? null,
    };
  }).sort((one, other) => other.askedAt - one.askedAt);
}
