//! How a turn stands when it has nothing to choose, and what of its moves has no result yet.
//!
//! Must never: leave something out that a result is awaited of.

use agentry_protocol::ApprovalId;
use agentry_protocol::event::Ending;
use agentry_protocol::hook::HookMoment;
use agentry_protocol::tool_call::ToolCall;

use super::{Asked, Turn};

/// How a turn stands when it has nothing to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
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
pub enum Undone {
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
    pub fn standing(&self) -> Standing {
        if let Some((ending, _)) = self.end.ended {
            return Standing::Over(ending);
        }
        if !self.open.asked.is_empty()
            || self.open.check.is_some()
            || self.calls.iter().any(|one| one.running)
            || self.hooks.running().next().is_some()
        {
            return Standing::Working;
        }
        let waiting: Vec<ApprovalId> =
            self.calls.iter().filter_map(|one| one.questions.open.clone()).collect();
        if waiting.is_empty() {
            Standing::Stuck(self.program.waiting().to_string())
        } else {
            Standing::Waiting(waiting)
        }
    }

    /// The moves that were made and whose results are not there: what a new process finds undone.
    pub fn undone(&self) -> Vec<Undone> {
        let asked = self.open.asked.iter().map(|(step, asked)| Undone::Model {
            step: *step,
            check: matches!(asked, Asked::Check(_)),
        });
        let calls = self.calls.iter().filter(|one| one.running);
        let calls = calls.map(|one| Undone::Call(one.call.clone()));
        let check = self.open.check.map(|iteration| Undone::Check { iteration });
        let hooks = self.hooks.running().map(|(number, hook)| Undone::Hook {
            number,
            moment: hook.moment,
            program: hook.program.clone(),
        });
        asked.chain(calls).chain(check).chain(hooks).collect()
    }
}
