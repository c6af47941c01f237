//! Requests to a run that goes on: cancel it, steer it, change its mode.
//!
//! The process that works on the run reads the entry and acts on it.
//!
//! Must never: record a request to a run that has ended.

use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::{Event, Mode};
use agentry_store::Ledger;

use super::{CommandContext, CommandError, record};
use crate::host::enforcer::Enforcer;

/// The mode that a run changes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeChange {
    /// The mode.
    pub mode: Mode,
    /// The most iterations from now on; None keeps the limit.
    pub max_iterations: Option<u32>,
}

/// Asks a run to end.
///
/// # Errors
/// If the run is unknown or has ended.
pub fn cancel(ledger: &Ledger, about: &EntrySubject) -> Result<Envelope, CommandError> {
    tell(ledger, about, Event::CancelReceived {})
}

/// Sends a message to the running turn, without the values of secrets.
///
/// # Errors
/// If the run is unknown or has ended.
pub fn steer(
    context: CommandContext<'_>,
    about: &EntrySubject,
    text: &str,
) -> Result<Envelope, CommandError> {
    let content = context.redactor.hide(text);
    tell(context.ledger, about, Event::SteerReceived { content, event: None })
}

/// Asks a run to change its mode.
///
/// # Errors
/// If the run is unknown or has ended, or if the autonomous mode would have no sandbox.
pub fn set_mode(
    ledger: &Ledger,
    enforcer: &Enforcer,
    about: &EntrySubject,
    change: ModeChange,
) -> Result<Envelope, CommandError> {
    check_mode(enforcer, change.mode)?;
    let ModeChange { mode, max_iterations } = change;
    tell(ledger, about, Event::ModeReceived { mode, max_iterations })
}

/// Checks that a run may have this mode; the autonomous mode needs the sandbox.
///
/// # Errors
/// If it may not.
pub fn check_mode(enforcer: &Enforcer, mode: Mode) -> Result<(), CommandError> {
    match (mode, enforcer) {
        (Mode::Autonomous, Enforcer::Off) => Err(CommandError::ModeWithoutSandbox),
        // A missing sandbox refuses the calls themselves.
        (Mode::Autonomous, Enforcer::Sandbox(_) | Enforcer::Missing(_)) | (Mode::Supervised, _) => {
            Ok(())
        }
    }
}

fn tell(ledger: &Ledger, about: &EntrySubject, event: Event) -> Result<Envelope, CommandError> {
    if let Some(id) = &about.run {
        let row = ledger.run(id)?.ok_or_else(|| CommandError::UnknownRun(id.clone()))?;
        if row.ending.is_some() {
            return Err(CommandError::RunEnded(row.id));
        }
    }
    record(ledger, about.clone(), event)
}
