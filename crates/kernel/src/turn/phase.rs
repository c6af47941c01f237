//! The phase of a turn that has no move to choose, and its moves without a result.
//!
//! Must never: leave out a move whose result is awaited.

use agentry_protocol::ApprovalId;
use agentry_protocol::event::Ending;
use agentry_protocol::hook::HookMoment;
use agentry_protocol::tool_call::ToolCall;

use super::{RequestPurpose, Turn};

/// The phase of a turn that has no move to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnPhase {
    /// A move has no result yet.
    Working,
    /// Only the answers to these approvals can continue it.
    Waiting(Vec<ApprovalId>),
    /// It has ended.
    Over(Ending),
    /// It waits for no result and no person: a defect, described in words.
    Stuck(String),
}

/// A move without a result.
#[derive(Clone, Debug, PartialEq)]
pub enum PendingMove {
    /// The model was asked.
    Model {
        /// The number of the request.
        step: u32,
        /// True if it was only a check.
        check: bool,
    },
    /// A call was started.
    Call(ToolCall),
    /// A check command was started.
    Check {
        /// The number of the check.
        iteration: u32,
    },
    /// A hook was started.
    Hook {
        /// The number of the hook in the turn.
        number: u32,
        /// The moment at which it runs.
        moment: HookMoment,
        /// The path of its program.
        program: String,
    },
}

impl Turn {
    /// Returns the phase of the turn.
    pub fn standing(&self) -> TurnPhase {
        if let Some((ending, _)) = self.end.ended {
            return TurnPhase::Over(ending);
        }
        if !self.open.asked.is_empty()
            || self.open.check.is_some()
            || self.calls.iter().any(|one| one.running)
            || self.hooks.running().next().is_some()
        {
            return TurnPhase::Working;
        }
        let waiting: Vec<ApprovalId> =
            self.calls.iter().filter_map(|one| one.questions.open.clone()).collect();
        if waiting.is_empty() {
            TurnPhase::Stuck(self.program.waiting().to_string())
        } else {
            TurnPhase::Waiting(waiting)
        }
    }

    /// Returns the moves without a result: after a restart, these are unfinished.
    pub fn undone(&self) -> Vec<PendingMove> {
        let asked = self.open.asked.iter().map(|(step, asked)| PendingMove::Model {
            step: *step,
            check: matches!(asked, RequestPurpose::Check(_)),
        });
        let calls = self.calls.iter().filter(|one| one.running);
        let calls = calls.map(|one| PendingMove::Call(one.call.clone()));
        let check = self.open.check.map(|iteration| PendingMove::Check { iteration });
        let hooks = self.hooks.running().map(|(number, hook)| PendingMove::Hook {
            number,
            moment: hook.moment,
            program: hook.program.clone(),
        });
        asked.chain(calls).chain(check).chain(hooks).collect()
    }
}
