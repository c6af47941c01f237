//! The log that gives all entries one order, for every process that writes to the ledger.
//!
//! The writer begins a transaction of its file, places entries behind the last one that it knows,
//! folds them into the views of the file, and puts their rows into the log. If other entries came
//! first, the writer folds those and tries again.
//!
//! Must never: accept rows behind another entry than the last, or call rows written that are not.

use rusqlite::Connection;

use crate::chain::ChainTip;
use crate::last_entry::LastEntry;
use crate::ledger_row::{LedgerRow, SealedRow};
use crate::storage_failure::StorageFailure;
use crate::transaction::BeginError;

/// The order of the entries. `file` is the file that holds the views of this process.
pub(crate) trait EntryLog: Send {
    /// Begins a transaction of the file, and returns the last entry as far as it is known.
    fn begin(&mut self, file: &Connection) -> Result<LastEntry, BeginError>;

    /// Writes rows behind the entry `from`, and commits the transaction of the file with them.
    /// The rows are on disk after `Written`; otherwise the transaction has not been committed.
    fn put(
        &mut self,
        file: &Connection,
        from: &ChainTip,
        rows: &[SealedRow<'_>],
    ) -> Result<PutOutcome, PutError>;

    /// Finds the fate of the rows of a lost `put`, of which `first` is the first. Rows that are
    /// reported as not written are never written later.
    fn resolve(&mut self, first: &ChainTip) -> PutFate;

    /// Returns the rows after a number, in order, at most `limit`.
    fn after(
        &mut self,
        file: &Connection,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<LedgerRow>, StorageFailure>;
}

/// The answer of the log to new rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PutOutcome {
    /// The rows are on disk.
    Written,
    /// Nothing was written: the log has other entries behind the named one.
    #[cfg_attr(not(test), expect(dead_code, reason = "only a log of several machines moves"))]
    Moved,
}

/// The reason why the log gave no answer to new rows.
#[derive(Debug)]
pub(crate) enum PutError {
    /// Nothing was written.
    Refused(StorageFailure),
    /// The rows may have been written.
    Lost(StorageFailure),
}

/// The fate of rows whose outcome was unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), expect(dead_code, reason = "a file alone cannot tell after a failed sync"))]
pub(crate) enum PutFate {
    /// All rows are in the log.
    Written,
    /// No row is in the log.
    NotWritten,
    /// The log cannot tell until the ledger is opened again.
    Unknown,
}
