// What the HTTP API says and hears, by the names the console uses. The shapes are those of the server's own description (schema.d.ts);
// only what that leaves open is written here: the entries of the ledger, the pieces of the live stream, and the trace of an event.
import type { components } from './schema';

type Schemas = components['schemas'];

export type ErrorBody = Schemas['Refused'];
export type Scope = Schemas['Scope'];
export type Me = Schemas['Me'];
export type Mode = Schemas['ModeWord'];
export type Verdict = Schemas['Verdict'];
export type Delivery = Schemas['Delivery'];
export type Effect = Schemas['Effect'];
export type Usage = Schemas['Usage'];
export type Place = Schemas['Place'];

/** What an entry says: a type, and the fields that docs/events.md lists for it. */
export interface LedgerEvent {
  type: string;
  [field: string]: any;
}

export interface Entry {
  seq: number;
  time: number;
  cause?: number | null;
  stream: 'world' | 'turns';
  sessionId?: string;
  runId?: string;
  turnId?: string;
  event: LedgerEvent;
}

export type EntryPage = Omit<Schemas['EntryPage'], 'entries'> & { entries: Entry[] };

/** A piece of what is being said or printed right now; never in the ledger. */
export interface Delta {
  sessionId: string;
  runId: string;
  turnId: string;
  asked: number;
  kind: 'text' | 'thinking' | 'restart' | 'progress';
  content: string;
  callId: string | null;
  whole: boolean;
}

export type Why = Schemas['Why'];
export type WhyLink = Schemas['Link'];

export type Session = Schemas['Session'];
export type SessionPage = Schemas['SessionPage'];
export type SessionDetail = Schemas['WholeSession'];
export type TurnRow = Schemas['Turn'];
export type Queued = Schemas['Queued'];
export type Accepted = Schemas['Sent'];
export type MessageState = Schemas['Became'];
export type Forked = Schemas['Forked'];
export type Compacted = Schemas['Compacted'];
export type NewSession = Schemas['Begin'];
export type NewMessage = Omit<Schemas['Say'], 'delivery'> & { delivery?: Delivery };

export type Run = Schemas['Run'];
export type RunPage = Schemas['RunPage'];
export type RunStatus = Schemas['Status'];
export type RunDetail = Schemas['WholeRun'];
export type TimelineRow = Schemas['Span'];
export type Replay = Schemas['Difference'];
export type Told = Schemas['Told'];

export type Approval = Schemas['Approval'];
export type Finding = Schemas['FindingLine'];
export type Reach = Schemas['Reach'];
export type NewAnswer = Schemas['AnswerBody'];
export type Answered = Schemas['Answered'];
export type Grant = Schemas['Given'];

export type Agents = Schemas['Agents'];
export type AgentRow = Schemas['AgentLine'];
export type AgentDetail = Schemas['AgentPage'];
export type Diagnostic = Schemas['Diagnostic'];
export type Commit = Schemas['CommitLine'];
export type CommitDetail = Schemas['CommitPage'];
export type History = Schemas['History'];
export type Model = Schemas['Model'];
export type Task = Schemas['Task'];
export type NewTaskRun = Schemas['RunTask'];

export type Policies = Schemas['Policies'];
export type Policy = Schemas['Policy'];
export type PolicyBrief = Schemas['Brief'];
export type Person = Schemas['Person'];
export type WhatIf = Schemas['WhatIf'];
export type Trial = Schemas['Trial'];
/** A decision as the ledger has it, so its names are those of the ledger. */
export type AccessRecord = Schemas['AccessRecord'];
export type Giver = Schemas['Giver'];
export type NameList = Schemas['NameList'];
export type PolicyPart = Schemas['Part'];
export type AuditRow = Schemas['DecisionLine'];
export type AuditDetail = Schemas['DecisionPage'];
export type Inbound = Schemas['InboundLine'];

/** One event through all stages. */
export interface Trace {
  event_id: string;
  status: string;
  pipeline: { stage: string; timestamp: number; latency_ms: number; result: string; data: unknown; error?: string }[];
}

export type Health = Schemas['Health'];
export type Stats = Schemas['Stats'];
