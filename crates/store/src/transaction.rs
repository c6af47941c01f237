//! Transactions of the file that holds the views and the entries.
//!
//! Must never: end a transaction on its own; its caller decides whether it is committed.

use rusqlite::{Connection, ErrorCode};

use crate::storage_failure::StorageFailure;

/// The reason why no transaction began.
pub(crate) enum BeginError {
    /// Another process has the write lock.
    Locked,
    /// A newer program wrote to the file.
    Newer { what: &'static str, found: u64, known: u64 },
    /// The database failed.
    Failed(StorageFailure),
}

impl From<rusqlite::Error> for BeginError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Begins a transaction that keeps all other writers of the file out.
pub(crate) fn begin(file: &Connection) -> Result<(), BeginError> {
    execute(file, "BEGIN IMMEDIATE").map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => BeginError::Locked,
        _ => error.into(),
    })
}

/// Commits the transaction. If this fails, the content of the disk is unknown.
pub(crate) fn commit(file: &Connection) -> rusqlite::Result<()> {
    execute(file, "COMMIT")
}

/// Ends the transaction; nothing of it is written.
pub(crate) fn roll_back(file: &Connection) -> rusqlite::Result<()> {
    execute(file, "ROLLBACK")
}

fn execute(file: &Connection, text: &str) -> rusqlite::Result<()> {
    file.prepare_cached(text)?.execute([]).map(|_| ())
}
