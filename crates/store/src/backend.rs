//! The parts of a ledger that all its processes share: the order of the entries, locks,
//! reservations and long contents. The views are in a file of each machine.
//!
//! Must never: hold a part that no process but this one needs.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::blob_store::BlobStore;
use crate::entry_log::EntryLog;
use crate::files::{FileBlobs, FileLocks};
use crate::home::Home;
use crate::lock_store::LockStore;
use crate::reservation_store::ReservationStore;
use crate::sqlite::{SqliteEntryLog, SqliteReservations};

/// The shared parts of a ledger.
pub(crate) struct LedgerBackend {
    pub(crate) log: Box<dyn EntryLog>,
    pub(crate) reservations: Arc<dyn ReservationStore>,
    pub(crate) locks: Box<dyn LockStore>,
    pub(crate) blobs: Arc<dyn BlobStore>,
}

impl LedgerBackend {
    /// Returns the parts that are files of a home.
    pub(crate) fn of_home(home: &Home) -> Self {
        Self {
            log: Box::new(SqliteEntryLog),
            reservations: Arc::new(SqliteReservations),
            locks: Box::new(FileLocks::new(home)),
            blobs: Arc::new(FileBlobs::new(home)),
        }
    }
}
