//! Connections to the database file, with fixed settings.
//!
//! Must never: let a reading connection write, or create a file in a home that is not writable.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use crate::error::Error;
use crate::limits::{BUSY_TIME_MS_MAX, READER_CACHE_KIB, STATEMENTS_MAX};

/// The access that the connections of a ledger have to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionMode {
    /// Other connections may write, in this process and in others.
    Shared,
    /// The home is not writable, so no file can be created beside the ledger.
    ReadOnly,
}

/// Opens a file in a home that is not writable. SQLite creates files beside a database with a log;
/// for a database without a log, `immutable` prevents that.
fn open_in_place(path: &Path) -> rusqlite::Result<Connection> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let has_log = std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if has_log {
        return Connection::open_with_flags(path, flags);
    }
    let escaped: String = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
                char::from(*byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect();
    let name = format!("file:{escaped}?immutable=1");
    Connection::open_with_flags(name, flags | OpenFlags::SQLITE_OPEN_URI)
}

/// Opens a connection that only reads.
pub(crate) fn open_reader(path: &Path, reach: ConnectionMode) -> Result<Connection, Error> {
    let sql = match reach {
        ConnectionMode::Shared => open(path)?,
        ConnectionMode::ReadOnly => {
            let opened = open_in_place(path).and_then(prepared);
            opened.map_err(|error| Error::read(path, error))?
        }
    };
    let set = sql
        .pragma_update(None, "query_only", true)
        // A negative number is in KiB.
        .and_then(|()| sql.pragma_update(None, "cache_size", -READER_CACHE_KIB));
    set.map_err(|error| Error::read(path, error))?;
    Ok(sql)
}

/// Begins a snapshot for several queries. Dropping the guard ends it.
pub(crate) fn snapshot(sql: &Connection) -> rusqlite::Result<Snapshot<'_>> {
    sql.prepare_cached("BEGIN DEFERRED")?.execute([])?;
    Ok(Snapshot(sql))
}

/// A snapshot of the database, until it is dropped.
pub(crate) struct Snapshot<'a>(&'a Connection);

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        match self.0.prepare_cached("COMMIT").and_then(|mut end| end.execute([])) {
            // Nothing was written. If even this fails, the next query reports the unreadable file.
            Ok(_) | Err(_) => {}
        }
    }
}

/// Stops a failed connection from writing to the file when it is closed.
pub(crate) fn abandon(sql: &Connection) {
    match sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true) {
        // If even this fails, nothing is left to protect: closing only copies committed pages.
        Ok(_) | Err(_) => {}
    }
}

pub(crate) fn open(path: &Path) -> Result<Connection, Error> {
    let opened = Connection::open(path).and_then(prepared);
    opened.map_err(|error| Error::read(path, error))
}

fn prepared(sql: Connection) -> rusqlite::Result<Connection> {
    sql.busy_timeout(Duration::from_millis(BUSY_TIME_MS_MAX))?;
    sql.pragma_update(None, "synchronous", "FULL")?;
    // These settings exist only on macOS, where fsync alone does not reach the disk.
    sql.pragma_update(None, "fullfsync", true)?;
    sql.pragma_update(None, "checkpoint_fullfsync", true)?;
    // With a mapped file, a disk error would kill the process.
    sql.pragma_update_and_check(None, "mmap_size", 0, |_| Ok(())).optional()?;
    sql.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(sql)
}
