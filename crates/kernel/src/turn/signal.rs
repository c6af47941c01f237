//! The signals that the concerns of a turn exchange.
//!
//! Small on purpose: a signal contains the facts that concerns decide by, and the numbers by which
//! the turn finds the rest. So every state of a turn can be compared, stored and explored.
//!
//! Must never: contain text of a model or a tool.

use agentry_bthread::ProgramEvent;
use agentry_protocol::event::{Ending, Mode};
use agentry_protocol::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// The facts about one call that concerns decide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallSummary {
    /// The number of the call in its turn.
    pub call: u64,
    /// The verdict of the rules.
    pub verdict: Verdict,
    /// True if an approval for an equal call still holds in the session.
    pub standing: bool,
    /// True if the sender lacks the permission, so that only an approval can allow it.
    pub permission: bool,
    /// True if the danger guard refuses it.
    pub dangerous: bool,
    /// True if it changes state, and must not run beside another such call.
    pub changes: bool,
    /// True if a hook must run before it.
    pub hooked: bool,
    /// True if a hook examines its outcome.
    pub watched: bool,
}

/// An input to a turn, or a choice of its concerns.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Signal {
    /// Input: the turn was asked to end.
    Cancelled,
    /// Input: another mode was requested.
    ModeWanted(Mode, Option<u32>),
    /// Input: a message arrived while the turn is running.
    Steered,
    /// Input: the model replied; with these calls, at this price in tokens.
    Replied(u64, Vec<CallSummary>, u64),
    /// Input: the model did not reply.
    Unanswered(u64),
    /// Input: a call has finished.
    Finished(u64),
    /// Input: a call was not run because its dependencies changed; with its current form.
    Withheld(CallSummary),
    /// Input: a person answered an approval.
    Decided(u64, bool),
    /// Input: a check has finished.
    Checked(u64, CheckResult),
    /// Input: a call that has not run yet is no longer allowed.
    Forbidden(u64),
    /// Input: a hook answered about a call that has not run yet; with its current form.
    Consulted(CallSummary, HookVerdict),
    /// Input: a hook examined the outcome of a call.
    Watched(u64, HookVerdict),
    /// Input: a hook answered whether the turn may finish.
    Reviewed(u64, HookVerdict),
    /// Choice: ask the model.
    Think(u64),
    /// Choice: count an iteration.
    Iterate(u64),
    /// Choice: propose a call.
    Propose(CallSummary),
    /// Choice: request an approval.
    Ask(u64),
    /// Choice: run a call.
    Execute(CallSummary),
    /// Choice: refuse a call.
    Reject(u64, CallRefusal),
    /// Choice: stop a running call.
    Abort(u64),
    /// Choice: settle a call with its outcome.
    Settle(u64),
    /// Choice: complete a reply, all of whose calls have their outcomes.
    Pass(u64),
    /// Choice: check whether the work is done.
    Check(u64),
    /// Choice: run the next hook about a call that has not run yet.
    Consult(u64),
    /// Choice: run the next hook on the outcome of a call.
    Watch(u64),
    /// Choice: run the next hook about the end of the turn.
    Review(u64),
    /// Choice: continue, since the work is not done.
    GoOn,
    /// Choice: finish, since the work is done.
    Finish,
    /// Choice: begin no new work.
    Stop(TurnStopReason),
    /// Choice: end the turn.
    End(TurnStopReason),
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CheckResult {
    /// The work is done.
    Done,
    /// The work is not done, or the answer is unintelligible.
    NotDone,
    /// The model did not answer the check.
    Unanswered,
}

/// The verdict of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookVerdict {
    /// No objection; the next hook must run.
    Next,
    /// No hook objects.
    Clear,
    /// Approval is required.
    Ask,
    /// The hook objects.
    Deny,
    /// The turn must stop.
    Halt,
}

/// The reason why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CallRefusal {
    /// The rules deny it.
    Rules,
    /// A person refused it.
    Person,
    /// The danger guard refuses it.
    Danger,
    /// A hook objected.
    Hook,
    /// Too many approvals are pending.
    Questions,
}

/// The reason why a turn stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TurnStopReason {
    /// The work is done.
    Done,
    /// The turn was asked to end.
    Cancelled,
    /// The model did not answer.
    Unanswered,
    /// A limit was reached.
    Limit(TurnLimit),
    /// A hook halted the turn.
    Halted,
}

/// The limit that a turn reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TurnLimit {
    /// Requests to the model.
    Steps,
    /// Calls of tools.
    Calls,
    /// Iterations of autonomous work.
    Iterations,
    /// Tokens of all requests.
    Tokens,
}

impl TurnStopReason {
    /// Returns the ending to record in the ledger.
    pub fn ending(self) -> Ending {
        match self {
            Self::Done => Ending::Done,
            Self::Cancelled => Ending::Cancelled,
            Self::Unanswered => Ending::ModelFailed,
            Self::Limit(_) => Ending::LimitReached,
            Self::Halted => Ending::Denied,
        }
    }
}

/// The kinds of signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the signal of the same name")]
pub enum Kind {
    Cancelled,
    ModeWanted,
    Steered,
    Replied,
    Unanswered,
    Finished,
    Withheld,
    Decided,
    Checked,
    Forbidden,
    Consulted,
    Watched,
    Reviewed,
    Think,
    Iterate,
    Propose,
    Ask,
    Execute,
    Reject,
    Abort,
    Settle,
    Pass,
    Check,
    Consult,
    Watch,
    Review,
    GoOn,
    Finish,
    Stop,
    End,
}

/// The named conditions on a signal's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SignalCondition {
    /// The call is dangerous.
    Dangerous,
    /// The call changes state.
    Changes,
    /// A hook must run before the call.
    Hooked,
    /// A hook examines the outcome of the call.
    Watched,
    /// The hook halts the turn.
    Halts,
}

impl ProgramEvent for Signal {
    type Kind = Kind;
    type Guard = SignalCondition;

    fn kind(&self) -> Kind {
        match self {
            Self::Cancelled => Kind::Cancelled,
            Self::ModeWanted(..) => Kind::ModeWanted,
            Self::Steered => Kind::Steered,
            Self::Replied(..) => Kind::Replied,
            Self::Unanswered(_) => Kind::Unanswered,
            Self::Finished(_) => Kind::Finished,
            Self::Withheld(_) => Kind::Withheld,
            Self::Decided(..) => Kind::Decided,
            Self::Checked(..) => Kind::Checked,
            Self::Forbidden(_) => Kind::Forbidden,
            Self::Consulted(..) => Kind::Consulted,
            Self::Watched(..) => Kind::Watched,
            Self::Reviewed(..) => Kind::Reviewed,
            Self::Think(_) => Kind::Think,
            Self::Iterate(_) => Kind::Iterate,
            Self::Propose(_) => Kind::Propose,
            Self::Ask(_) => Kind::Ask,
            Self::Execute(_) => Kind::Execute,
            Self::Reject(..) => Kind::Reject,
            Self::Abort(_) => Kind::Abort,
            Self::Settle(_) => Kind::Settle,
            Self::Pass(_) => Kind::Pass,
            Self::Check(_) => Kind::Check,
            Self::Consult(_) => Kind::Consult,
            Self::Watch(_) => Kind::Watch,
            Self::Review(_) => Kind::Review,
            Self::GoOn => Kind::GoOn,
            Self::Finish => Kind::Finish,
            Self::Stop(_) => Kind::Stop,
            Self::End(_) => Kind::End,
        }
    }

    fn key(&self) -> u64 {
        match self {
            Self::Cancelled
            | Self::ModeWanted(..)
            | Self::Steered
            | Self::GoOn
            | Self::Finish
            | Self::Stop(_)
            | Self::End(_) => 0,
            Self::Replied(key, ..)
            | Self::Unanswered(key)
            | Self::Finished(key)
            | Self::Decided(key, _)
            | Self::Checked(key, _)
            | Self::Forbidden(key)
            | Self::Think(key)
            | Self::Iterate(key)
            | Self::Ask(key)
            | Self::Reject(key, _)
            | Self::Abort(key)
            | Self::Settle(key)
            | Self::Pass(key)
            | Self::Check(key)
            | Self::Watched(key, _)
            | Self::Reviewed(key, _)
            | Self::Consult(key)
            | Self::Watch(key)
            | Self::Review(key) => *key,
            Self::Propose(subject)
            | Self::Execute(subject)
            | Self::Withheld(subject)
            | Self::Consulted(subject, _) => subject.call,
        }
    }

    fn satisfies(&self, condition: &SignalCondition) -> bool {
        match condition {
            SignalCondition::Dangerous => {
                matches!(self, Self::Propose(subject) | Self::Execute(subject) if subject.dangerous)
            }
            SignalCondition::Changes => {
                matches!(self, Self::Propose(subject) | Self::Execute(subject) if subject.changes)
            }
            SignalCondition::Hooked => {
                matches!(self, Self::Propose(subject) | Self::Execute(subject) if subject.hooked)
            }
            SignalCondition::Watched => {
                matches!(self, Self::Propose(subject) | Self::Execute(subject) if subject.watched)
            }
            SignalCondition::Halts => matches!(
                self,
                Self::Consulted(_, HookVerdict::Halt)
                    | Self::Watched(_, HookVerdict::Halt)
                    | Self::Reviewed(_, HookVerdict::Halt)
            ),
        }
    }
}
