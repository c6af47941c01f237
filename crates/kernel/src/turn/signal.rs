//! What the concerns of a turn say to each other.
//!
//! Small on purpose: a signal carries what a concern must know to agree or object, and the numbers by
//! which the turn finds the rest. Therefore every state of a turn can be compared, stored and explored.
//!
//! Must never: carry text of a model or a tool.

use agentry_bthread::ProgramEvent;
use agentry_protocol::event::{Ending, Mode};
use agentry_protocol::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// One call, as far as the concerns must know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallSummary {
    /// The number of the call in its turn.
    pub call: u64,
    /// What the rules say.
    pub verdict: Verdict,
    /// Whether a person allowed the very same call earlier in the session.
    pub standing: bool,
    /// Whether the one who wrote lacks the permission, so that only a person can let it go ahead.
    pub permission: bool,
    /// Whether the guard against dangerous acts refuses it.
    pub dangerous: bool,
    /// Whether it changes something, and is not made beside another that does.
    pub changes: bool,
    /// Whether a hook is to be heard before it is made.
    pub hooked: bool,
    /// Whether a hook looks at what came of it.
    pub watched: bool,
}

/// Something told to a turn, or something that its concerns agreed on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Signal {
    /// Told: somebody asked the turn to end.
    Cancelled,
    /// Told: somebody wants another mode.
    ModeWanted(Mode, Option<u32>),
    /// Told: somebody said something while the turn is under way.
    Steered,
    /// Told: the model answered; with these calls, at this price in tokens.
    Replied(u64, Vec<CallSummary>, u64),
    /// Told: the model did not answer.
    Unanswered(u64),
    /// Told: a call is over.
    Finished(u64),
    /// Told: a call was not made, because what it depends on changed; this is the call now.
    Withheld(CallSummary),
    /// Told: a person answered.
    Decided(u64, bool),
    /// Told: a check is over.
    Checked(u64, CheckResult),
    /// Told: a call that was not made yet is not allowed any more.
    Forbidden(u64),
    /// Told: a hook answered about a call that is not made yet; this is the call now.
    Consulted(CallSummary, HookVerdict),
    /// Told: a hook looked at what came of a call.
    Watched(u64, HookVerdict),
    /// Told: a hook answered whether the turn may finish.
    Reviewed(u64, HookVerdict),
    /// Agreed: ask the model.
    Think(u64),
    /// Agreed: count an iteration.
    Iterate(u64),
    /// Agreed: put a call on the table.
    Propose(CallSummary),
    /// Agreed: ask a person.
    Ask(u64),
    /// Agreed: make a call.
    Execute(CallSummary),
    /// Agreed: refuse a call.
    Reject(u64, CallRefusal),
    /// Agreed: stop a call that is under way.
    Abort(u64),
    /// Agreed: a call has its outcome.
    Settle(u64),
    /// Agreed: all calls of a reply have their outcomes.
    Pass(u64),
    /// Agreed: look whether the work is done.
    Check(u64),
    /// Agreed: hear the next hook about a call that is not made yet.
    Consult(u64),
    /// Agreed: let the next hook look at what came of a call.
    Watch(u64),
    /// Agreed: hear the next hook about whether the turn may finish.
    Review(u64),
    /// Agreed: the work is not done.
    GoOn,
    /// Agreed: the work is done.
    Finish,
    /// Agreed: nothing new begins.
    Stop(TurnStopReason),
    /// Agreed: the turn is over.
    End(TurnStopReason),
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CheckResult {
    /// The work is done.
    Done,
    /// It is not, or nobody can tell.
    NotDone,
    /// The model that was asked did not answer.
    Unanswered,
}

/// What a hook makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookVerdict {
    /// It does not object, and the next hook is to be heard.
    Next,
    /// No hook objects.
    Clear,
    /// A person is to be asked.
    Ask,
    /// It says no.
    Deny,
    /// Nothing at all is to go on.
    Halt,
}

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CallRefusal {
    /// The rules deny it.
    Rules,
    /// A person said no.
    Person,
    /// It is dangerous.
    Danger,
    /// A hook said no.
    Hook,
    /// Too many questions wait already.
    Questions,
}

/// Why a turn stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TurnStopReason {
    /// The work is done.
    Done,
    /// Somebody asked for it.
    Cancelled,
    /// The model does not answer.
    Unanswered,
    /// A limit is reached.
    Limit(TurnLimit),
    /// A hook said that nothing is to go on.
    Halted,
}

/// Which limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TurnLimit {
    /// Requests to the model.
    Steps,
    /// Calls of tools.
    Calls,
    /// Iterations of autonomous work.
    Iterations,
    /// Tokens.
    Tokens,
}

impl TurnStopReason {
    /// The ending that stands in the ledger.
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

/// The signals by kind.
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

/// Named conditions on what a signal carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SignalCondition {
    /// The call that it carries is dangerous.
    Dangerous,
    /// The call that it carries changes something.
    Changes,
    /// A hook is to be heard before the call that it carries is made.
    Hooked,
    /// A hook looks at what comes of the call that it carries.
    Watched,
    /// The hook that it tells of wants nothing to go on.
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
