// Policies, people, decisions and traces.
import { readFileSync } from 'node:fs';
import { fail } from '../wire.mjs';

const EMPTY = process.argv.includes('--empty');
const MIN = 60_000;
const now = Date.now();
const ships = JSON.parse(readFileSync(new URL('../fixtures/policies.json', import.meta.url), 'utf8'));
const USES = { 'owner-full-access': [412, 3], family: [38, 9], friends: [12, 300], 'no-eve': [4, 2000] };
const policies = ships.map((one) => ({ description: null, enabled: true, ...one, uses: EMPTY ? 0 : (USES[one.name]?.[0] ?? 0), lastUsedAt: !EMPTY && USES[one.name] ? now - USES[one.name][1] * MIN : null }));
const person = (id, name, relationship, identities) => ({ id, name, isUser: relationship === 'owner', relationship, tags: relationship === 'family' ? ['close'] : [], identities: identities.map((one) => ({ channel: one.split(':')[0], identifier: one.split(':')[1], account: null })) });
const people = EMPTY ? [] : [
  person('mom', 'Mom', 'family', ['telegram:5511', 'email:mom@example.com']), person('casey', 'Casey', 'friend', ['discord:1234']),
  person('eve', 'Eve', null, ['discord:666']), person('ada', 'Ada', 'owner', ['discord:7']),
];

const TOOLS = ['read_file', 'write_file', 'edit_file', 'glob', 'grep', 'bash', 'web_fetch', 'calendar_read'];
const from = (policy) => ({ policy });

function decide({ channel, sender = 'local', peerKind = 'dm', time = Date.now() }, id = 'acc_whatif', eventId) {
  const who = people.find((one) => one.identities.some((own) => own.channel === channel && own.identifier === sender));
  const owner = channel === 'terminal' || channel === 'send' || who?.relationship === 'owner';
  const principal = owner ? { kind: 'owner', name: 'Ada' } : who ? { kind: 'known', entity_id: who.id, name: who.name, ...(who.relationship ? { relationship: who.relationship } : {}) } : { kind: 'unknown' };
  const record = {
    id, timestamp: time, ...(eventId ? { event_id: eventId } : {}), channel, sender_identifier: sender, peer_kind: peerKind, principal, policies_evaluated: policies.map((one) => one.name),
    effect: 'deny', tools: {}, credentials: { named: [] }, data: { level: 'none', from: 'default' }, matched: [], processing_time_ms: 0.23,
  };
  const allow = (policy, names, level, session, more = {}) => Object.assign(record, {
    effect: 'allow', tools: { allow: [{ from: from(policy), names }] }, data: { level, from: from(policy) }, session: { key: session, policy }, matched: [{ policy, part: 'allowed' }],
    resolved: { tools_allowed: TOOLS.filter((tool) => names.includes('*') || names.includes(tool)), tools_denied: TOOLS.filter((tool) => !names.includes('*') && !names.includes(tool)) }, ...more,
  });
  if (owner && peerKind === 'dm') allow('owner-full-access', ['*'], 'full', 'main', { credentials: { all: from('owner-full-access') } });
  else if (owner) {
    const few = ['web_fetch', 'read_file', 'glob'];
    allow('owner-in-groups', few, 'minimal', `group:${channel}:7`, { matched: [{ policy: 'owner-full-access', part: 'allowed' }, { policy: 'owner-in-groups', part: 'allowed' }], tools: { allow: [{ from: from('owner-full-access'), names: ['*'] }], ceilings: [{ from: from('owner-in-groups'), names: few }] } });
  } else if (who?.id === 'eve') Object.assign(record, { deny_reason: { kind: 'policy', policy: 'no-eve' }, matched: [{ policy: 'no-eve', part: 'denied' }] });
  else if (who?.relationship === 'family' && channel === 'telegram') {
    allow('family', ['calendar_read', 'web_fetch'], 'minimal', 'family:mom', { credentials: { named: [{ name: 'calendar', from: from('family') }] }, exec: [{ name: 'git log *', from: { grant: 'grt_01' } }], grants: ['grt_01'] });
    record.tools.deny = [{ from: from('family'), names: ['bash'] }];
    record.tools.granted = [{ from: { grant: 'grt_01' }, names: ['calendar_read'] }];
  } else if (who?.relationship === 'friend') allow('friends', ['web_fetch', 'read_file'], 'none', 'friend:casey');
  else record.deny_reason = { kind: 'nobody_allows' };
  return record;
}

const came = EMPTY ? [] : [
  ['terminal', 'local', 'Let the checkout say when a total is too large to count', 'paused', 4, 'run_rename0001', 'ses_rename00000000000000001', 'builder'],
  ['telegram', '5511', 'Is Ada free on the weekend?', 'paused', 9, 'run_mom0001', 'ses_mom00000000000000000001', 'clerk'],
  ['telegram', '42', 'Let me in', 'denied', 22], ['terminal', 'local', 'Is the cart ready for a release?', 'answered', 48, 'run_release0001', 'ses_release000000000000001', 'builder'],
  ['discord', '1234', 'What does the shop sell?', 'answered', 300, 'run_long0059', 'ses_long00000000000000000001', 'builder'], ['discord', '666', 'hello\u202Eolleh there', 'denied', 2000],
  ['clock', 'timer', 'Every morning at eight', 'unrun', 1200], ['discord', '7', 'Good morning from the group', 'failed', 2600, 'run_long0003', 'ses_long00000000000000000001', 'builder'],
].map(([channel, sender, text, status, minutes, runId = null, sessionId = null, agent = null], index) => ({ eventId: `${channel}:01a1e7c7-${String(index).padStart(4, '0')}`, seq: 0, time: now - minutes * MIN, channel, sender, text, status, sessionId, runId, why: null, agent })).sort((one, other) => other.time - one.time).map((one, index) => ({ ...one, seq: 900 - 2 * index }));
const records = came.map((one, index) => ({ seq: one.seq + 1, ...decide({ channel: one.channel, sender: one.sender, time: one.time + 30, peerKind: one.sender === '7' ? 'group' : 'dm' }, `acc_01m7kwff${index}hepjr9mn9n5hpz5y`, one.eventId) }));

function trace(id) {
  const one = came.find((other) => other.eventId === id) ?? fail(404, 'not_found', `there is no event \`${id}\``, '`agentry trace` alone lists the newest ones');
  const record = records.find((other) => other.event_id === id);
  const stage = (name, after, latency, result, data, error) => ({ stage: name, timestamp: one.time + after, latency_ms: latency, result, data, ...(error ? { error } : {}) });
  const pipeline = [
    stage('adapter', 0, 3, `received on ${one.channel} as entry ${one.seq}`, { channel: one.channel, sender_id: one.sender, peer_kind: 'dm', direction: 'received', seq: one.seq }),
    stage('acl', 31, 0.023, record.effect === 'allow' ? `${record.principal.kind} ${record.principal.name}: allowed by ${record.matched.map((part) => part.policy).join(', ')}` : `${record.principal.kind} ${one.sender}: denied, no policy allows it`, { access_id: record.id, principal: record.principal, policies_evaluated: 5, matched: record.matched, grants: [] }),
  ];
  if (one.status === 'unrun') pipeline.push(stage('broker', 33, 0, 'no turn: \u001b[1m\u001b[31merror\u001b[0m: no event hook takes it up', { why: 'no_hook' }));
  if (one.runId) {
    pipeline.push(stage('broker', 40, 9, `${one.agent} in \`${record.session?.key}\` after 9 ms`, { session_key: record.session?.key, session_id: one.sessionId, agent_id: one.agent, persona: null, queue_mode: 'steer', waited_ms: 9 }));
    const bad = one.status === 'failed';
    const over = { answered: 'turn ended: done, 3 calls', failed: 'turn ended: model_failed, 0 calls', paused: 'waits for a person' }[one.status];
    pipeline.push(stage('agent', 33_040, 33_000, over, { run_id: one.runId, turn_id: 'trn_release0001', tool_calls: 3, uncertain: [], tokens_in: 12_100, tokens_out: 630 }, bad ? 'model_failed' : undefined));
    if (one.status === 'answered') {
      pipeline.push(stage('delivery', 33_060, 20, '1 of 1 pieces sent', { chunks_sent: 1, chunks: 1, message_ids: ['m_1'], total_chars: 812 }));
      pipeline.push(stage('ledger', 33_060, 0, `recorded as ${one.channel}:sent:${id}`, { event_id: `${one.channel}:sent:${id}` }));
    }
  }
  return { event_id: id, status: one.status, pipeline };
}

export default [
  ['GET', '/api/policies', () => ({ body: { policies, people } })],
  ['POST', '/api/access/what-if', ({ body }) => {
    if (!body.channel) fail(422, 'invalid', 'the channel is missing', 'say where the message comes in, such as `discord`');
    const record = decide(body);
    return { body: { record, route: record.effect === 'allow' ? `goes to the agent \`builder\` in the session \`${record.session.key}\`` : 'goes nowhere', parts: [], tools: [] } };
  }],
  ['GET', '/api/audit', ({ query }) => {
    const wanted = (name) => query.get(name);
    const found = records.filter((one) => (!wanted('effect') || one.effect === wanted('effect')) && (!wanted('channel') || one.channel === wanted('channel'))
      && (!wanted('since') || one.timestamp >= Number(wanted('since'))) && (!wanted('until') || one.timestamp <= Number(wanted('until')))
      && (!wanted('policy') || one.matched.some((part) => part.policy === wanted('policy'))) && (!wanted('principal') || [one.principal.entity_id, one.principal.name, one.principal.kind].includes(wanted('principal'))));
    return { body: { records: found.map((one) => ({ id: one.id, seq: one.seq, time: one.timestamp, eventId: one.event_id, channel: one.channel, kind: one.principal.kind, principal: one.principal.entity_id ?? null, name: one.principal.name ?? null, effect: one.effect })) } };
  }],
  ['GET', '/api/audit/:id', ({ params }) => {
    const record = records.find((one) => one.id === params.id) ?? fail(404, 'not_found', `there is no decision ${params.id}`, 'list them with GET /api/audit');
    return { body: { record, policies: policies.filter((one) => record.matched.some((part) => part.policy === one.name)).map(({ name, file, line, effect, text }) => ({ name, file, line, effect, text })) } };
  }],
  ['GET', '/api/inbounds', ({ query }) => ({ body: { inbounds: came.slice(0, Number(query.get('limit') ?? 100)).map(({ agent, ...one }) => one) } })],
  ['GET', '/api/traces/:id', ({ params }) => ({ body: trace(params.id) })],
];
