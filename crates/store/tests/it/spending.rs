//! What was spent and what is set aside: sums from the entries, and limits that hold between everybody.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use agentry_protocol::AgentId;
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::Event;
use agentry_protocol::message::{FailureKind, ModelFailure, ModelReply, Usage};
use agentry_store::limits::RESERVATION_TIME_MS_MAX;
use agentry_store::{
    Clock, Ledger, Reservation, SpendingLimits, SpendingOverrun, SpendingPeriod, SpendingSubject,
    SpendingTotal, day_of,
};

use crate::processes;
use crate::scene::{START, Scene, WORKS, about, begun, draft, open, raw, run, ses, trn};

pub(crate) fn replied(cost: Option<u64>, input: u64) -> Event {
    let usage = Usage {
        input_tokens: input,
        output_tokens: 5,
        cached_tokens: 2,
        cache_write_tokens: 1,
        estimated: false,
    };
    Event::ModelReplied {
        step: 0,
        reply: ModelReply { usage, cost_nano_usd: cost, ..ModelReply::default() },
        facts: Vec::new(),
    }
}

/// For session 1 and run 1, on the day of the scene.
pub(crate) fn wants(id: &str, nano_usd: u64, limits: SpendingLimits) -> Reservation {
    Reservation {
        id: id.to_owned(),
        run: Some(run(1)),
        session: Some(ses(1)),
        day: day_of(START),
        nano_usd,
        limits,
    }
}

pub(crate) fn a_day(limit: u64) -> SpendingLimits {
    SpendingLimits { day: Some(limit), ..SpendingLimits::default() }
}

fn at(now: &Arc<AtomicU64>) -> Clock {
    let now = now.clone();
    Arc::new(move || now.load(Ordering::Relaxed))
}

fn spent(ledger: &Ledger, payer: &SpendingSubject) -> u64 {
    ledger.spending_total(payer).expect(WORKS).nano_usd
}

#[test]
fn the_sums_of_a_turn_a_run_a_session_an_agent_and_a_day_are_those_of_its_answers() {
    let scene = begun();
    scene.add(&about(1), replied(Some(30), 10));
    scene.add(&about(1), replied(None, 7));
    let elsewhere = EntrySubject { session: Some(ses(2)), run: Some(run(2)), turn: Some(trn(2)) };
    scene.add(&elsewhere, replied(Some(4), 1));
    let failure = ModelFailure::new(FailureKind::Overloaded, "full");
    scene.add(&about(1), Event::ModelFailed { step: 0, failure });
    let usage = Usage {
        input_tokens: 17,
        output_tokens: 10,
        cached_tokens: 4,
        cache_write_tokens: 2,
        estimated: false,
    };
    let expected = SpendingTotal { replies: 2, unknown: 1, nano_usd: 30, usage };
    let builder = SpendingSubject::Agent(AgentId::new("builder"));
    for payer in [
        SpendingSubject::Turn(trn(1)),
        SpendingSubject::Run(run(1)),
        SpendingSubject::Session(ses(1)),
        builder,
    ] {
        assert_eq!(scene.ledger.spending_total(&payer).unwrap(), expected, "{payer:?}");
    }
    assert_eq!(spent(&scene.ledger, &SpendingSubject::Day(day_of(START))), 34);
    assert_eq!(spent(&scene.ledger, &SpendingSubject::All), 34);
    assert_eq!(
        scene.ledger.spending_total(&SpendingSubject::Run(run(9))).unwrap(),
        SpendingTotal::default()
    );
}

#[test]
fn a_rebuild_gives_the_same_sums_and_leaves_what_is_set_aside() {
    let scene = begun();
    scene.add(&about(1), replied(Some(30), 10));
    scene.add(&about(1), replied(None, 10));
    scene.ledger.reserve(&wants("a", 60, a_day(100))).unwrap().unwrap();
    let before = scene.ledger.dump_views().unwrap();
    assert!(before.contains("spending"), "{before}");
    scene.ledger.rebuild_views().unwrap();
    assert_eq!(scene.ledger.dump_views().unwrap(), before);
    assert_eq!(scene.defects(), []);
    assert!(scene.ledger.reserve(&wants("b", 11, a_day(100))).unwrap().is_err());
}

#[test]
fn a_changed_sum_is_found() {
    let scene = begun();
    scene.add(&about(1), replied(Some(30), 10));
    let scene = scene.tampered(|sql| {
        sql.execute_batch("UPDATE spending SET nano = 0").expect(WORKS);
    });
    assert_eq!(scene.defects().len(), 1);
}

#[test]
fn sums_that_are_too_large_stay_at_the_largest() {
    let scene = begun();
    for _ in 0..3 {
        scene.add(&about(1), replied(Some(u64::MAX), u64::MAX));
    }
    assert_eq!(spent(&scene.ledger, &SpendingSubject::All), i64::MAX.cast_unsigned());
    let over = scene.ledger.reserve(&wants("a", u64::MAX, a_day(9))).unwrap().unwrap_err();
    assert_eq!(over.spent, i64::MAX.cast_unsigned());
    let wide = SpendingLimits::default();
    scene.ledger.reserve(&wants("b", u64::MAX, wide)).unwrap().unwrap();
    assert!(scene.ledger.reserve(&wants("c", u64::MAX, a_day(9))).unwrap().is_err());
}

#[test]
fn each_limit_counts_what_was_spent_and_what_is_set_aside() {
    let scene = begun();
    scene.add(&about(1), replied(Some(30), 10));
    let all = SpendingLimits { run: Some(100), session: Some(100), day: Some(100) };
    scene.ledger.reserve(&wants("a", 50, all)).unwrap().unwrap();
    for (which, limits) in [
        (SpendingPeriod::Run, SpendingLimits { run: Some(100), ..SpendingLimits::default() }),
        (
            SpendingPeriod::Session,
            SpendingLimits { session: Some(100), ..SpendingLimits::default() },
        ),
        (SpendingPeriod::Day, a_day(100)),
    ] {
        let over = scene.ledger.reserve(&wants("b", 21, limits)).unwrap().unwrap_err();
        assert_eq!(
            over,
            SpendingOverrun { which, limit: 100, spent: 30, reserved: 50, wanted: 21 }
        );
        scene.ledger.reserve(&wants("b", 20, limits)).unwrap().unwrap();
        scene.ledger.release("b").unwrap();
    }
    // Another run of another session only shares the day.
    let other =
        |limits| Reservation { run: Some(run(2)), session: Some(ses(2)), ..wants("c", 21, limits) };
    assert!(scene.ledger.reserve(&other(all)).unwrap().is_err());
    let own = SpendingLimits { day: None, ..all };
    scene.ledger.reserve(&other(own)).unwrap().unwrap();
}

#[test]
fn the_same_name_again_replaces_what_it_set_aside_and_nothing_is_free_at_a_limit_of_nothing() {
    let scene = begun();
    scene.ledger.reserve(&wants("a", 80, a_day(100))).unwrap().unwrap();
    scene.ledger.reserve(&wants("a", 90, a_day(100))).unwrap().unwrap();
    scene.ledger.release("a").unwrap();
    scene.ledger.release("a").unwrap();
    scene.ledger.reserve(&wants("b", 100, a_day(100))).unwrap().unwrap();
    scene.ledger.release("b").unwrap();
    assert!(scene.ledger.reserve(&wants("c", 1, a_day(0))).unwrap().is_err());
    scene.ledger.reserve(&wants("c", 0, a_day(0))).unwrap().unwrap();
}

#[test]
fn a_day_ends_at_midnight_in_universal_time_and_what_is_open_counts_for_the_next() {
    let directory = tempfile::TempDir::new().unwrap();
    let midnight = (day_of(START) + 1) * 24 * 60 * 60 * 1000;
    let now = Arc::new(AtomicU64::new(midnight - 1));
    let ledger = Ledger::open(&directory.path().join("home"), at(&now)).unwrap();
    ledger.append(vec![draft(&about(1), replied(Some(70), 1))]).unwrap();
    ledger.reserve(&wants("late", 20, a_day(100))).unwrap().unwrap();
    now.store(midnight, Ordering::Relaxed);
    ledger.append(vec![draft(&about(1), replied(Some(5), 1))]).unwrap();
    let today = day_of(midnight);
    assert_eq!(spent(&ledger, &SpendingSubject::Day(today - 1)), 70);
    assert_eq!(spent(&ledger, &SpendingSubject::Day(today)), 5);
    let next = Reservation { day: today, ..wants("early", 80, a_day(100)) };
    let over = ledger.reserve(&next).unwrap().unwrap_err();
    assert_eq!((over.spent, over.reserved), (5, 20));
    ledger.release("late").unwrap();
    ledger.reserve(&next).unwrap().unwrap();
}

#[test]
fn what_nobody_asks_for_any_more_is_cleared_after_an_hour() {
    let directory = tempfile::TempDir::new().unwrap();
    let now = Arc::new(AtomicU64::new(START));
    let ledger = Ledger::open(&directory.path().join("home"), at(&now)).unwrap();
    ledger.reserve(&wants("lost", 100, a_day(100))).unwrap().unwrap();
    now.store(START + RESERVATION_TIME_MS_MAX, Ordering::Relaxed);
    assert!(ledger.reserve(&wants("new", 1, a_day(100))).unwrap().is_err());
    now.fetch_add(1, Ordering::Relaxed);
    ledger.reserve(&wants("new", 100, a_day(100))).unwrap().unwrap();
}

#[test]
fn of_two_handles_that_want_the_last_cent_one_gets_it() {
    let scene = Scene::new();
    let other = open(&scene.home()).unwrap();
    for round in 0..20 {
        let start = Barrier::new(2);
        let ids = [format!("one {round}"), format!("other {round}")];
        let won: Vec<bool> = thread::scope(|scope| {
            let tries = [&scene.ledger, &other].into_iter().zip(&ids).map(|(ledger, id)| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    ledger.reserve(&wants(id, 6, a_day(10))).expect(WORKS).is_ok()
                })
            });
            let tries: Vec<_> = tries.collect();
            tries.into_iter().map(|one| one.join().expect(WORKS)).collect()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{won:?}");
        ids.iter().for_each(|id| scene.ledger.release(id).expect(WORKS));
    }
}

fn set_aside(home: &Path) -> i64 {
    let text = "SELECT COUNT(*) FROM reservations";
    raw(home).query_row(text, [], |row| row.get(0)).expect(WORKS)
}

#[test]
fn two_processes_together_stay_below_the_limit() {
    let scene = Scene::new();
    let child = processes::start(&scene, "reserve");
    for number in 0..100 {
        let wanted = wants(&format!("first {number}"), 1, a_day(120));
        scene.ledger.reserve(&wanted).unwrap().unwrap_or_default();
    }
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(set_aside(&scene.home()), 120);
}

#[test]
fn what_a_killed_process_set_aside_is_free_when_its_session_is_taken_again() {
    let scene = Scene::new();
    let mut child = processes::start(&scene, "hold");
    assert!(scene.ledger.reserve(&wants("mine", 1, a_day(100))).unwrap().is_err());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(scene.ledger.reserve(&wants("mine", 1, a_day(100))).unwrap().is_err());
    let _owned = scene.ledger.lock_session(&ses(1)).unwrap();
    scene.ledger.reserve(&wants("mine", 100, a_day(100))).unwrap().unwrap();
    assert_eq!(scene.defects(), []);
}
