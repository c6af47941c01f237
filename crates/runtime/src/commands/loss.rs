//! The consent to go on after entries of the ledger were lost.
//!
//! Must never: be given by a program on its own.

use std::path::Path;

use agentry_store::{AcceptedLoss, Clock, Ledger};

use super::CommandError;

/// Records that entries are missing, so that the ledger in this home can be used again.
///
/// # Errors
/// If nothing is lost, or if the ledger cannot be opened.
pub fn accept(home: &Path, clock: Clock) -> Result<AcceptedLoss, CommandError> {
    Ok(Ledger::accept_loss(home, clock)?)
}
