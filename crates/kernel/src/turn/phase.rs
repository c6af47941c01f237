//! How a turn stands when it has nothing to choose, and what of its moves has no result yet.
//!
//! Must never: leave something out that a result is awaited of.

use agentry_protocol::ApprovalId;
use agentry_protocol::event::Ending;
use agentry_protocol::hook::HookMoment;
use agentry_protocol::tool_call::ToolCall;

use super::{RequestPurpose, Turn};

/// How a turn stands when it has nothing to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnPhase {
    /// Something that it began is under way.
    Working,
    /// Only people can bring it on.
    Waiting(Vec<ApprovalId>),
    /// It is over.
    Over(Ending),
    /// It waits for nothing and nobody: a defect. In words.
    Stuck(String),
}

/// A move whose result is not there.
#[derive(Clone, Debug, PartialEq)]
pub enum PendingMove {
    /// The model was asked.
    Model {
        /// Which request.
        step: u32,
        /// Whether it was only a check.
        check: bool,
    },
    /// A call was made.
    Call(ToolCall),
    /// A check command was started.
    Check {
        /// Which check.
        iteration: u32,
    },
    /// A hook was started.
    Hook {
        /// Which hook of the turn.
        number: u32,
        /// When it runs.
        moment: HookMoment,
        /// Its program.
        program: String,
    },
}

impl Turn {
    /// How the turn stands.
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

    /// The moves that were made and whose results are not there: what a new process finds undone.
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
