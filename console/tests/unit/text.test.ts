// Formatting, hidden characters, differences, paths, and what was seen of an approval.
import { describe, expect, it } from 'vitest';
import { addSpan, covers } from '../../src/lib/coverage';
import { compare, editOf, parseDiff } from '../../src/lib/diff';
import { ago, bytes, cost, duration, modelName, plural, sentence, shortId, tokens } from '../../src/lib/format';
import { match } from '../../src/lib/match';
import { hasHidden, mainArgument, plain, visible } from '../../src/lib/text';

describe('format', () => {
  it('writes times as seen from now', () => {
    const now = Date.UTC(2026, 5, 15, 12);
    expect(ago(now - 10_000, now)).toBe('just now');
    expect(ago(now - 5 * 60_000, now)).toBe('5 min ago');
    expect(ago(now + 2 * 3600_000, now)).toBe('in 2 h');
    expect(ago(now - 3 * 86400_000, now)).toBe('3 d ago');
    expect(ago(Date.UTC(2026, 0, 2, 12), now)).toBe('2 Jan');
    expect(ago(Date.UTC(2025, 0, 2, 12), now)).toBe('2 Jan 2025');
  });

  it('writes durations', () => {
    expect([0, 31, 1500, 14_400, 59_600, 61_000, 3_600_000, 5_400_000, 90_000_000].map(duration)).toEqual(['0 ms', '31 ms', '1.5 s', '14 s', '1 min', '1 min 1 s', '1 h', '1 h 30 min', '1 d 1 h']);
  });

  it('never says zero for a cost that nobody knows', () => {
    expect([null, 0, 0.00001, 0.0042, 0.38, 12.345].map(cost)).toEqual(['cost unknown', '$0', '<$0.0001', '$0.0042', '$0.380', '$12.35']);
  });

  it('makes sentences of what is said in passing, and leaves names alone', () => {
    expect(['there is no run run_1', 'is `agentry serve` still running?', '`limit` is a number', 'run_1 is over', 'Done.', ''].map(sentence)).toEqual([
      'There is no run run_1.', 'Is `agentry serve` still running?', '`limit` is a number.', 'run_1 is over.', 'Done.', '',
    ]);
  });

  it('writes amounts', () => {
    expect([12, 4120, 12_400, 1_250_000].map(tokens)).toEqual(['12', '4.1k', '12k', '1.3M']);
    expect([12, 2048, 5 * 1024 * 1024].map(bytes)).toEqual(['12 B', '2.0 KB', '5.0 MB']);
    expect(plural(1, 'turn')).toBe('1 turn');
    expect(shortId('ses_01m7ktmb2jes7a6mb7wv5xafvp')).toBe('ses_…5xafvp');
    expect(modelName('scripted:/a/b/c.jsonl')).toBe('scripted:c.jsonl');
  });
});

describe('hidden characters', () => {
  it('are written out where a person decides', () => {
    expect(visible('rm \u202etxt.exe\u200b')).toBe('rm \\u{202e}txt.exe\\u{200b}');
    expect(visible('a\u001b[31mb')).toBe('a\\u{1b}[31mb');
    expect(visible('tag\u{e0041}')).toBe('tag\\u{e0041}');
    expect(visible('line\n\ttab ä 字 🙂')).toBe('line\n\ttab ä 字 🙂');
    expect(hasHidden('ls -la')).toBe(false);
  });

  it('of terminals are left out of output', () => {
    expect(plain('\u001b[1;32mok\u001b[0m \u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007\r\n')).toBe('ok link\n');
    expect(plain('\u001b[2J\u001b[Hgone')).toBe('gone');
    expect(plain('bell\u0007')).toBe('bell\\u{7}');
  });

  it('that make one picture of several stay in output, and nowhere else', () => {
    expect(plain('\u26a0\ufe0f careful, \u{1f468}\u200d\u{1f469}\u200d\u{1f467} 1\ufe0f\u20e3')).toBe('\u26a0\ufe0f careful, \u{1f468}\u200d\u{1f469}\u200d\u{1f467} 1\ufe0f\u20e3');
    expect(plain('a\ufe0fb\u200dc\u202e')).toBe('a\\u{fe0f}b\\u{200d}c\\u{202e}');
    expect(visible('\u26a0\ufe0f')).toBe('\u26a0\\u{fe0f}');
  });
});

describe('the main argument of a call', () => {
  it('is the one that says most', () => {
    expect(mainArgument('bash', { command: 'ls\n-la' })).toBe('ls -la');
    expect(mainArgument('edit_file', { new_string: 'x', old_string: 'y', path: 'a.rs' })).toBe('a.rs');
    expect(mainArgument('grep', { path: 'src', pattern: 'fn' })).toBe('fn');
    expect(mainArgument('custom', { city: 'Bern' })).toBe('Bern');
    expect(mainArgument('custom', {})).toBe('');
    expect(mainArgument('custom', { n: 1 })).toBe('{"n":1}');
  });
});

describe('differences', () => {
  it('pair what was removed with what was added', () => {
    const diff = compare('a', 'one\ntwo\n', 'one\nzwei\ndrei\n');
    expect(diff).toMatchObject({ added: 2, removed: 1 });
    expect(diff.rows.slice(1)).toEqual([
      { kind: 'change', old: { number: 2, text: 'two' }, new: { number: 2, text: 'zwei' } },
      { kind: 'change', old: null, new: { number: 3, text: 'drei' } },
    ]);
  });

  it('are read from a unified text', () => {
    const [file] = parseDiff('--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n')!;
    expect(file).toMatchObject({ oldName: 'x.rs', newName: 'x.rs', added: 1, removed: 1 });
    expect(parseDiff('nothing of the kind')).toBeNull();
  });

  it('are known of edits and writes only', () => {
    expect(editOf('edit_file', { path: 'a', old_string: 'x', new_string: 'y' })).toMatchObject({ newName: 'a', added: 1, removed: 1 });
    expect(editOf('write_file', { path: 'a', content: 'x\ny\n' })).toMatchObject({ added: 2, removed: 0 });
    expect(editOf('bash', { command: 'ls' })).toBeNull();
  });
});

describe('paths', () => {
  const patterns = { sessions: '/sessions/:id?', access: '/access/:tab?/:id?', health: '/health' };
  it('find their page', () => {
    expect(match(patterns, '/sessions')).toEqual({ name: 'sessions', params: {} });
    expect(match(patterns, '/sessions/a%20b/')).toEqual({ name: 'sessions', params: { id: 'a b' } });
    expect(match(patterns, '/access/audit/7')).toEqual({ name: 'access', params: { tab: 'audit', id: '7' } });
    expect(match(patterns, '/health/x').name).toBeNull();
    expect(match(patterns, '/sessions/%E0%A4%A').name).toBeNull();
  });
});

describe('what was seen', () => {
  it('is everything only without a gap', () => {
    let spans = addSpan([], [0, 300]);
    expect(covers(spans, 1000)).toBe(false);
    spans = addSpan(spans, [700, 1000]);
    expect(covers(spans, 1000)).toBe(false);
    spans = addSpan(spans, [280, 720]);
    expect(covers(spans, 1000)).toBe(true);
    expect(covers(addSpan([], [0, 80]), 80)).toBe(true);
  });
});
