//! Failures of the storage below the ledger, as its parts report them to the writer.
//!
//! Must never: say whether entries were written; only the step that failed tells that.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::{BackendError, Error};

/// A failure of the database, its disk, or the connection to it.
#[derive(Debug)]
pub(crate) struct StorageFailure {
    pub(crate) error: BackendError,
    pub(crate) is_full: bool,
}

impl StorageFailure {
    /// Creates a failure from a text that names the defect.
    pub(crate) fn of_text(text: impl Into<String>) -> Self {
        Self { error: BackendError::new(text.into()), is_full: false }
    }
}

impl StorageFailure {
    /// Returns the error for a query that was not answered.
    pub(crate) fn of_read(self, ledger: &Path) -> Error {
        Error::Read { path: ledger.to_owned(), source: self.error }
    }
}

impl From<rusqlite::Error> for StorageFailure {
    fn from(error: rusqlite::Error) -> Self {
        let is_full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
        Self { error: BackendError::new(error), is_full }
    }
}
