//! Many appends share a commit, each is refused alone, and a commit that failed stops everything.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::Ending;
use agentry_store::limits::ANCHOR_ENTRIES_MAX;
use agentry_store::{ApprovalStatus, EntryFilter, Error};

use crate::scene::{
    Scene, about, answers, apr, asks, begun, draft, ends, open, opened, prompt, raw, ses, starts,
    trn,
};

#[test]
fn appends_that_come_together_share_a_commit() {
    const THREADS: usize = 16;
    const APPENDS: usize = 20;
    let scene = Scene::new();
    let barrier = Barrier::new(THREADS);
    let mut seqs: Vec<u64> = thread::scope(|scope| {
        let work = |thread: usize| {
            let (barrier, ledger) = (&barrier, scene.ledger.clone());
            scope.spawn(move || {
                barrier.wait();
                let append = |number| {
                    let event = prompt(format!("{thread} {number}"));
                    let written =
                        ledger.append(vec![draft(&EntrySubject::default(), event.clone()); 2]);
                    let written = written.unwrap();
                    assert!(written.iter().all(|entry| entry.event == event));
                    assert_eq!(written[0].seq + 1, written[1].seq);
                    written[0].seq
                };
                (0..APPENDS).map(append).collect::<Vec<u64>>()
            })
        };
        let threads: Vec<_> = (0..THREADS).map(work).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    seqs.sort_unstable();
    assert_eq!(seqs, (0..THREADS * APPENDS).map(|n| 2 * n as u64 + 1).collect::<Vec<_>>());
    assert!(scene.ledger.commits() < (THREADS * APPENDS) as u64);
    assert_eq!(scene.defects(), []);
}

#[test]
fn an_answer_that_nobody_waits_for_writes_nothing() {
    let scene = begun();
    scene.add(&about(1), asks(1, 1));
    let count = scene.ledger.last_seq().unwrap();
    let answer = |number, allow| {
        let drafts = vec![
            draft(&about(1), prompt("before")),
            draft(&EntrySubject::default(), answers(number, allow)),
        ];
        scene.ledger.append(drafts)
    };
    match answer(2, true) {
        Err(Error::NotWaiting { approval, status: None }) => assert_eq!(approval, apr(2)),
        other => panic!("{other:?}"),
    }
    assert_eq!(scene.ledger.last_seq().unwrap(), count);
    assert_eq!(answer(1, false).unwrap()[1].seq, count + 2);
    match answer(1, true) {
        Err(Error::NotWaiting { status: Some(ApprovalStatus::No), .. }) => {}
        other => panic!("{other:?}"),
    }
    scene.add(&about(1), asks(3, 3));
    scene.add(&about(1), ends(Ending::Failed));
    match answer(3, true) {
        Err(Error::NotWaiting { status: Some(ApprovalStatus::Withdrawn), .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(scene.defects(), []);
}

#[test]
fn an_agent_has_one_session_of_a_name() {
    let scene = begun();
    let again = EntrySubject { session: Some(ses(2)), ..EntrySubject::default() };
    match scene.ledger.append(vec![draft(&again, opened("main", None))]) {
        Err(Error::SessionExists { session, .. }) => assert_eq!(session, ses(1)),
        other => panic!("{other:?}"),
    }
    scene.add(&again, opened("other", None));
}

#[test]
fn a_turn_starts_only_at_the_head_and_alone() {
    let scene = begun();
    let start = |turn, parent| scene.ledger.append(vec![draft(&about(turn), starts(parent))]);
    match start(2, None) {
        Err(Error::HeadMoved { under_way, head: None, .. }) => assert_eq!(under_way, Some(trn(1))),
        other => panic!("{other:?}"),
    }
    scene.add(&about(1), ends(Ending::Cancelled));
    match start(2, None) {
        Err(Error::HeadMoved { session, expected: None, head, under_way: None }) => {
            assert_eq!((session, head), (ses(1), Some(trn(1))));
        }
        other => panic!("{other:?}"),
    }
    start(2, Some(trn(1))).unwrap();
}

#[test]
fn an_append_at_a_head_that_moved_writes_nothing() {
    let scene = begun();
    let at = |head| {
        let drafts = vec![draft(&about(1), prompt("x"))];
        scene.ledger.append_at_head(&ses(1), head, drafts)
    };
    at(None).unwrap();
    scene.add(&about(1), ends(Ending::Done));
    let count = scene.ledger.last_seq().unwrap();
    assert!(matches!(at(None), Err(Error::HeadMoved { .. })));
    assert_eq!(scene.ledger.last_seq().unwrap(), count);
    at(Some(&trn(1))).unwrap();
}

#[test]
fn of_many_that_race_for_a_head_one_wins_and_the_others_are_not_hurt() {
    const THREADS: u128 = 8;
    let scene = begun();
    scene.add(&about(1), ends(Ending::Done));
    let other = open(&scene.home()).unwrap();
    let barrier = Barrier::new(THREADS as usize);
    let won = thread::scope(|scope| {
        let work = |number: u128| {
            let ledger = if number.is_multiple_of(2) { &scene.ledger } else { &other };
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                let drafts = vec![
                    draft(&EntrySubject::default(), prompt("first")),
                    draft(&about(10 + number), starts(Some(trn(1)))),
                ];
                let started = ledger.append(drafts);
                ledger.append(vec![draft(&EntrySubject::default(), prompt("anyway"))]).unwrap();
                match started {
                    Ok(_) => 1,
                    Err(Error::HeadMoved { .. }) => 0,
                    Err(other) => panic!("{other}"),
                }
            })
        };
        let threads: Vec<_> = (0..THREADS).map(work).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    assert_eq!(won, 1);
    // The one that began, its prompt, and what everybody wrote afterwards.
    assert_eq!(scene.ledger.last_seq().unwrap(), 5 + 2 + THREADS as u64);
    assert_eq!(scene.defects(), []);
}

/// A row that breaks a promise which is only checked at the commit.
const FAILING_COMMIT: &str = "
    CREATE TABLE promised (id INTEGER PRIMARY KEY);
    CREATE TABLE broken (id INTEGER REFERENCES promised (id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER fail_at_commit AFTER INSERT ON ledger BEGIN INSERT INTO broken VALUES (1); END;";

#[test]
fn after_a_failed_commit_everything_is_refused_until_the_ledger_is_opened_again() {
    let scene = begun();
    let mut tail = scene.ledger.tail(0, EntryFilter::default()).unwrap();
    let sql = raw(&scene.home());
    sql.execute_batch(FAILING_COMMIT).unwrap();
    let append = || scene.ledger.append(vec![draft(&about(1), prompt("x"))]);
    let unknown = |error: Error| match error {
        Error::OutcomeUnknown { path, cause } => {
            assert_eq!(path, scene.home().join("ledger.sqlite3"));
            assert_eq!(cause, "FOREIGN KEY constraint failed");
        }
        other => panic!("{other}"),
    };
    unknown(append().unwrap_err());
    sql.execute_batch("DROP TRIGGER fail_at_commit").unwrap();
    unknown(append().unwrap_err());
    unknown(scene.ledger.read_from(0, &EntryFilter::default(), 1).unwrap_err());
    unknown(scene.ledger.lock_session(&ses(1)).unwrap_err());
    unknown(scene.ledger.rebuild_views().unwrap_err());
    unknown(scene.ledger.verify().unwrap_err());
    unknown(tail.next(Duration::MAX).unwrap_err());
    let again = open(&scene.home()).unwrap();
    assert_eq!(again.verify().unwrap().entries, 4);
    again.append(vec![draft(&about(1), prompt("x"))]).unwrap();
}

#[test]
fn all_who_share_a_failed_commit_are_told() {
    let scene = begun();
    raw(&scene.home()).execute_batch(FAILING_COMMIT).unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let failed = scene.ledger.append(vec![draft(&about(1), prompt("x"))]);
                assert!(matches!(failed, Err(Error::OutcomeUnknown { .. })));
            });
        }
    });
}

#[test]
fn the_anchor_follows_within_its_limit_and_at_the_end() {
    let scene = Scene::new();
    let lines = || {
        let text = std::fs::read_to_string(scene.home().join("anchor")).unwrap();
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    scene.add(&EntrySubject::default(), prompt("x"));
    assert_eq!(lines().len(), 0);
    scene
        .ledger
        .append(vec![draft(&EntrySubject::default(), prompt("x")); ANCHOR_ENTRIES_MAX as usize])
        .unwrap();
    // The line follows the answer; the next append follows the line.
    scene.add(&EntrySubject::default(), prompt("x"));
    assert!(lines()[0].starts_with("1001 "), "{:?}", lines());
    drop(scene.ledger.clone());
    assert_eq!(lines().len(), 1);
    let Scene { ledger, directory } = scene;
    drop(ledger);
    let text = std::fs::read_to_string(directory.path().join("home/anchor")).unwrap();
    assert!(text.lines().last().unwrap().starts_with("1002 "));
}
