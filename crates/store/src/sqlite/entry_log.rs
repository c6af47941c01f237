//! The log in the ledger's own file.
//!
//! Its transaction keeps all other processes out, so the tip cannot move between begin and put.
//!
//! Must never: judge the content of the disk after a failed commit.

use rusqlite::Connection;

use crate::chain::ChainTip;
use crate::entry_log::{EntryLog, PutError, PutFate, PutOutcome};
use crate::last_entry::{self, LastEntry};
use crate::ledger_row::{self, COLUMNS, LedgerRow, SealedRow};
use crate::storage_failure::StorageFailure;
use crate::transaction::{self, BeginError};

/// The log in the ledger's own file.
pub(crate) struct SqliteEntryLog;

impl EntryLog for SqliteEntryLog {
    fn begin(&mut self, file: &Connection) -> Result<LastEntry, BeginError> {
        transaction::begin(file)?;
        Ok(last_entry::last(file)?)
    }

    fn put(
        &mut self,
        file: &Connection,
        _from: &ChainTip,
        rows: &[SealedRow<'_>],
    ) -> Result<PutOutcome, PutError> {
        ledger_row::insert(file, rows).map_err(|error| PutError::Refused(error.into()))?;
        transaction::commit(file).map_err(|error| PutError::Lost(error.into()))?;
        Ok(PutOutcome::Written)
    }

    fn resolve(&mut self, _first: &ChainTip) -> PutFate {
        // After a failed sync the system shows pages that never reached the disk.
        PutFate::Unknown
    }

    fn after(
        &mut self,
        file: &Connection,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<LedgerRow>, StorageFailure> {
        let text = format!("SELECT {COLUMNS} FROM ledger WHERE seq > ?1 ORDER BY seq LIMIT ?2");
        let after = i64::try_from(seq).unwrap_or(i64::MAX);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut statement = file.prepare_cached(&text)?;
        let rows = statement.query_map([after, limit], LedgerRow::read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}
