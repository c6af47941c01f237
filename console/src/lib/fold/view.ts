// What a session looks like: turns with items, made from entries of the ledger by fold.ts.
import type { Mode, Verdict } from '../../api/types';

export interface TurnUsage {
  input: number;
  output: number;
  cached: number;
  estimated: boolean;
  /** Null if the price of a part is unknown. */
  costUsd: number | null;
}

export interface Measured {
  exit_code?: number;
  duration_ms?: number;
  truncated?: boolean;
  redacted?: number;
  denied?: string[];
}

export interface CallFinding {
  stage: string;
  verdict: Verdict;
  why: string;
  rule?: string;
}

export interface ReplyItem {
  kind: 'reply';
  key: string;
  seq: number;
  /** The entry of the request; pieces that stream in are found by it. */
  asked: number;
  step: number;
  text: string;
  thinking: string;
  model: string | null;
  usage: TurnUsage | null;
  pending: boolean;
  /** The question is only whether the work is done. */
  check: boolean;
  cut: boolean;
  startedAt: number;
  endedAt: number | null;
}

export type CallStatus = 'proposed' | 'waiting' | 'running' | 'done' | 'failed' | 'refused' | 'stopped' | 'uncertain';

export interface CallItem {
  kind: 'call';
  key: string;
  seq: number;
  id: string;
  tool: string;
  input: unknown;
  status: CallStatus;
  verdict: Verdict;
  findings: CallFinding[];
  output: string;
  outputSeq: number | null;
  cut: boolean;
  measured: Measured;
  startedAt: number | null;
  endedAt: number | null;
  by: { kind: string; rule?: string; approval?: string } | null;
  level: string | null;
  approval: string | null;
  answer: { allow: boolean; reach?: string; reason?: string; expired?: boolean } | null;
  edited: unknown;
  why: string | null;
  connections: { host: string; port: number; refused?: string }[];
}

export interface SteerItem {
  kind: 'steer';
  key: string;
  seq: number;
  time: number;
  text: string;
  taken: boolean;
}

export interface CheckItem {
  kind: 'check';
  key: string;
  seq: number;
  iteration: number;
  command: string;
  status: 'running' | 'done' | 'failed' | string;
  output: string;
  measured: Measured;
}

export interface HookItem {
  kind: 'hook';
  key: string;
  seq: number;
  moment: string;
  program: string;
  status: 'running' | 'shaped' | 'gated' | 'failed';
  detail: string;
}

export interface NoticeItem {
  kind: 'notice';
  key: string;
  seq: number;
  tone: 'info' | 'warn' | 'bad';
  title: string;
  detail: string;
}

export type Item = ReplyItem | CallItem | SteerItem | CheckItem | HookItem | NoticeItem;

export type TurnState = 'starting' | 'running' | 'waiting' | 'paused' | 'ended';

export interface TurnView {
  key: string;
  turnId: string | null;
  runId: string | null;
  parentId: string | null;
  agent: string | null;
  task: string | null;
  model: string | null;
  mode: Mode | null;
  prompt: string;
  state: TurnState;
  ending: string | null;
  message: string | null;
  startedAt: number;
  endedAt: number | null;
  firstSeq: number;
  lastSeq: number;
  iterations: number;
  compaction: null | { reason: string; focus: string | null; before: number | null; after: number | null; summary: string };
  items: Item[];
  usage: TurnUsage;
}
