//! The layout of the database file: its version, and the upgrade to the current one.
//!
//! Two processes may open one home at the same moment; a lock file lets one of them upgrade first.
//!
//! Must never: change a file that a newer program wrote.

use std::fs::File;
use std::path::Path;

use agentry_protocol::envelope::EVENT_VERSION;
use refinery::{Migration, Runner};
use rusqlite::{Connection, OptionalExtension};

use crate::artifact::Artifacts;
use crate::connection::{self, ConnectionMode};
use crate::error::Error;
use crate::home::{self, Home};
use crate::sqlite::SqliteEntryLog;
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
pub(crate) fn open_writer(home: &Home, artifacts: &Artifacts) -> Result<Connection, Error> {
    let path = home.ledger();
    let _turn = wait_for_turn(home)?;
    let mut sql = connection::open(&path)?;
    refuse_the_future(&sql, &path)?;
    let read = |error| Error::read(&path, error);
    keep_a_log(&sql, &path)?;
    if version(&sql).map_err(read)? < LAYOUT_VERSION {
        upgrade(&mut sql, &path, artifacts)?;
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

/// Checks that a file has the current layout and can be read without an upgrade.
pub(crate) fn check_readable(home: &Home, reach: ConnectionMode) -> Result<(), Error> {
    let path = home.ledger();
    let read = |error| Error::read(&path, error);
    let sql = connection::open_reader(&path, reach)?;
    refuse_the_future(&sql, &path)?;
    if version(&sql).map_err(read)? < LAYOUT_VERSION {
        return Err(Error::NeedsUpgrade { path: path.clone() });
    }
    Ok(())
}

/// Returns the layout version of the file.
pub(crate) fn version(sql: &Connection) -> rusqlite::Result<u64> {
    let mut version = sql.prepare_cached("PRAGMA user_version")?;
    version.query_row([], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
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
    let found = version(sql).map_err(read)?;
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
    let rebuilt = view::rebuild(sql, &mut SqliteEntryLog, path, artifacts).and_then(|()| {
        sql.pragma_update(None, "user_version", LAYOUT_VERSION.cast_signed())
            .and_then(|()| sql.execute_batch("COMMIT"))
            .map_err(|error| fault(error.to_string()))
    });
    rebuilt.inspect_err(|_| match sql.execute_batch("ROLLBACK") {
        // The connection is closed now, which rolls back what this did not.
        Ok(()) | Err(_) => {}
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::connection::open_reader;
    use crate::files::FileBlobs;

    fn made() -> (tempfile::TempDir, Home) {
        let directory = tempfile::TempDir::new().unwrap();
        let home = Home::open(&directory.path().join("a home?#%")).unwrap();
        (directory, home)
    }

    fn artifacts(home: &Home) -> Artifacts {
        Artifacts::new(home, Arc::new(FileBlobs::new(home)))
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
        drop(open_writer(&home, &artifacts(&home)).unwrap());
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
        let writer = open_writer(&home, &artifacts(&home)).unwrap();
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
