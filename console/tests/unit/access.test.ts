// Decisions in words, filters of the audit, and stages of a trace.
import { describe, expect, it } from 'vitest';
import { auditQuery, emptyFilters, filtersOf } from '../../src/pages/access/filters';
import { grantLines } from '../../src/pages/access/grants';
import { identity } from '../../src/pages/access/people';
import { giver, ordered, part, reason, speaker, took, toolLists } from '../../src/pages/access/record';
import { inboundLook, plainData, stage } from '../../src/pages/access/trace';

describe('a decision in words', () => {
  it('says who gave a power', () => {
    expect([giver('default'), giver({ policy: 'friends' }), giver({ grant: 'grt_1' })]).toEqual(['default', 'policy friends', 'grant grt_1']);
  });

  it('says who spoke', () => {
    expect(speaker({ principal: { kind: 'owner' }, sender_identifier: 'local' })).toBe('The owner');
    expect(speaker({ principal: { kind: 'known', name: 'Casey', relationship: 'friend' }, sender_identifier: '1' })).toBe('Casey, friend');
    expect(speaker({ principal: { kind: 'unknown' }, sender_identifier: '42' })).toBe('Unknown sender (42)');
  });

  it('says why', () => {
    expect(reason({ effect: 'allow', matched: [{ policy: 'friends', part: 'allowed' }, { policy: 'quiet', part: 'modified' }] })).toBe('by `friends`');
    expect(reason({ effect: 'deny', matched: [], deny_reason: { kind: 'nobody_allows' } })).toBe('no policy allows it');
    expect(reason({ effect: 'deny', matched: [], deny_reason: { kind: 'missing_value', policy: 'p', variable: 'peer_id' } })).toContain('`peer_id`');
  });

  it('puts policies that had a part first, in rank', () => {
    const all = ordered({ matched: [{ policy: 'b', part: 'denied' }, { policy: 'a', part: 'allowed' }], policies_evaluated: ['a', 'b', 'c'] });
    expect(all).toEqual([{ policy: 'b', part: 'denied' }, { policy: 'a', part: 'allowed' }, { policy: 'c', part: null }]);
    expect(part({ not_matched: 'relationship' })).toEqual({ word: 'does not match: relationship', state: 'skipped' });
  });

  it('lists tools with who gave them', () => {
    const lists = toolLists({ tools: { deny: [{ from: { policy: 'p' }, names: ['bash'] }], allow: [{ from: { policy: 'q' }, names: ['*'] }] } });
    expect(lists).toEqual([{ words: 'allowed', from: 'policy q', names: ['*'] }, { words: 'denied', from: 'policy p', names: ['bash'] }]);
  });

  it('knows that almost nothing is not nothing', () => {
    expect([took(0.02), took(0), took(40)]).toEqual(['<1 ms', '0 ms', '40 ms']);
  });
});

describe('the audit', () => {
  it('counts a range back from now and leaves out what is empty', () => {
    const asked = auditQuery({ ...emptyFilters(), range: '24', principal: ' mom ' }, 86_400_000);
    expect(asked).toEqual({ since: 0, until: undefined, effect: undefined, principal: 'mom', channel: undefined, policy: undefined });
  });

  it('takes filters from the address, and no wrong ones', () => {
    expect(filtersOf(new URLSearchParams('principal=mom&effect=maybe'))).toEqual({ ...emptyFilters(), principal: 'mom' });
  });
});

describe('policies, people, traces', () => {
  it('writes what a policy gives in words', () => {
    expect(grantLines({ tools: { allow: ['a', 'b'], deny: [], denyTheRest: true }, credentials: [], data: null, ceiling: false, session: { key: 'main', persona: null } })).toEqual([['tools', 'allow: a, b; nothing else: yes'], ['credentials', 'none'], ['session', 'key: main']]);
    expect(grantLines(null)).toEqual([]);
  });

  it('writes an identity as commands do', () => {
    expect([identity({ channel: 'discord', identifier: '7', account: null }), identity({ channel: 'email', identifier: 'a@b', account: 'work' })]).toEqual(['discord:7', 'email:a@b (work)']);
  });

  it('has words for stages and states that are new to it', () => {
    expect(stage('some_thing').word).toBe('some thing');
    expect(inboundLook('held_back')).toEqual({ state: 'idle', word: 'held back' });
    expect(plainData({ tool_calls: 3, run_id: 'run_1', list: [1], persona: null })).toEqual([['tool calls', '3']]);
  });
});
