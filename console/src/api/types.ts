// What the HTTP API says and hears, by the names the console uses. The shapes are those of the server's own description (schema.d.ts);
// only what that leaves open is written here: the entries of the ledger, the pieces of the live stream, and the trace of an event.
import type { components } from './schema';

type Schemas = components['schemas'];

export type ErrorBody = Schemas['ApiErrorBody'];
export type Scope = Schemas['TokenScope'];
export type Me = Schemas['CurrentCaller'];
export type Mode = Schemas['ModeSchema'];
export type Verdict = Schemas['Verdict'];
export type Delivery = Schemas['Delivery'];
export type Effect = Schemas['Effect'];
export type Usage = Schemas['UsageSummary'];
export type Place = Schemas['DefinitionLocation'];

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

export type Why = Schemas['Provenance'];
export type WhyLink = Schemas['ProvenanceLink'];

export type Session = Schemas['SessionSummary'];
export type SessionPage = Schemas['SessionPage'];
export type SessionDetail = Schemas['SessionDetails'];
export type TurnRow = Schemas['TurnSummary'];
export type Queued = Schemas['QueuedMessage'];
export type Accepted = Schemas['MessageReceipt'];
export type MessageState = Schemas['MessageStatus'];
export type Forked = Schemas['ForkResponse'];
export type Compacted = Schemas['CompactionResponse'];
export type NewSession = Schemas['SessionStartBody'];
export type NewMessage = Omit<Schemas['MessageBody'], 'delivery'> & { delivery?: Delivery };

export type Run = Schemas['RunSummary'];
export type RunPage = Schemas['RunPage'];
export type RunStatus = Schemas['RunStatusFilter'];
export type RunDetail = Schemas['RunDetails'];
export type TimelineRow = Schemas['TimelineSpan'];
export type Replay = Schemas['ReplayResponse'];
export type Told = Schemas['RunControlReceipt'];

export type Approval = Schemas['ApprovalDetails'];
export type Finding = Schemas['StageFinding'];
export type Reach = Schemas['ApprovalScope'];
export type NewAnswer = Schemas['AnswerBody'];
export type Answered = Schemas['AnswerResponse'];
export type Grant = Schemas['GrantSummary'];

export type Agents = Schemas['AgentsResponse'];
export type AgentRow = Schemas['AgentSummary'];
export type AgentDetail = Schemas['AgentDetails'];
export type Diagnostic = Schemas['AgentDiagnostic'];
export type Commit = Schemas['CommitSummary'];
export type CommitDetail = Schemas['CommitDetails'];
export type History = Schemas['CommitHistory'];
export type Model = Schemas['ModelAvailability'];
export type Task = Schemas['TaskSummary'];
export type NewTaskRun = Schemas['TaskRunBody'];

export type Policies = Schemas['PolicyOverview'];
export type Policy = Schemas['PolicySummary'];
export type PolicyBrief = Schemas['PolicyExcerpt'];
export type Person = Schemas['Person'];
export type WhatIf = Schemas['WhatIfBody'];
export type Trial = Schemas['WhatIfResponse'];
/** A decision as the ledger has it, so its names are those of the ledger. */
export type AccessRecord = Schemas['AccessRecord'];
export type Giver = Schemas['PermissionSource'];
export type NameList = Schemas['NameList'];
export type PolicyPart = Schemas['PolicyOutcome'];
export type AuditRow = Schemas['DecisionSummary'];
export type AuditDetail = Schemas['DecisionDetails'];
export type Inbound = Schemas['InboundSummary'];

/** One event through all stages. */
export interface Trace {
  event_id: string;
  status: string;
  pipeline: { stage: string; timestamp: number; latency_ms: number; result: string; data: unknown; error?: string }[];
}

export type Health = Schemas['ServerHealth'];
export type Stats = Schemas['Stats'];
