// What somebody who begins to listen late is told of an answer under way.
import { describe, expect, it } from 'vitest';
import type { Delta, LedgerEvent } from '../../src/api/types';
import { Pieces } from '../../src/lib/pieces';

const delta = (content: string, more: Partial<Delta> = {}): Delta => ({ sessionId: 's', runId: 'r', turnId: 't', asked: 5, kind: 'text', content, callId: null, whole: false, ...more });
const entry = (event: LedgerEvent, turnId = 't') => ({ seq: 9, time: 0, stream: 'turns' as const, turnId, event });
const told = (pieces: Pieces) => pieces.all().map(({ kind, content, whole }) => [kind, content, whole]);

describe('pieces', () => {
  it('are put together, each kind for itself, and told as a whole', () => {
    const pieces = new Pieces();
    for (const one of [delta('one '), delta('hm', { kind: 'thinking' }), delta('two'), delta('out', { kind: 'progress', callId: 'c' })]) pieces.take(one);
    expect(told(pieces)).toEqual([['text', 'one two', true], ['thinking', 'hm', true], ['progress', 'out', true]]);
    pieces.take(delta('all anew', { whole: true }));
    expect(told(pieces)[0]).toEqual(['text', 'all anew', true]);
  });

  it('are dropped when the request begins anew, and once the ledger has them', () => {
    const pieces = new Pieces();
    pieces.take(delta('wrong'));
    pieces.take(delta('', { kind: 'restart' }));
    expect(told(pieces)).toEqual([]);
    pieces.take(delta('right'));
    pieces.take(delta('out', { kind: 'progress', callId: 'c' }));
    pieces.drop(entry({ type: 'model_replied' }, 'other'));
    expect(told(pieces)).toHaveLength(2);
    pieces.drop(entry({ type: 'model_replied' }));
    expect(told(pieces)).toEqual([['progress', 'out', true]]);
    pieces.drop(entry({ type: 'call_finished', call: 'c' }));
    expect(told(pieces)).toEqual([]);
  });
});
