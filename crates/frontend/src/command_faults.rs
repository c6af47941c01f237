//! Refused commands as faults: who can act, and what to do.
//!
//! Must never: record anything, or change the text of a refusal.

use agentry_runtime::commands::{CommandError, CommandErrorKind};

use crate::bootstrap::store_fault;
use crate::fault::{Blame, Fault};

/// Turns the refusal of a command into a fault.
pub fn command_fault(error: CommandError) -> Fault {
    let (hint, kind) = (error.hint(), error.kind());
    let fault = match error {
        CommandError::Ledger(error) => return store_fault(error),
        refused => Fault::new(blame(kind), refused.to_string()),
    };
    match hint {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}

fn blame(kind: CommandErrorKind) -> Blame {
    match kind {
        CommandErrorKind::Invalid
        | CommandErrorKind::NotFound
        | CommandErrorKind::Conflict
        | CommandErrorKind::Forbidden => Blame::Caller,
        CommandErrorKind::Ledger => Blame::Machine,
    }
}
