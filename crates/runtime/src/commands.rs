//! The acts of a person or program from outside: each is checked, recorded, and returned.
//!
//! The command line, the server and the chat call these functions; they themselves only parse and
//! show. So an act has the same checks and the same entry on all surfaces.
//!
//! Must never: print, or record an act that one of its checks refuses.

pub mod approvals;
pub mod entities;
mod error;
pub mod event_hooks;
pub mod grants;
pub mod keys;
pub mod loss;
pub mod runs;
pub mod trust;

use agentry_protocol::envelope::{Draft, EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_store::Ledger;

use crate::host::Host;
use crate::redact::Redactor;

pub use error::{CommandError, CommandErrorKind};

/// The services that a command needs.
#[derive(Clone, Copy)]
pub struct CommandContext<'a> {
    /// The ledger of this home.
    pub ledger: &'a Ledger,
    /// Removes the values of secrets from texts before they are recorded.
    pub redactor: &'a Redactor,
    /// Returns a unique number; later numbers are larger.
    pub new_number: fn() -> u128,
}

impl<'a> From<&'a Host> for CommandContext<'a> {
    fn from(host: &'a Host) -> Self {
        Self { ledger: &host.ledger, redactor: &host.redactor, new_number: host.new_number }
    }
}

impl CommandContext<'_> {
    fn hide(&self, reason: Option<String>) -> Option<String> {
        reason.map(|reason| self.redactor.hide(&reason))
    }
}

/// Appends one entry, and returns it as it was recorded.
fn record(ledger: &Ledger, about: EntrySubject, event: Event) -> Result<Envelope, CommandError> {
    let recorded = ledger.append(vec![Draft { cause: None, about, event }])?;
    Ok(recorded.into_iter().next().expect("one draft is recorded as one entry"))
}

/// Appends one entry that belongs to no session.
fn record_alone(ledger: &Ledger, event: Event) -> Result<Envelope, CommandError> {
    record(ledger, EntrySubject::default(), event)
}

#[cfg(test)]
mod tests;
