//! The storage of reservations, which are not entries: they end with their requests.
//!
//! Must never: let two processes reserve the same money.

use agentry_protocol::SessionId;
use rusqlite::Connection;

use crate::reservation::{ReleaseTarget, Reservation, SpendingOverrun};
use crate::storage_failure::StorageFailure;

/// The storage of reservations. `file` is the file that holds the views of this process.
pub(crate) trait ReservationStore: Send + Sync {
    /// Reserves money, or returns the exceeded limit. The file is in a transaction of the caller,
    /// which commits it.
    fn reserve(
        &self,
        file: &Connection,
        wanted: &Reservation,
        now: u64,
    ) -> Result<Result<(), SpendingOverrun>, StorageFailure>;

    /// Deletes reservations. The file is in a transaction of the caller, which commits it.
    fn release(&self, file: &Connection, target: &ReleaseTarget) -> Result<(), StorageFailure>;

    /// Returns true if a session has reservations.
    fn has_any(&self, file: &Connection, session: &SessionId) -> Result<bool, StorageFailure>;
}
