//! Entries that were written and are gone: opening says so, and nothing takes their numbers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use agentry_protocol::event::Event;
use agentry_store::{Defect, EntryFilter, Error, Ledger, Loss};

use crate::scene::{START, Scene, WORKS, about, begun, clock, open, prompt, raw};

/// The home of a process that was killed, without its log.
fn without_log(scene: &Scene) -> tempfile::TempDir {
    let copy = tempfile::TempDir::new().expect(WORKS);
    for name in ["ledger.sqlite3", "anchor", "head"] {
        fs::copy(scene.home().join(name), copy.path().join(name)).expect(WORKS);
    }
    copy
}

#[track_caller]
fn lost(home: &Path) -> Loss {
    match open(home).map(|_| ()) {
        Err(Error::Lost { loss, .. }) => loss,
        other => panic!("{other:?}"),
    }
}

fn ends(loss: &Loss) -> (u64, u64) {
    (loss.last, loss.known)
}

#[test]
fn a_log_that_is_lost_is_reported_when_the_ledger_is_opened() {
    let scene = begun();
    for word in ["a", "b", "c"] {
        scene.add(&about(1), prompt(word));
    }
    let killed = without_log(&scene);
    let loss = lost(killed.path());
    assert!(loss.last < 7 && loss.known == 7, "{loss:?}");
}

#[test]
fn each_commit_is_known_to_the_head_and_not_only_each_second() {
    let scene = Scene::new();
    // The clock stands still, so no line of the anchor is due.
    let ledger = Ledger::open(&scene.directory.path().join("still"), Arc::new(|| START)).unwrap();
    for seq in 1..=3 {
        let draft = crate::scene::draft(&about(1), prompt("x"));
        ledger.append(vec![draft]).unwrap();
        let head = fs::read_to_string(scene.directory.path().join("still/head")).unwrap();
        assert!(head.starts_with(&format!("{seq:020} ")), "{head}");
    }
    let anchor = fs::read_to_string(scene.directory.path().join("still/anchor")).unwrap();
    assert_eq!(anchor, "");
}

#[test]
fn a_ledger_that_was_emptied_is_reported_when_it_is_opened() {
    let scene = begun();
    let home = scene.home();
    let Scene { ledger, directory: _directory } = scene;
    drop(ledger);
    fs::remove_file(home.join("ledger.sqlite3")).unwrap();
    assert_eq!(ends(&lost(&home)), (0, 4));
    // It stays so, however often it is tried.
    assert_eq!(ends(&lost(&home)), (0, 4));
    let text = open(&home).map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("agentry ledger accept-loss") && text.contains("entry 0"), "{text}");
}

#[test]
fn a_crash_before_the_head_is_written_is_no_loss() {
    let scene = begun();
    let home = scene.home();
    let (head, anchor) = (home.join("head"), home.join("anchor"));
    let (old_head, old_anchor) = (fs::read(&head).unwrap(), fs::read(&anchor).unwrap());
    scene.add(&about(1), prompt("late"));
    let Scene { ledger, directory: _directory } = scene;
    drop(ledger);
    fs::write(&head, old_head).unwrap();
    fs::write(&anchor, old_anchor).unwrap();
    assert_eq!(open(&home).unwrap().last_seq().unwrap(), 5);
    for torn in ["", "0000", "00000000000000000009 abc"] {
        fs::write(&head, torn).unwrap();
        assert_eq!(open(&home).unwrap().last_seq().unwrap(), 5, "{torn}");
    }
}

#[test]
fn a_loss_is_accepted_with_an_entry_and_no_number_is_used_twice() {
    let scene = begun();
    let home = scene.home();
    let Scene { ledger, directory: _directory } = scene;
    drop(ledger);
    for round in 1..=2 {
        let sql = raw(&home);
        sql.execute_batch("DROP TRIGGER IF EXISTS ledger_is_never_cut").unwrap();
        let last: u32 = sql.query_row("SELECT MAX(seq) FROM ledger", [], |row| row.get(0)).unwrap();
        sql.execute("DELETE FROM ledger WHERE seq > ?1", [last - 2]).unwrap();
        sql.close().unwrap();
        let last = u64::from(last);
        let loss = lost(&home);
        assert_eq!(ends(&loss), (last - 2, last));
        let accepted = Ledger::accept_loss(&home, clock()).unwrap();
        assert_eq!((accepted.seq, &accepted.loss), (last + 1, &loss));
        let ledger = open(&home).unwrap();
        let entries = ledger.read_from(last, &EntryFilter::default(), 9).unwrap();
        let (last, known) = ends(&loss);
        let hash = loss.hash.clone();
        assert_eq!(entries[0].event, Event::LossAccepted { last, known, hash });
        let drafts = ["x", "y"].map(|word| crate::scene::draft(&about(9), prompt(word)));
        let next = ledger.append(drafts.to_vec()).unwrap();
        assert_eq!(next[0].seq, accepted.seq + 1);
        ledger.rebuild_views().unwrap();
        let verified = ledger.verify().unwrap();
        assert_eq!((verified.losses, ledger.loss().unwrap()), (round, None));
    }
    assert!(matches!(Ledger::accept_loss(&home, clock()), Err(Error::NothingLost { .. })));
}

#[test]
fn a_gap_that_no_accepted_loss_explains_is_found() {
    let scene = begun();
    let home = scene.home();
    let Scene { ledger, directory } = scene;
    drop(ledger);
    fs::remove_file(home.join("ledger.sqlite3")).unwrap();
    Ledger::accept_loss(&home, clock()).unwrap();
    let scene = Scene { ledger: open(&home).unwrap(), directory };
    assert_eq!(scene.defects(), []);
    let scene = scene.tampered(|sql| {
        sql.execute("UPDATE ledger SET body = replace(body, '\"last\":0', '\"last\":2')", [])
            .unwrap();
    });
    assert_eq!(scene.defects()[0], (5, Defect::Gap { expected: 1 }));
}

#[test]
fn what_is_opened_to_be_read_changes_nothing_and_says_what_is_lost() {
    let scene = begun();
    let home = scene.home();
    let Scene { ledger, directory: _directory } = scene;
    drop(ledger);
    let state = || {
        let mut all: Vec<_> = fs::read_dir(&home)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let meta = entry.metadata().unwrap();
                (entry.file_name(), meta.len(), meta.modified().unwrap())
            })
            .filter(|(name, ..)| !name.to_string_lossy().ends_with("-shm"))
            .filter(|(name, length, _)| *length > 0 || !name.to_string_lossy().ends_with("-wal"))
            .collect();
        all.sort();
        all
    };
    let before = state();
    let ledger = Ledger::open_to_read(&home, clock()).unwrap();
    assert_eq!(ledger.verify().unwrap().entries, 4);
    assert_eq!(ledger.loss().unwrap(), None);
    let draft = crate::scene::draft(&about(1), prompt("x"));
    assert!(matches!(ledger.append(vec![draft]), Err(Error::ReadOnly { .. })));
    assert!(matches!(ledger.lock_intake(), Err(Error::ReadOnly { .. })));
    assert!(matches!(ledger.rebuild_views(), Err(Error::ReadOnly { .. })));
    drop(ledger);
    assert_eq!(state(), before);
    let head = fs::read_to_string(home.join("head")).unwrap();
    fs::write(home.join("head"), head.replacen("04 ", "09 ", 1)).unwrap();
    let ledger = Ledger::open_to_read(&home, clock()).unwrap();
    assert_eq!(ends(&ledger.loss().unwrap().unwrap()), (4, 9));
}

#[test]
fn no_time_is_before_the_newest_entry_when_the_clock_was_set_back() {
    let scene = begun();
    let newest = scene.all().last().unwrap().time;
    let home = scene.home();
    let Scene { ledger, directory: _directory } = scene;
    drop(ledger);
    let day = 24 * 60 * 60 * 1000;
    let early = newest - day;
    let ledger = Ledger::open(&home, Arc::new(move || early)).unwrap();
    assert!(ledger.now() >= newest && ledger.now() < newest + day);
    assert!(ledger.clock_behind_ms() >= day);
    let draft = crate::scene::draft(&about(1), prompt("x"));
    assert!(ledger.append(vec![draft]).unwrap()[0].time >= newest);
    drop(ledger);
    let read = Ledger::open_to_read(&home, Arc::new(move || early)).unwrap();
    assert!(read.now() >= newest && read.clock_behind_ms() >= day);
    let right = Ledger::open(&home, Arc::new(move || newest + day)).unwrap();
    assert_eq!((right.now(), right.clock_behind_ms()), (newest + day, 0));
}
