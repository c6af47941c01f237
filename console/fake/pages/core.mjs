// Sessions, entries, approvals, requests, grants, models, and who we are.
import { answered, stop, turn } from '../play.mjs';
import { append, approvals, branch, entries, id, lastSeq, ofSession, queues, run, session, sessions } from '../world.mjs';
import { fail, wait } from '../wire.mjs';

const STARTED = Date.now() - 3 * 3600_000;
export const me = {
  principal: { kind: 'owner', name: 'Ada', entityId: null }, scopes: ['read', 'submit', 'approve', 'admin', 'audit'], insecure: false,
  server: { version: '0.1.0', project: '/srv/ada/shop', startedAt: STARTED, sandbox: 'ns' },
};
const messages = new Map();
const models = [
  { name: 'anthropic/claude-sonnet-4-5', provider: 'anthropic', allowed: true, default: true, why: null },
  { name: 'openai/gpt-5-mini', provider: 'openai', allowed: true, default: false, why: null },
  { name: 'openai/gpt-5-pro', provider: 'openai', allowed: false, default: false, why: "not one of the agent's allowed models" },
  { name: 'local/smollm2-135m', provider: 'local', allowed: true, default: false, why: null },
];
const grants = [
  { id: 'grt_01', principal: 'person:mom', resources: ['calendar_read', 'exec:git log *'], createdAt: Date.now() - 5 * 3600_000, expiresAt: Date.now() + 19 * 3600_000, revokedAt: null, grantedBy: 'owner', reason: 'for the party' },
  { id: 'grt_02', principal: 'relationship:family', resources: ['data:minimal'], createdAt: Date.now() - 40 * 86400_000, expiresAt: null, revokedAt: null, grantedBy: 'owner', reason: null },
  { id: 'grt_03', principal: 'person:bob', resources: ['tool:web_fetch'], createdAt: Date.now() - 9 * 86400_000, expiresAt: Date.now() - 8 * 86400_000, revokedAt: null, grantedBy: 'owner', reason: 'one evening' },
  { id: 'grt_04', principal: 'person:eve', resources: ['read_file'], createdAt: Date.now() - 3 * 86400_000, expiresAt: null, revokedAt: Date.now() - 2 * 86400_000, grantedBy: 'owner', reason: null },
];

const isActive = (grant) => !grant.revokedAt && (!grant.expiresAt || grant.expiresAt > Date.now());
const given = (grant) => ({ channel: null, session: null, request: null, active: isActive(grant), ...grant });

function known(sessionId) {
  return session(sessionId) ?? fail(404, 'not_found', `there is no session ${sessionId}`, 'list them with GET /api/sessions');
}

/** The turns that a forked session goes on from. */
function before(sessionId) {
  const head = ofSession(sessionId).find((entry) => entry.event.type === 'session_opened')?.event.head;
  const from = head && entries.find((entry) => entry.turnId === head);
  if (!from) return [];
  const rows = branch(ofSession(from.sessionId));
  return rows.slice(0, rows.findIndex((row) => row.turnId === head) + 1);
}

function accept(sessionId, text, options) {
  const eventId = `http:${id('evt')}`;
  const agent = options.agent ?? session(sessionId)?.agent ?? 'builder';
  messages.set(eventId, { eventId, status: 'running', sessionId, runId: null, why: null, answer: null });
  const last = sessionId ? session(sessionId)?.run : null;
  const open = last && ['running', 'paused_for_approval'].includes(last.status) ? last : null;
  if (!sessionId) {
    const fresh = id('ses');
    append({ sessionId: fresh }, { type: 'session_opened', key: options.key ?? `http-${fresh}`, agent });
    messages.get(eventId).sessionId = fresh;
    void turn({ sessionId: fresh, agent, text, model: options.model, mode: options.mode, approval: /approve/i.test(text) });
  } else if (open && open.status === 'running' && options.delivery !== 'interrupt') {
    if (options.delivery === 'followup' || options.delivery === 'collect') {
      queues.set(sessionId, [...(queues.get(sessionId) ?? []), { eventId, text, from: 'Ada', receivedAt: Date.now(), delivery: options.delivery }]);
    } else {
      const turnId = entries.findLast((entry) => entry.runId === open.id && entry.turnId)?.turnId;
      const steer = append({ sessionId, runId: open.id, turnId }, { type: 'steer_received', content: text, event: eventId }, 'world');
      setTimeout(() => append({ sessionId, runId: open.id, turnId }, { type: 'input_taken', input: steer.seq }), 1500);
    }
  } else {
    if (open) stop(open.id);
    void turn({ sessionId, agent, text, model: options.model, mode: options.mode, approval: /approve/i.test(text) });
  }
  return { status: 202, body: { eventId, seq: lastSeq() } };
}

export default [
  ['POST', '/api/login', ({ body }) => (body.code === 'wrong' || !body.code ? fail(401, 'unauthenticated', 'the code is not known, or it was used', 'run `agentry console` for a new link') : { body: me, headers: { 'Set-Cookie': 'agentry=fake; HttpOnly; SameSite=Strict; Path=/' } })],
  ['POST', '/api/logout', () => ({ body: {}, headers: { 'Set-Cookie': 'agentry=; Max-Age=0; Path=/' } })],
  ['GET', '/api/me', () => ({ body: me })],

  ['GET', '/api/entries', ({ query }) => {
    const limit = Number(query.get('limit') ?? 500);
    let list = entries.filter((entry) => (!query.get('session') || entry.sessionId === query.get('session'))
      && (!query.get('run') || entry.runId === query.get('run')) && (!query.get('turn') || entry.turnId === query.get('turn')));
    const after = query.get('after');
    if (after !== null) list = list.filter((entry) => entry.seq > Number(after));
    else if (query.get('before')) list = list.filter((entry) => entry.seq < Number(query.get('before')));
    const page = after !== null ? list.slice(0, limit) : list.slice(-limit);
    return { body: { entries: page, first: page[0]?.seq ?? null, last: page.at(-1)?.seq ?? null, more: list.length > page.length } };
  }],
  ['GET', '/api/entries/:seq', ({ params }) => ({ body: entries.find((entry) => entry.seq === Number(params.seq)) ?? fail(404, 'not_found', `there is no entry ${params.seq}`) })],

  ['GET', '/api/sessions', ({ query }) => {
    const wanted = (query.get('q') ?? '').toLowerCase();
    const found = sessions().filter((one) => `${one.title} ${one.key} ${one.agent}`.toLowerCase().includes(wanted));
    return { body: { sessions: found.slice(0, Number(query.get('limit') ?? 50)), next: null } };
  }],
  ['POST', '/api/sessions', ({ body }) => accept(null, body.text, body)],
  ['GET', '/api/sessions/:id', ({ params }) => {
    const one = known(params.id);
    return { body: { session: one, branch: [...before(params.id), ...branch(ofSession(params.id))], queue: queues.get(params.id) ?? [], context: { usedTokens: 4200 + one.turns * 900, windowTokens: 128_000 } } };
  }],
  ['POST', '/api/sessions/:id/messages', ({ params, body }) => (known(params.id), accept(params.id, body.text, body))],
  ['POST', '/api/sessions/:id/compact', ({ params }) => (known(params.id), { body: { compacted: true, runId: null } })],
  ['GET', '/api/messages/:id', async ({ params }) => {
    await wait(150);
    return { body: messages.get(params.id) ?? fail(404, 'not_found', 'there is no such message') };
  }],
  ['POST', '/api/turns/:id/fork', ({ params }) => {
    const from = entries.find((entry) => entry.turnId === params.id) ?? fail(404, 'not_found', `there is no turn ${params.id}`);
    const sessionId = id('ses');
    const key = `fork-${sessionId}`;
    append({ sessionId }, { type: 'session_opened', key, agent: session(from.sessionId).agent, head: params.id });
    return { status: 201, body: { sessionId, key } };
  }],
  ['POST', '/api/runs/:id/cancel', ({ params }) => {
    const one = run(params.id) ?? fail(404, 'not_found', `there is no run ${params.id}`);
    const turnId = entries.findLast((entry) => entry.runId === params.id && entry.turnId)?.turnId;
    append({ sessionId: one.sessionId, runId: params.id }, { type: 'cancel_received' }, 'world');
    if (one.status === 'paused_for_approval') {
      append({ sessionId: one.sessionId, runId: params.id, turnId }, { type: 'turn_ended', ending: 'cancelled', usage: {} });
      append({ sessionId: one.sessionId, runId: params.id }, { type: 'run_ended', ending: 'cancelled' });
    } else stop(params.id);
    return { status: 202, body: { seq: lastSeq() } };
  }],
  ['POST', '/api/runs/:id/mode', ({ params, body }) => {
    const one = run(params.id) ?? fail(404, 'not_found', `there is no run ${params.id}`);
    append({ sessionId: one.sessionId, runId: params.id }, { type: 'mode_received', mode: body.mode }, 'world');
    return { status: 202, body: { seq: lastSeq() } };
  }],

  ['GET', '/api/approvals', ({ query }) => ({ body: { approvals: approvals().filter((one) => one.kind === 'call' && (query.get('status') !== 'waiting' || one.status === 'waiting')).map((one) => ({ ...one, diff: null })) } })],
  ['GET', '/api/approvals/:id', ({ params }) => ({ body: approvals().find((one) => one.id === params.id) ?? fail(404, 'not_found', `there is no approval ${params.id}`, 'list them with GET /api/approvals') })],
  ['POST', '/api/approvals/:id/answer', ({ params, body }) => {
    const one = approvals().find((approval) => approval.id === params.id) ?? fail(404, 'not_found', `there is no approval ${params.id}`);
    if (one.status !== 'waiting') fail(409, 'conflict', 'it was answered already', 'load the page again');
    if (body.digest !== one.digest) fail(409, 'conflict', 'this is not what was asked', 'load the approval again and read it');
    append({ sessionId: one.sessionId, runId: one.runId, turnId: one.turnId }, { type: 'approval_answered', approval: one.id, answer: { allow: body.allow, reach: body.reach, ...(body.reason ? { reason: body.reason } : {}) } }, 'world');
    void answered(one, body.allow, body.reason);
    return { body: { approval: approvals().find((approval) => approval.id === params.id), next: null } };
  }],
  ['GET', '/api/requests', ({ query }) => ({ body: { requests: approvals().filter((one) => one.kind === 'request' && (query.get('status') !== 'waiting' || one.status === 'waiting')) } })],
  ['GET', '/api/grants', ({ query }) => ({ body: { grants: grants.filter((one) => query.get('all') === 'true' || isActive(one)).map(given) } })],
  ['POST', '/api/grants/:id/revoke', ({ params }) => {
    const one = grants.find((grant) => grant.id === params.id) ?? fail(404, 'not_found', `there is no grant ${params.id}`);
    one.revokedAt = Date.now();
    return { body: given(one) };
  }],

  ['GET', '/api/models', () => ({ body: { models } })],
];
