//! Files of older programs are upgraded, files of newer ones are refused.

use std::fs;

use agentry_protocol::envelope::EntrySubject;
use agentry_store::Error;
use refinery::{Migration, Runner};
use rusqlite::Connection;

use crate::scene::{Scene, WORKS, about, begun, draft, open, prompt, raw, trn};

#[track_caller]
fn check_future(change: &str, expected: (&str, u64, u64)) {
    let scene = begun();
    let home = scene.home();
    let Scene { ledger, directory } = scene;
    drop(ledger);
    raw(&home).execute_batch(change).expect(WORKS);
    let before = fs::read(home.join("ledger.sqlite3")).expect(WORKS);
    let error = open(&home).err().expect(WORKS);
    let text = error.to_string();
    match error {
        Error::FromTheFuture { path, what, found, known } => {
            assert_eq!(path, home.join("ledger.sqlite3"));
            assert_eq!((what, found, known), expected);
        }
        other => panic!("{other}"),
    }
    assert!(text.ends_with("upgrade agentry"), "{text}");
    assert_eq!(fs::read(home.join("ledger.sqlite3")).expect(WORKS), before);
    drop(directory);
}

#[test]
fn a_newer_layout_is_refused() {
    check_future("PRAGMA user_version = 12", ("layout", 12, 11));
}

#[test]
fn a_newer_schema_is_refused() {
    check_future(
        "INSERT INTO refinery_schema_history VALUES (9, 'later', '2030-01-01T00:00:00Z', '1')",
        ("schema", 9, 3),
    );
}

const NEWER_ENTRY: &str = "INSERT INTO ledger
    SELECT 5, time, cause, 2, stream, session, run, turn, kind, body, hash FROM ledger WHERE seq = 4";

#[test]
fn a_newer_event_is_refused() {
    check_future(NEWER_ENTRY, ("event", 2, 1));
}

#[test]
fn nothing_is_appended_after_what_a_newer_program_wrote_meanwhile() {
    let scene = begun();
    let sql = raw(&scene.home());
    let refused = |what| match scene.ledger.append(vec![draft(&about(1), prompt("x"))]) {
        Err(Error::FromTheFuture { what: found, .. }) => assert_eq!(found, what),
        other => panic!("{other:?}"),
    };
    sql.execute_batch("PRAGMA user_version = 12").unwrap();
    refused("layout");
    sql.execute_batch("PRAGMA user_version = 11").unwrap();
    scene.add(&about(1), prompt("fine"));
    sql.execute_batch(&NEWER_ENTRY.replace("SELECT 5", "SELECT 6")).unwrap();
    refused("event");
}

/// A file as the first program made it: one migration, and no views.
fn first_form(sql: &mut Connection) {
    let text = include_str!("../../src/migrations/V1__ledger.sql");
    let first = Migration::unapplied("V1__ledger", text).expect(WORKS);
    Runner::new(&[first]).run(sql).expect(WORKS);
}

#[test]
fn a_file_of_the_first_form_is_upgraded_with_all_that_is_in_it() {
    let newer = begun();
    let (entries, views) = (newer.all(), newer.ledger.dump_views().unwrap());
    let directory = tempfile::TempDir::new().unwrap();
    let home = directory.path().join("home");
    fs::create_dir(&home).unwrap();
    let mut sql = raw(&home);
    first_form(&mut sql);
    sql.execute("ATTACH ?1 AS newer", [newer.home().join("ledger.sqlite3").to_str()]).unwrap();
    sql.execute("INSERT INTO ledger SELECT * FROM newer.ledger", []).unwrap();
    sql.close().unwrap();
    let older = Scene { ledger: open(&home).unwrap(), directory };
    assert_eq!(older.all(), entries);
    assert_eq!(older.ledger.dump_views().unwrap(), views);
    assert_eq!(older.defects(), []);
    let indexes: i64 = raw(&home)
        .query_row("SELECT count(*) FROM sqlite_master WHERE name = 'ledger_by_turn'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(indexes, 1);
    older.add(&EntrySubject { turn: Some(trn(7)), ..EntrySubject::default() }, prompt("on we go"));
    assert_eq!(older.defects(), []);
}

#[test]
fn views_of_an_older_layout_are_folded_again() {
    let scene = begun();
    let views = scene.ledger.dump_views().unwrap();
    let scene = scene.tampered(|sql| {
        sql.execute_batch("DROP TABLE turns; DELETE FROM runs; PRAGMA user_version = 1").unwrap();
    });
    assert_eq!(scene.ledger.dump_views().unwrap(), views);
}

#[test]
fn a_file_that_is_no_ledger_is_named() {
    let directory = tempfile::TempDir::new().unwrap();
    fs::write(directory.path().join("ledger.sqlite3"), "not a database, not at all".repeat(99))
        .unwrap();
    let text = open(directory.path()).err().unwrap().to_string();
    assert!(text.contains("ledger.sqlite3"), "{text}");
}
