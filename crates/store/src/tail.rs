//! Follows the ledger: what was written, and then what is being written.
//!
//! A commit of this process wakes it at once; commits of other processes are noticed by looking often.
//!
//! Must never: skip an entry, or hand one out before it is on disk.

use std::time::{Duration, Instant};

use agentry_protocol::envelope::Envelope;
use rusqlite::Connection;

use crate::connection;
use crate::error::Error;
use crate::ledger::{EntryFilter, Ledger};
use crate::limits::{TAIL_ENTRIES_MAX, TAIL_POLL_TIME_MAX};

/// A place in the ledger that moves forward.
pub struct Tail {
    ledger: Ledger,
    filter: EntryFilter,
    sql: Connection,
    /// All up to here was handed out or is not wanted.
    after_seq: u64,
    /// What the file said of itself when it was last read.
    version: Option<i64>,
}

impl Ledger {
    /// Follows the entries after a place.
    pub fn tail(&self, after_seq: u64, filter: EntryFilter) -> Result<Tail, Error> {
        self.shared.refuse_if_poisoned()?;
        let sql = connection::open_reader(&self.shared.path, self.shared.reach)?;
        Ok(Tail { ledger: self.clone(), filter, sql, after_seq, version: None })
    }
}

impl Tail {
    /// The next entries. Waits for them; none came in time if there are none.
    pub fn next(&mut self, timeout: Duration) -> Result<Vec<Envelope>, Error> {
        // A time that is too far to say is no limit; then only what comes ends the wait.
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
            let left = deadline.map_or(TAIL_POLL_TIME_MAX, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return Ok(Vec::new());
            }
            let (signal, stream) = (&self.ledger.shared.signal, self.filter.stream);
            signal.wait_after(self.after_seq, stream, left.min(TAIL_POLL_TIME_MAX));
        }
    }

    /// All entries up to this one were handed out.
    pub fn after_seq(&self) -> u64 {
        self.after_seq
    }

    /// Changes whenever any other connection of any process writes.
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
