// The calls of the API by name. Pages use these and never write a path themselves.
import { http, part } from './client';
import type {
  Accepted, Agents, AgentDetail, Answered, Approval, AuditDetail, AuditRow, Compacted, CommitDetail, Entry, EntryPage, Forked, Grant, Health, History, Inbound, Me,
  MessageState, Mode, Model, NewAnswer, NewMessage, NewSession, NewTaskRun, Policies, Replay, RunDetail, RunPage, RunStatus, SessionDetail, SessionPage, Stats, Task, Told, Trace, Trial, WhatIf, Why,
} from './types';

type Signal = AbortSignal | undefined;

export const api = {
  me: (signal?: Signal) => http.get<Me>('/api/me', {}, signal),
  login: (code: string) => http.post<Me>('/api/login', { code }),
  logout: () => http.post<null>('/api/logout'),

  entries: (query: { session?: string; run?: string; turn?: string; after?: number; before?: number; limit?: number; full?: boolean }, signal?: Signal) =>
    http.get<EntryPage>('/api/entries', query, signal),
  entry: (seq: number, signal?: Signal) => http.get<Entry>(`/api/entries/${part(seq)}`, {}, signal),
  why: (seq: number, signal?: Signal) => http.get<Why>(`/api/entries/${part(seq)}/why`, {}, signal),

  sessions: (query: { limit?: number; before?: string; q?: string } = {}, signal?: Signal) =>
    http.get<SessionPage>('/api/sessions', query, signal),
  session: (id: string, signal?: Signal) => http.get<SessionDetail>(`/api/sessions/${part(id)}`, {}, signal),
  begin: (message: NewSession, idempotency: string) => http.post<Accepted>('/api/sessions', message, { 'Idempotency-Key': idempotency }),
  say: (session: string, message: NewMessage, idempotency: string) =>
    http.post<Accepted>(`/api/sessions/${part(session)}/messages`, message, { 'Idempotency-Key': idempotency }),
  message: (eventId: string, waitMs: number, signal?: Signal) => http.get<MessageState>(`/api/messages/${part(eventId)}`, { waitMs }, signal),
  fork: (turn: string) => http.post<Forked>(`/api/turns/${part(turn)}/fork`),
  compact: (session: string, focus?: string) => http.post<Compacted>(`/api/sessions/${part(session)}/compact`, focus ? { focus } : {}),

  runs: (query: { limit?: number; before?: string; status?: RunStatus } = {}, signal?: Signal) =>
    http.get<RunPage>('/api/runs', query, signal),
  run: (id: string, signal?: Signal) => http.get<RunDetail>(`/api/runs/${part(id)}`, {}, signal),
  cancel: (run: string) => http.post<Told>(`/api/runs/${part(run)}/cancel`),
  setMode: (run: string, mode: Mode, maxIterations?: number) => http.post<Told>(`/api/runs/${part(run)}/mode`, { mode, maxIterations }),
  resume: (run: string) => http.post<Told>(`/api/runs/${part(run)}/resume`),
  replay: (run: string) => http.post<Replay>(`/api/runs/${part(run)}/replay`),

  approvals: (query: { status?: 'waiting' | 'all'; limit?: number } = {}, signal?: Signal) =>
    http.get<{ approvals: Approval[] }>('/api/approvals', query, signal),
  approval: (id: string, signal?: Signal) => http.get<Approval>(`/api/approvals/${part(id)}`, {}, signal),
  answer: (id: string, answer: NewAnswer) =>
    http.post<Answered>(`/api/approvals/${part(id)}/answer`, answer),
  requests: (query: { status?: 'waiting' | 'all' } = {}, signal?: Signal) => http.get<{ requests: Approval[] }>('/api/requests', query, signal),
  grants: (query: { all?: boolean } = {}, signal?: Signal) => http.get<{ grants: Grant[] }>('/api/grants', query, signal),
  revoke: (grant: string, reason?: string) => http.post<Grant>(`/api/grants/${part(grant)}/revoke`, reason ? { reason } : {}),

  agents: (signal?: Signal) => http.get<Agents>('/api/agents', {}, signal),
  agent: (id: string, signal?: Signal) => http.get<AgentDetail>(`/api/agents/${part(id)}`, {}, signal),
  history: (agent: string, query: { limit?: number } = {}, signal?: Signal) =>
    http.get<History>(`/api/agents/${part(agent)}/history`, query, signal),
  commit: (agent: string, commit: string, signal?: Signal) =>
    http.get<CommitDetail>(`/api/agents/${part(agent)}/history/${part(commit)}`, {}, signal),
  revert: (agent: string, commit: string) => http.post<{ commit: string }>(`/api/agents/${part(agent)}/history/${part(commit)}/revert`),
  models: (query: { agent?: string } = {}, signal?: Signal) => http.get<{ models: Model[] }>('/api/models', query, signal),

  tasks: (signal?: Signal) => http.get<{ tasks: Task[] }>('/api/tasks', {}, signal),
  runTask: (task: string, wish: NewTaskRun, idempotency: string) =>
    http.post<Accepted>(`/api/tasks/${part(task)}/runs`, wish, { 'Idempotency-Key': idempotency }),

  policies: (signal?: Signal) => http.get<Policies>('/api/policies', {}, signal),
  whatIf: (asked: WhatIf) => http.post<Trial>('/api/access/what-if', asked),
  audit: (query: Record<string, string | number | undefined> = {}, signal?: Signal) => http.get<{ records: AuditRow[] }>('/api/audit', query, signal),
  auditRecord: (id: string, signal?: Signal) =>
    http.get<AuditDetail>(`/api/audit/${part(id)}`, {}, signal),
  inbounds: (query: { limit?: number } = {}, signal?: Signal) => http.get<{ inbounds: Inbound[] }>('/api/inbounds', query, signal),
  trace: (eventId: string, signal?: Signal) => http.get<Trace>(`/api/traces/${part(eventId)}`, {}, signal),

  health: (signal?: Signal) => http.get<Health>('/api/health', {}, signal),
  stats: (query: { hours?: number } = {}, signal?: Signal) => http.get<Stats>('/api/stats', query, signal),
};
