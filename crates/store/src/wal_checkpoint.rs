//! Copies the write-ahead log into the database file without delaying the writer.
//!
//! A commit appends a few pages to the log. Copying them into the file touches pages all over it
//! and waits for the disk again, so no append should wait for that too. A thread copies most of the
//! log while others read and write. The log restarts only when all of it is copied and no snapshot
//! reads from it, so the writer copies the last pages of a long log itself, between two commits.
//!
//! Must never: delay an append by more than the last few pages, or be needed for an entry's safety.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use crate::connection;
use crate::limits::{LOG_PAGES_COPIED, LOG_PAGES_FINISHED, LOG_PAGES_MAX};

/// Keeps the log of one database short.
pub(crate) struct WalCheckpointer {
    path: PathBuf,
    /// The length of the log after the last commit of this process, in pages.
    pages: Arc<AtomicU32>,
    /// The length at the last copy by the thread, in pages.
    copied: u32,
    /// The length when the writer last copied the rest, in pages.
    finished: u32,
    thread: Option<(SyncSender<()>, JoinHandle<()>)>,
}

impl WalCheckpointer {
    /// Takes over checkpointing from the connection, which would do it inside a commit.
    pub(crate) fn of(sql: &mut Connection, path: PathBuf) -> rusqlite::Result<Self> {
        let pages = Arc::new(AtomicU32::new(0));
        let told = pages.clone();
        sql.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count: i32| {
            told.store(count.unsigned_abs(), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self { path, pages, copied: 0, finished: 0, thread: None })
    }

    /// Starts a copy if the log has grown enough. The writer calls this between two commits.
    pub(crate) fn follow(&mut self, sql: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.copied || pages < self.finished {
            // The log has restarted.
            (self.copied, self.finished) = (0, 0);
        }
        if pages >= LOG_PAGES_MAX && pages - self.finished >= LOG_PAGES_FINISHED {
            self.finished = pages;
            match copy(sql) {
                // A copy that fails because of a reader or the thread is tried again later.
                Ok(()) | Err(_) => {}
            }
        }
        if pages - self.copied < LOG_PAGES_COPIED {
            return;
        }
        if self.thread.is_none() {
            self.thread = self.start();
        }
        let Some((wanted, _)) = &self.thread else { return };
        match wanted.try_send(()) {
            Ok(()) => self.copied = pages,
            // The thread is busy; the next commit tries again.
            Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
        }
    }

    /// Starts the thread. On failure the log grows; the last connection to close copies it.
    fn start(&self) -> Option<(SyncSender<()>, JoinHandle<()>)> {
        let sql = connection::open(&self.path).ok()?;
        let (wanted, orders) = mpsc::sync_channel(0);
        let copies = move || {
            for () in orders {
                match copy(&sql) {
                    // Pages that were not copied stay in the log, where they are as safe. The next
                    // append reports a failing disk.
                    Ok(()) | Err(_) => {}
                }
            }
        };
        let spawned = thread::Builder::new().name("ledger log".to_owned()).spawn(copies);
        spawned.ok().map(|thread| (wanted, thread))
    }
}

impl Drop for WalCheckpointer {
    fn drop(&mut self) {
        if let Some((wanted, thread)) = self.thread.take() {
            drop(wanted);
            match thread.join() {
                // A thread that panicked has reported it; no caller waits for it.
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// Copies the pages that no snapshot needs, without waiting for readers or writers.
fn copy(sql: &Connection) -> rusqlite::Result<()> {
    sql.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use rusqlite::OptionalExtension;

    use super::*;

    fn table() -> (tempfile::TempDir, Connection, PathBuf) {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("some.db");
        let sql = Connection::open(&path).unwrap();
        sql.pragma_update(None, "journal_mode", "WAL").unwrap();
        sql.pragma_update(None, "synchronous", "OFF").unwrap();
        sql.execute_batch("CREATE TABLE t (x BLOB)").unwrap();
        (directory, sql, path)
    }

    /// Makes the log longer, by a hundred pages at a time.
    fn grow(sql: &Connection, checkpoints: &mut WalCheckpointer, pages: u32) {
        for _ in 0..pages.div_ceil(100) {
            sql.execute("INSERT INTO t VALUES (zeroblob(100 * 4096))", []).unwrap();
            checkpoints.follow(sql);
        }
    }

    #[test]
    fn no_commit_copies_the_log_and_a_long_one_is_copied() {
        let (_directory, mut sql, path) = table();
        let mut checkpoints = WalCheckpointer::of(&mut sql, path.clone()).unwrap();
        grow(&sql, &mut checkpoints, LOG_PAGES_COPIED / 4);
        assert!(checkpoints.thread.is_none(), "a short log is left alone");
        let file = std::fs::metadata(&path).unwrap().len();
        assert!(file <= 2 * 4096, "a commit wrote {file} bytes beside the log");
        while checkpoints.copied == 0 {
            grow(&sql, &mut checkpoints, 100);
            assert!(checkpoints.pages.load(Ordering::Relaxed) < 40 * LOG_PAGES_MAX);
        }
        drop(checkpoints);
        let file = std::fs::metadata(&path).unwrap().len();
        assert!(file >= u64::from(LOG_PAGES_COPIED) * 4000, "the log was not copied: {file} bytes");
    }

    #[test]
    fn a_very_long_log_begins_anew() {
        let (_directory, mut sql, path) = table();
        let mut checkpoints = WalCheckpointer::of(&mut sql, path).unwrap();
        let mut longest = 0;
        while checkpoints.pages.load(Ordering::Relaxed) >= longest {
            longest = checkpoints.pages.load(Ordering::Relaxed);
            assert!(longest < 40 * LOG_PAGES_MAX, "the log grows and grows");
            grow(&sql, &mut checkpoints, 1);
        }
        assert!(longest >= LOG_PAGES_COPIED);
    }

    #[test]
    fn a_log_that_is_read_now_and_then_stays_short() {
        let (_directory, mut sql, path) = table();
        let mut checkpoints = WalCheckpointer::of(&mut sql, path.clone()).unwrap();
        let reader = Connection::open(&path).unwrap();
        let mut longest = 0;
        for _ in 0..100 {
            reader.execute_batch("BEGIN").unwrap();
            reader.query_row("SELECT x FROM t LIMIT 1", [], |_| Ok(())).optional().unwrap();
            grow(&sql, &mut checkpoints, LOG_PAGES_FINISHED);
            reader.execute_batch("COMMIT").unwrap();
            // Unlike real appends, this loop is faster than the disk: let the thread finish.
            if let Some((wanted, _)) = &checkpoints.thread {
                (0..2).for_each(|_| wanted.send(()).unwrap());
            }
            grow(&sql, &mut checkpoints, LOG_PAGES_FINISHED);
            longest = longest.max(checkpoints.pages.load(Ordering::Relaxed));
        }
        assert!(longest < 2 * LOG_PAGES_MAX, "the log had {longest} pages");
    }
}
