//! The shared parts of a ledger in SQLite: the file with the views is also the log.
//!
//! Must never: be named outside the assembly of a ledger and the repair of its file.

mod entry_log;
mod reservations;

pub(crate) use entry_log::SqliteEntryLog;
pub(crate) use reservations::SqliteReservations;
