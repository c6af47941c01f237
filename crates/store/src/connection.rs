//! Opens the database file, the same way everywhere, and brings it to today's form.
//!
//! Two processes may open one home at the same moment; a lock file lets one of them upgrade at a time.
//!
//! Must never: touch a file that a newer program wrote.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use agentry_protocol::envelope::EVENT_VERSION;
use refinery::{Migration, Runner};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension};

use crate::artifact::Artifacts;
use crate::error::Error;
use crate::home::{self, Home};
use crate::limits::{BUSY_TIME_MS_MAX, READER_CACHE_KIB, STATEMENTS_MAX};
use crate::view;

/// Raised with every migration and every change of a view. An older program stops when it sees a
/// higher one; a newer one folds the views again when it sees a lower one.
pub(crate) const LAYOUT_VERSION: u64 = 9;

const MIGRATIONS: [(&str, &str); 3] = [
    ("V1__ledger", include_str!("migrations/V1__ledger.sql")),
    ("V2__entries_of_a_turn", include_str!("migrations/V2__entries_of_a_turn.sql")),
    ("V3__reservations", include_str!("migrations/V3__reservations.sql")),
];

/// The connection that writes, to a file in today's form.
pub(crate) fn open_writer(home: &Home) -> Result<Connection, Error> {
    let path = home.ledger();
    let _turn = wait_for_turn(home)?;
    let mut sql = open(&path)?;
    refuse_the_future(&sql, &path)?;
    let read = |source| Error::Read { path: path.clone(), source };
    keep_a_log(&sql, &path)?;
    if layout(&sql).map_err(read)? < LAYOUT_VERSION {
        upgrade(&mut sql, &path, &Artifacts::new(home))?;
    }
    // The database does not tell when the name of its log does not reach the disk.
    home::sync_directory(home.root())?;
    Ok(sql)
}

/// Where the disk fails, the database answers as if it had changed its journal, and complains only
/// after its answer. So the question is asked to its end.
fn keep_a_log(sql: &Connection, path: &Path) -> Result<(), Error> {
    let mut mode = String::new();
    let asked = sql.pragma(None, "journal_mode", "WAL", |row| {
        mode = row.get(0)?;
        Ok(())
    });
    asked.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    if mode == "wal" {
        return Ok(());
    }
    let why = format!("its journal stays `{mode}`; `wal` is needed");
    Err(Error::Upgrade { path: path.to_owned(), why })
}

/// A connection that only reads.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, Error> {
    let sql = open(path)?;
    let set = sql
        .pragma_update(None, "query_only", true)
        // A negative number is in KiB.
        .and_then(|()| sql.pragma_update(None, "cache_size", -READER_CACHE_KIB));
    set.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    Ok(sql)
}

/// Begins a snapshot for several questions. It ends with the guard.
pub(crate) fn snapshot(sql: &Connection) -> rusqlite::Result<Snapshot<'_>> {
    sql.prepare_cached("BEGIN DEFERRED")?.execute([])?;
    Ok(Snapshot(sql))
}

/// A snapshot of the database.
pub(crate) struct Snapshot<'a>(&'a Connection);

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // Nothing was written. Where even this fails, the next question says that the file cannot be read.
        let ended = self.0.prepare_cached("COMMIT").and_then(|mut end| end.execute([]));
        ended.map(drop).unwrap_or_default();
    }
}

/// Says that nothing more may be done with the file through this connection.
pub(crate) fn abandon(sql: &Connection) {
    // If even this fails there is nothing left to protect: closing only copies what is in the file.
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap_or_default();
}

/// The layout that the file has now.
pub(crate) fn layout(sql: &Connection) -> rusqlite::Result<u64> {
    let mut version = sql.prepare_cached("PRAGMA user_version")?;
    version.query_row([], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
}

pub(crate) fn open(path: &Path) -> Result<Connection, Error> {
    let opened = Connection::open(path).and_then(|sql| {
        sql.busy_timeout(Duration::from_millis(BUSY_TIME_MS_MAX))?;
        sql.pragma_update(None, "synchronous", "FULL")?;
        // Only macOS knows these; there, fsync alone does not reach the disk.
        sql.pragma_update(None, "fullfsync", true)?;
        sql.pragma_update(None, "checkpoint_fullfsync", true)?;
        // A mapped file turns an error of the disk into the death of the process.
        sql.pragma_update_and_check(None, "mmap_size", 0, |_| Ok(())).optional()?;
        sql.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        Ok(sql)
    });
    opened.map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// The lock is free again when the file is dropped.
fn wait_for_turn(home: &Home) -> Result<File, Error> {
    let path = home.locks().join("open.lock");
    let locked = home::private_file().append(true).open(&path).and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    locked.map_err(|source| Error::File { path, doing: "lock", source })
}

fn refuse_the_future(sql: &Connection, path: &Path) -> Result<(), Error> {
    let read = |source| Error::Read { path: path.to_owned(), source };
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
    // An older program never appends after a newer entry, so the last entry has the highest version.
    let last = newest(sql, "ledger", "version").map_err(read)?;
    if last > u64::from(EVENT_VERSION) {
        return refuse("event", last, u64::from(EVENT_VERSION));
    }
    Ok(())
}

/// A number of the last row of a table; zero where there is no such table or row.
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
