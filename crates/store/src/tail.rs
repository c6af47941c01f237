//! Follows the ledger: returns the entries after a position, and waits for new ones.
//!
//! A commit of this process wakes the tail at once; polling finds commits of other processes. Another
//! thread can end the wait of a tail.
//!
//! Must never: skip an entry, or return one before it is on disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agentry_protocol::envelope::{Envelope, LedgerStream};
use rusqlite::Connection;

use crate::commit_signal::{AwaitedEntry, CommitSignal};
use crate::connection;
use crate::error::Error;
use crate::ledger::{EntryFilter, Ledger};
use crate::limits::{TAIL_ENTRIES_MAX, TAIL_POLL_TIME_MAX};

/// A position in the ledger that moves forward.
pub struct Tail {
    ledger: Ledger,
    filter: EntryFilter,
    sql: Connection,
    /// The last entry that was returned or did not match the filter.
    after_seq: u64,
    /// The `data_version` of the file at the last read.
    version: Option<i64>,
    /// True from the use of a waker until the tail notices it.
    is_woken: Arc<AtomicBool>,
}

/// A handle that ends the wait of a tail from another thread.
#[derive(Clone)]
pub struct TailWaker {
    signal: Arc<CommitSignal>,
    is_woken: Arc<AtomicBool>,
}

impl TailWaker {
    /// Ends the wait of the tail, or the next one if it does not wait now.
    pub fn wake(&self) {
        self.signal.wake(&self.is_woken);
    }
}

impl Ledger {
    /// Returns a tail of the matching entries after a sequence number.
    pub fn tail(&self, after_seq: u64, filter: EntryFilter) -> Result<Tail, Error> {
        self.shared.refuse_if_poisoned()?;
        let sql = connection::open_reader(&self.shared.path, self.shared.reach)?;
        let is_woken = Arc::default();
        Ok(Tail { ledger: self.clone(), filter, sql, after_seq, version: None, is_woken })
    }
}

impl Tail {
    /// Waits for the next entries and returns them; empty after `timeout`, and if it is woken.
    pub fn next(&mut self, timeout: Duration) -> Result<Vec<Envelope>, Error> {
        // A timeout too long for the clock counts as none: only new entries end the wait.
        let deadline = Instant::now().checked_add(timeout);
        loop {
            self.ledger.shared.refuse_if_poisoned()?;
            let version = self.file_version()?;
            if self.version != Some(version) {
                let entries = self.read()?;
                if entries.len() < TAIL_ENTRIES_MAX {
                    self.version = Some(version);
                }
                if !entries.is_empty() {
                    return Ok(entries);
                }
            }
            if self.is_woken.swap(false, Ordering::Relaxed) {
                return Ok(Vec::new());
            }
            let left = deadline.map_or(TAIL_POLL_TIME_MAX, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return Ok(Vec::new());
            }
            self.wait(left.min(TAIL_POLL_TIME_MAX));
        }
    }

    /// Returns a handle that ends a wait of this tail.
    pub fn waker(&self) -> TailWaker {
        TailWaker { signal: self.ledger.shared.signal.clone(), is_woken: self.is_woken.clone() }
    }

    /// Changes the stream; None means both. The tail continues at its position, so entries up to
    /// there that only the new stream has are not returned.
    pub fn set_stream(&mut self, stream: Option<LedgerStream>) {
        self.filter.stream = stream;
    }

    /// Returns the number of the last entry that was returned or did not match.
    pub fn after_seq(&self) -> u64 {
        self.after_seq
    }

    fn wait(&self, time: Duration) {
        let awaited = AwaitedEntry {
            after_seq: self.after_seq,
            stream: self.filter.stream,
            is_woken: &self.is_woken,
        };
        self.ledger.shared.signal.wait_for(&awaited, time);
    }

    /// Returns a number that changes whenever another connection of any process writes.
    fn file_version(&self) -> Result<i64, Error> {
        let version = self
            .sql
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
        version.map_err(|source| self.ledger.shared.unread(source))
    }

    fn read(&mut self) -> Result<Vec<Envelope>, Error> {
        let shared = &self.ledger.shared;
        let _snapshot = connection::snapshot(&self.sql).map_err(|source| shared.unread(source))?;
        let last = shared.last_seq(&self.sql)?;
        let entries = shared.entries(&self.sql, self.after_seq, &self.filter, TAIL_ENTRIES_MAX)?;
        self.after_seq = match entries.last() {
            Some(entry) if entries.len() == TAIL_ENTRIES_MAX => entry.seq,
            Some(_) | None => last.max(self.after_seq),
        };
        Ok(entries)
    }
}
