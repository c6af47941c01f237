// How the server is, and numbers over time.
import { readFileSync } from 'node:fs';
import { lastSeq } from '../world.mjs';
import { me } from './core.mjs';

const EMPTY = process.argv.includes('--empty');
const WELL = EMPTY || process.argv.includes('--well') || process.argv.includes('--soft');
const checks = JSON.parse(readFileSync(new URL('../fixtures/checks.json', import.meta.url), 'utf8'));

// With --soft a limit of the sandbox is only watched; everything else is as it should be.
const soft = process.argv.includes('--soft') ? [{ name: 'limit of memory', ok: false, detail: 'looked at twice a second; there are no cgroups here' }] : [];

function health() {
  const level = me.server.sandbox;
  const now = Date.now();
  const problems = WELL ? [] : [
    'the channel `telegram` is not connected: the adapter ended with 1 (401 Unauthorized)',
    'the provider `openai` does not take its key: `agentry secret set OPENAI_API_KEY`', 'the event hook `nightly-backup` is paused until 14:20: it failed five times in a row',
  ];
  return {
    status: problems.length === 0 ? 'ok' : 'degraded', problems, warnings: soft.map(({ name, detail }) => `the ${name} is only watched, and can be overstepped for a moment: ${detail}`),
    sandbox: { level, kernel: '6.12.0', checks: level === 'off' ? [] : [...checks.filter(({ name }) => !soft.some((one) => one.name === name)), ...soft] },
    providers: [
      { name: 'anthropic', kind: 'anthropic', configured: true, models: 9, problem: null },
      { name: 'openai', kind: 'openai', configured: true, models: 14, problem: WELL ? null : 'the key in `OPENAI_API_KEY` is not accepted' },
      { name: 'local', kind: 'local', configured: true, models: 1, problem: null }, { name: 'openrouter', kind: 'openai', configured: false, models: 0, problem: null },
    ],
    channels: EMPTY ? [] : [
      { name: 'http', connected: true, lastEventAt: now - 40_000, error: null, restarts: 0, nextTryAt: null, refused: 0, filtered: 0 },
      { name: 'telegram', connected: WELL, lastEventAt: now - 9 * 60_000, error: WELL ? null : 'the adapter ended with 1: \u001b[31m401 Unauthorized\u001b[0m', restarts: WELL ? 0 : 3, nextTryAt: null, refused: 0, filtered: 0 },
      { name: 'discord', connected: true, lastEventAt: now - 5 * 3600_000, error: null, restarts: 0, nextTryAt: null, refused: 0, filtered: 0 }, { name: 'clock', connected: true, lastEventAt: null, error: null, restarts: 0, nextTryAt: null, refused: 0, filtered: 0 },
    ],
    queue: { running: EMPTY ? 0 : 2, paused: EMPTY ? 0 : 1, undelivered: 0, waiting: EMPTY ? 0 : 1, runningMax: 8 }, ledger: { lastSeq: lastSeq(), bytes: 48_300_000, home: '/srv/ada/.local/share/agentry' },
    process: { startedAt: me.server.startedAt, rssBytes: 61_400_000, streams: 2, threads: 14 }, hooks: { enabled: EMPTY ? 0 : 3, failing: WELL ? 0 : 1 },
  };
}

/** The same numbers each time: a day with a quiet night. */
function stats(hours) {
  const bucketMs = hours <= 2 ? 5 * 60_000 : hours <= 24 ? 30 * 60_000 : 3 * 3600_000;
  const end = Math.floor(Date.now() / bucketMs) * bucketMs;
  const buckets = [];
  for (let t = end - hours * 3600_000 + bucketMs; t <= end; t += bucketMs) {
    const number = t / bucketMs;
    const wave = Math.abs(Math.sin(number * 1.7) * Math.cos(number * 0.6));
    const hour = new Date(t).getHours();
    const quiet = EMPTY ? 0 : bucketMs < 3600_000 * 3 && hours > 2 && (hour < 7 || hour > 22) ? 0.05 : 1;
    const turns = Math.round(wave * 14 * quiet * (bucketMs / 1_800_000) ** 0.5);
    buckets.push({ t, turns, failed: number % 7 === 0 ? Math.min(turns, 2) : 0, calls: turns * 3, inputTokens: turns * 5200, outputTokens: turns * 410, costUsd: turns * 0.0211, events: turns + Math.round(wave * 6 * quiet) });
  }
  return { bucketMs, buckets };
}

export default [
  ['GET', '/api/health', () => ({ body: health() })],
  ['GET', '/api/stats', ({ query }) => ({ body: stats(Number(query.get('hours') ?? 24)) })],
];
