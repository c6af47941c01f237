// A server of its own for each test: the real binary, an agent, a script for its model, everything in a temporary directory.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';

const BINARY = resolve(process.env.AGENTRY_BIN ?? '../target/debug/agentry');

/** How often the server is asked whether something happened. */
const LOOK_MS = 50;

/** May read and run commands by itself; everything else is asked about. */
export const AGENT = `---
name: Helper
description: Helps with files.
model: scripted
tools: [Read, Write, Edit, Bash]
tool_approvals:
  default: approve
  rules:
    - { tool: Read, allow: true }
    - { tool: Bash, allow: true }
---
You help with files.
`;

/** One answer of the model. */
export interface Said {
  text?: string;
  thinking?: string;
  tool_calls?: { name: string; input: Record<string, unknown> }[];
  delay_ms?: number;
  pace_ms?: number;
}

export interface Setting {
  /** What the model says to each request of a run, in order. */
  script: Said[];
  /** Other files of the project. */
  files?: Record<string, string>;
}

export class Server {
  url = '';
  readonly dir: string;
  readonly #root: string;
  #child: ChildProcess | null = null;
  #key = '';

  constructor({ script, files = {} }: Setting) {
    this.#root = mkdtempSync(join(tmpdir(), 'agentry-console-'));
    this.dir = join(this.#root, 'project');
    const all = { '.agentry/agents/helper/AGENT.md': AGENT, ...files };
    for (const [name, text] of Object.entries(all)) this.write(name, text);
    this.write('../script.jsonl', script.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }

  /** Where it listened before, it listens again. */
  async start(): Promise<void> {
    const place = this.url ? new URL(this.url).host : '127.0.0.1:0';
    const child = spawn(BINARY, ['serve', '--listen', place, '--model', 'scripted:../script.jsonl'], { cwd: this.dir, env: this.#environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    let complaint = '';
    child.stderr!.on('data', (bytes) => (complaint += bytes));
    for await (const line of createInterface({ input: child.stdout! })) {
      if (line.startsWith('http')) this.url = line.split(' ', 1)[0]!;
      if (line.startsWith('ready')) return;
    }
    throw new Error(`the server did not get ready: ${complaint}`);
  }

  /** Without a chance to put anything in order. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (!child || child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#root, { recursive: true, force: true });
  }

  /** What `agentry` prints, on the side of the server. */
  agentry(...words: string[]): string {
    return execFileSync(BINARY, words, { cwd: this.dir, env: this.#environment(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  }

  /** A link that signs in once. */
  link(): string {
    return this.agentry('console', '--print');
  }

  write(name: string, text: string): void {
    const path = join(this.dir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  read(name: string): string {
    return readFileSync(join(this.dir, name), 'utf8');
  }

  /** Asks the API with a key that opens everything. */
  async api<T>(path: string, body?: unknown): Promise<T> {
    this.#key ||= this.agentry('token', 'create', '--scope', 'read,submit,approve,admin,audit');
    const headers = { authorization: `Bearer ${this.#key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const answer = await fetch(this.url + path, body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  /** Begins a session, and says which it is and which run answers. */
  async begin(text: string): Promise<{ sessionId: string; runId: string }> {
    const { eventId } = await this.api<{ eventId: string }>('/api/sessions', { text, agent: 'helper' });
    return this.api(`/api/messages/${encodeURIComponent(eventId)}?waitMs=15000`);
  }

  /** Waits until a run has an entry of a kind, and gives all it has by then. */
  async until(runId: string, type: string): Promise<Entry[]> {
    for (;;) {
      const { entries } = await this.api<{ entries: Entry[] }>(`/api/entries?run=${runId}`);
      const has = (wanted: string) => entries.some((entry) => entry.event.type === wanted);
      if (has(type)) return entries;
      if (has('run_ended')) throw new Error(`the run ended without ${type}: ${JSON.stringify(entries.at(-1))}`);
      await setTimeout(LOOK_MS);
    }
  }

  #environment(): NodeJS.ProcessEnv {
    return { ...process.env, HOME: this.#root, AGENTRY_HOME: join(this.#root, 'home'), XDG_CONFIG_HOME: join(this.#root, 'config'), NO_COLOR: '1' };
  }
}

export interface Entry {
  seq: number;
  time: number;
  event: { type: string; [field: string]: unknown };
}
