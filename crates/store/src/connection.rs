//! Opens the database file with fixed settings, and upgrades it to the current layout.
//!
//! Two processes may open one home at the same moment; a lock file lets one of them upgrade first.
//!
//! Must never: change a file that a newer program wrote.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use agentry_protocol::envelope::EVENT_VERSION;
use refinery::{Migration, Runner};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use crate::artifact::Artifacts;
use crate::error::Error;
use crate::home::{self, Home};
use crate::limits::{BUSY_TIME_MS_MAX, READER_CACHE_KIB, STATEMENTS_MAX};
use crate::view;

/// Raised with every migration and every change of a view. An older program stops at a higher
/// number; a newer one folds the views again at a lower number.
pub(crate) const LAYOUT_VERSION: u64 = 11;

const MIGRATIONS: [(&str, &str); 3] = [
    ("V1__ledger", include_str!("migrations/V1__ledger.sql")),
    ("V2__entries_of_a_turn", include_str!("migrations/V2__entries_of_a_turn.sql")),
    ("V3__reservations", include_str!("migrations/V3__reservations.sql")),
];

/// Opens the writing connection, and upgrades the file to the current layout.
pub(crate) fn open_writer(home: &Home) -> Result<Connection, Error> {
    let path = home.ledger();
    let _turn = wait_for_turn(home)?;
    let mut sql = open(&path)?;
    refuse_the_future(&sql, &path)?;
    let read = |error| Error::read(&path, error);
    keep_a_log(&sql, &path)?;
    if layout(&sql).map_err(read)? < LAYOUT_VERSION {
        upgrade(&mut sql, &path, &Artifacts::new(home))?;
    }
    // The database reports no error when the directory entry of its log does not reach the disk.
    home::sync_directory(home.root())?;
    Ok(sql)
}

/// Switches to a write-ahead log. On a disk error the database first answers with the new mode and
/// only then fails, so the query is read to its end.
fn keep_a_log(sql: &Connection, path: &Path) -> Result<(), Error> {
    let mut mode = String::new();
    let asked = sql.pragma(None, "journal_mode", "WAL", |row| {
        mode = row.get(0)?;
        Ok(())
    });
    asked.map_err(|error| Error::read(path, error))?;
    if mode == "wal" {
        return Ok(());
    }
    let why = format!("its journal stays `{mode}`; `wal` is needed");
    Err(Error::Upgrade { path: path.to_owned(), why })
}

/// The access that the connections of a ledger have to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionMode {
    /// Other connections may write, in this process and in others.
    Shared,
    /// The home is not writable, so no file can be created beside the ledger.
    ReadOnly,
}

/// Checks that a file has the current layout and can be read without an upgrade.
pub(crate) fn check_readable(home: &Home, reach: ConnectionMode) -> Result<(), Error> {
    let path = home.ledger();
    let read = |error| Error::read(&path, error);
    let sql = open_reader(&path, reach)?;
    refuse_the_future(&sql, &path)?;
    match layout(&sql).map_err(read)? < LAYOUT_VERSION {
        true => Err(Error::NeedsUpgrade { path: path.clone() }),
        false => Ok(()),
    }
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
        .map(|byte| match byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            true => char::from(*byte).to_string(),
            false => format!("%{byte:02X}"),
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
        // Nothing was written. If even this fails, the next query reports the unreadable file.
        let ended = self.0.prepare_cached("COMMIT").and_then(|mut end| end.execute([]));
        ended.map(drop).unwrap_or_default();
    }
}

/// Stops a failed connection from writing to the file when it is closed.
pub(crate) fn abandon(sql: &Connection) {
    // If even this fails, nothing is left to protect: closing only copies committed pages.
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap_or_default();
}

/// Returns the layout version of the file.
pub(crate) fn layout(sql: &Connection) -> rusqlite::Result<u64> {
    let mut version = sql.prepare_cached("PRAGMA user_version")?;
    version.query_row([], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
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

/// Waits for the lock on upgrades. Dropping the file releases it.
fn wait_for_turn(home: &Home) -> Result<File, Error> {
    let path = home.locks().join("open.lock");
    let locked = home::private_file().append(true).open(&path).and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    locked.map_err(|source| Error::File { path, doing: "lock", source })
}

fn refuse_the_future(sql: &Connection, path: &Path) -> Result<(), Error> {
    let read = |error| Error::read(path, error);
    let refuse = |what, found, known| {
        Err(Error::FromTheFuture { path: path.to_owned(), what, found, known })
    };
    let found = layout(sql).map_err(read)?;
    if found > LAYOUT_VERSION {
        return refuse("layout", found, LAYOUT_VERSION);
    }
    let known = MIGRATIONS.len() as u64;
    let found = newest(sql, "refinery_schema_history", "MAX(version)").map_err(read)?;
    if found > known {
        return refuse("schema", found, known);
    }
    // An older program never appends after a newer entry: the last version is the highest.
    let last = newest(sql, "ledger", "version").map_err(read)?;
    if last > u64::from(EVENT_VERSION) {
        return refuse("event", last, u64::from(EVENT_VERSION));
    }
    Ok(())
}

/// Returns a number from the last row of a table; zero if there is no such table or row.
fn newest(sql: &Connection, table: &str, column: &str) -> rusqlite::Result<u64> {
    if !sql.table_exists(None, table)? {
        return Ok(0);
    }
    let order = if table == "ledger" { "ORDER BY seq DESC LIMIT 1" } else { "" };
    let found = sql
        .query_row(&format!("SELECT {column} FROM {table} {order}"), [], |row| row.get(0))
        .optional()?;
    Ok(found.flatten().map_or(0, i64::cast_unsigned))
}

fn upgrade(sql: &mut Connection, path: &Path, artifacts: &Artifacts) -> Result<(), Error> {
    let fault = |why: String| Error::Upgrade { path: path.to_owned(), why };
    let migrations = MIGRATIONS.map(|(name, text)| {
        Migration::unapplied(name, text).expect("the names of our migrations have the right form")
    });
    // All or nothing: a process that ends half-way leaves a file that can still be upgraded.
    let runner = Runner::new(&migrations).set_grouped(true);
    runner.run(sql).map_err(|error| fault(error.to_string()))?;
    sql.execute_batch("BEGIN IMMEDIATE").map_err(|error| fault(error.to_string()))?;
    let rebuilt = view::rebuild(sql, path, artifacts).and_then(|()| {
        sql.pragma_update(None, "user_version", LAYOUT_VERSION.cast_signed())
            .and_then(|()| sql.execute_batch("COMMIT"))
            .map_err(|error| fault(error.to_string()))
    });
    rebuilt.inspect_err(|_| sql.execute_batch("ROLLBACK").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> (tempfile::TempDir, Home) {
        let directory = tempfile::TempDir::new().unwrap();
        let home = Home::open(&directory.path().join("a home?#%")).unwrap();
        (directory, home)
    }

    fn names(home: &Home) -> Vec<std::ffi::OsString> {
        let mut names: Vec<_> =
            std::fs::read_dir(home.root()).unwrap().map(|one| one.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_without_a_log_is_read_in_place_and_nothing_is_made_beside_it() {
        let (_directory, home) = made();
        drop(open_writer(&home).unwrap());
        let before = names(&home);
        check_readable(&home, ConnectionMode::ReadOnly).unwrap();
        let sql = open_reader(&home.ledger(), ConnectionMode::ReadOnly).unwrap();
        assert_eq!(newest(&sql, "ledger", "version").unwrap(), 0);
        assert!(sql.execute_batch("DELETE FROM ledger").is_err());
        drop(sql);
        assert_eq!(names(&home), before);
    }

    #[test]
    fn a_file_with_a_log_is_read_with_what_the_log_holds() {
        let (_directory, home) = made();
        let writer = open_writer(&home).unwrap();
        writer.execute_batch("CREATE TABLE late (x); INSERT INTO late VALUES (7)").unwrap();
        let sql = open_reader(&home.ledger(), ConnectionMode::ReadOnly).unwrap();
        let found: i64 = sql.query_row("SELECT x FROM late", [], |row| row.get(0)).unwrap();
        assert_eq!(found, 7);
    }

    #[test]
    fn a_file_of_an_older_form_is_not_read_as_it_is() {
        let (_directory, home) = made();
        let read = check_readable(&home, ConnectionMode::ReadOnly);
        assert!(matches!(read, Err(Error::NeedsUpgrade { .. })));
    }
}
