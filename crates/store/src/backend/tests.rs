//! Ledgers on shared parts in memory that fail on demand: no entry is written twice, and none is
//! reported as written that is not.

mod memory;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentry_protocol::envelope::{Draft, EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_protocol::{AgentId, RunId, SessionId, SessionKey};
use tempfile::TempDir;

use self::memory::{MemoryBlobs, MemoryEntryLog, MemoryLocks, MemoryReservations, PutFault};
use crate::backend::LedgerBackend;
use crate::error::{AppendOutcome, Error};
use crate::home::Home;
use crate::ledger::{EntryFilter, Ledger};
use crate::limits::{INLINE_STRING_BYTES_MAX, PUT_ATTEMPTS_MAX};
use crate::reservation::{Reservation, SpendingLimits};

/// The shared parts, and the homes of the machines that share them.
#[derive(Default)]
struct Machines {
    log: MemoryEntryLog,
    reservations: Arc<MemoryReservations>,
    locks: MemoryLocks,
    blobs: Arc<MemoryBlobs>,
}

impl Machines {
    fn open(&self, directory: &TempDir) -> Ledger {
        let backend = LedgerBackend {
            log: Box::new(self.log.clone()),
            reservations: self.reservations.clone(),
            locks: Box::new(self.locks.clone()),
            blobs: self.blobs.clone(),
        };
        let now = AtomicU64::new(1_700_000_000_000);
        let clock = Arc::new(move || now.fetch_add(1, Ordering::Relaxed));
        Ledger::open_on(Home::open(directory.path()).unwrap(), backend, clock).unwrap()
    }
}

fn machines() -> (Machines, TempDir, TempDir) {
    (Machines::default(), TempDir::new().unwrap(), TempDir::new().unwrap())
}

fn prompt(content: &str) -> Event {
    Event::PromptReceived { content: content.to_owned() }
}

fn draft(event: Event) -> Draft {
    Draft { cause: None, about: EntrySubject::default(), event }
}

fn say(ledger: &Ledger, content: &str) -> Result<Vec<Envelope>, Error> {
    ledger.append(vec![draft(prompt(content))])
}

fn all(ledger: &Ledger) -> Vec<Envelope> {
    ledger.read_from(0, &EntryFilter::default(), usize::MAX).unwrap()
}

fn contents(ledger: &Ledger) -> Vec<String> {
    let content = |envelope: Envelope| match envelope.event {
        Event::PromptReceived { content } => content,
        other => panic!("{other:?}"),
    };
    all(ledger).into_iter().map(content).collect()
}

#[track_caller]
fn check_sound(ledger: &Ledger, entries: u64) {
    assert_eq!(ledger.verify().unwrap().entries, entries);
    let views = ledger.dump_views().unwrap();
    ledger.rebuild_views().unwrap();
    assert_eq!(ledger.dump_views().unwrap(), views);
}

#[test]
fn two_machines_with_one_log_have_one_order() {
    let (machines, one, other) = machines();
    let (one, other) = (machines.open(&one), machines.open(&other));
    let seqs: Vec<u64> = [(&one, "a"), (&other, "b"), (&other, "c"), (&one, "d"), (&other, "e")]
        .map(|(ledger, content)| say(ledger, content).unwrap()[0].seq)
        .into();
    assert_eq!(seqs, [1, 2, 3, 4, 5]);
    assert_eq!(contents(&other), ["a", "b", "c", "d", "e"]);
    assert_eq!(all(&one), all(&other)[..4]);
    check_sound(&one, 4);
    check_sound(&other, 5);
}

#[test]
fn an_append_that_was_overtaken_is_judged_again() {
    let (machines, one, other) = machines();
    let (one, other) = (machines.open(&one), machines.open(&other));
    let open = |ledger: &Ledger, session| {
        let (key, agent) = (SessionKey::new("main"), AgentId::new("agt_1"));
        let event = Event::SessionOpened { key, agent, head: None };
        let session = Some(SessionId::from_number(session));
        let about = EntrySubject { session, ..EntrySubject::default() };
        ledger.append(vec![Draft { cause: None, about, event }, draft(prompt("x"))])
    };
    open(&one, 1).unwrap();
    match open(&other, 2) {
        Err(Error::SessionExists { session, .. }) => assert_eq!(session, SessionId::from_number(1)),
        other => panic!("{other:?}"),
    }
    assert_eq!(machines.log.length(), 2);
    check_sound(&other, 2);
}

#[test]
fn an_append_that_is_overtaken_without_end_gives_up_and_nothing_breaks() {
    let (machines, home) = (Machines::default(), TempDir::new().unwrap());
    let ledger = machines.open(&home);
    machines.log.overtake(PUT_ATTEMPTS_MAX);
    assert!(matches!(say(&ledger, "mine"), Err(Error::Locked { .. })));
    assert_eq!(machines.log.length(), PUT_ATTEMPTS_MAX as usize);
    assert!(contents(&ledger).iter().all(|content| content == "foreign"));
    machines.log.overtake(2);
    let written = say(&ledger, "mine").unwrap();
    assert_eq!(written[0].seq, u64::from(PUT_ATTEMPTS_MAX) + 3);
    check_sound(&ledger, written[0].seq);
}

#[test]
fn an_append_whose_answer_was_lost_is_written_once() {
    for fault in [PutFault::LostAfterWrite, PutFault::LostBeforeWrite] {
        let (machines, home) = (Machines::default(), TempDir::new().unwrap());
        let ledger = machines.open(&home);
        say(&ledger, "first").unwrap();
        machines.log.fail_next(fault);
        let drafts = vec![draft(prompt("lost")), draft(prompt("too"))];
        let written = ledger.append(drafts).unwrap();
        assert_eq!(written, all(&ledger)[1..], "{fault:?}");
        assert_eq!(machines.log.length(), 3, "{fault:?}");
        assert_eq!(say(&ledger, "next").unwrap()[0].seq, 4);
        assert_eq!(contents(&ledger), ["first", "lost", "too", "next"]);
        check_sound(&ledger, 4);
    }
}

#[test]
fn an_append_of_unknown_fate_is_not_reported_and_stops_everything() {
    for fault in [PutFault::UnknownAfterWrite, PutFault::UnknownBeforeWrite] {
        let (machines, home) = (Machines::default(), TempDir::new().unwrap());
        let ledger = machines.open(&home);
        machines.log.fail_next(fault);
        let unknown = |error: Error| match error {
            Error::OutcomeUnknown { cause, .. } => assert_eq!(cause, "the line was cut"),
            other => panic!("{other}"),
        };
        unknown(say(&ledger, "lost").unwrap_err());
        unknown(say(&ledger, "refused").unwrap_err());
        unknown(ledger.lock_session(&SessionId::from_number(1)).unwrap_err());
        unknown(ledger.read_from(0, &EntryFilter::default(), 1).unwrap_err());
        drop(ledger);
        let again = machines.open(&home);
        say(&again, "next").unwrap();
        let expected: &[&str] = match fault {
            PutFault::UnknownAfterWrite => &["lost", "next"],
            _ => &["next"],
        };
        assert_eq!(contents(&again), expected);
        check_sound(&again, expected.len() as u64);
    }
}

#[test]
fn a_log_without_room_writes_nothing_and_is_called_by_its_name() {
    let (machines, home) = (Machines::default(), TempDir::new().unwrap());
    let ledger = machines.open(&home);
    machines.log.fail_next(PutFault::Full);
    let full = |refused| match refused {
        Err(Error::DiskFull { outcome, .. }) => assert_eq!(outcome, AppendOutcome::NothingWritten),
        other => panic!("{other:?}"),
    };
    full(say(&ledger, "x"));
    full(say(&ledger, "y"));
    drop(ledger);
    assert_eq!(machines.log.length(), 0);
    let again = machines.open(&home);
    assert_eq!(say(&again, "z").unwrap()[0].seq, 1);
    check_sound(&again, 1);
}

#[test]
fn an_entry_of_another_machine_that_was_changed_is_not_followed() {
    let (machines, one, other) = machines();
    say(&machines.open(&one), "true").unwrap();
    machines.log.change(|rows| rows[0].body = rows[0].body.replace("true", "fake"));
    let ledger = machines.open(&other);
    match say(&ledger, "mine") {
        Err(Error::OutcomeUnknown { cause, .. }) => {
            assert_eq!(cause, "entry 1 of its log does not follow entry 0");
        }
        other => panic!("{other:?}"),
    }
    drop(ledger);
    assert_eq!(machines.log.length(), 1);
    assert_eq!(machines.open(&other).last_seq().unwrap(), 0);
}

#[test]
fn a_log_that_lost_entries_of_the_file_is_not_continued() {
    let (machines, home) = (Machines::default(), TempDir::new().unwrap());
    let ledger = machines.open(&home);
    for content in ["a", "b"] {
        say(&ledger, content).unwrap();
    }
    machines.log.change(|rows| rows.truncate(1));
    match say(&ledger, "c") {
        Err(Error::OutcomeUnknown { cause, .. }) => {
            assert_eq!(cause, "its log does not continue entry 2");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(machines.log.length(), 1);
}

#[test]
fn a_long_text_is_in_the_shared_storage_before_its_entry() {
    let (machines, one, other) = machines();
    let (one, other) = (machines.open(&one), machines.open(&other));
    let text = "x".repeat(INLINE_STRING_BYTES_MAX + 1);
    machines.blobs.set_full(true);
    assert!(matches!(say(&one, &text), Err(Error::File { .. })));
    assert_eq!(machines.log.length(), 0);
    machines.blobs.set_full(false);
    say(&one, &text).unwrap();
    say(&other, "y").unwrap();
    assert_eq!(contents(&other), [text.as_str(), "y"]);
    machines.blobs.forget_all();
    let missing = other.read_from(0, &EntryFilter::default(), 1);
    assert!(matches!(missing, Err(Error::Artifact { why: "is missing", .. })));
}

fn wanted(id: &str, session: &SessionId) -> Reservation {
    Reservation {
        id: id.to_owned(),
        run: Some(RunId::from_number(1)),
        session: Some(session.clone()),
        day: 1,
        nano_usd: 6,
        limits: SpendingLimits { day: Some(10), ..SpendingLimits::default() },
    }
}

#[test]
fn a_session_that_another_machine_holds_keeps_its_reservations() {
    let (machines, one, other) = machines();
    let (one, other) = (machines.open(&one), machines.open(&other));
    let session = SessionId::from_number(1);
    let held = one.lock_session(&session).unwrap();
    one.reserve(&wanted("a", &session)).unwrap().unwrap();
    assert!(matches!(other.lock_session(&session), Err(Error::Busy { .. })));
    let refused = other.reserve(&wanted("b", &session)).unwrap().unwrap_err();
    assert_eq!((refused.reserved, refused.wanted), (6, 6));
    drop(held);
    let _held = other.lock_session(&session).unwrap();
    other.reserve(&wanted("b", &session)).unwrap().unwrap();
}

#[test]
fn one_machine_has_the_intake() {
    let (machines, one, other) = machines();
    let (one, other) = (machines.open(&one), machines.open(&other));
    let held = one.lock_intake().unwrap();
    assert!(matches!(other.lock_intake(), Err(Error::IntakeBusy { .. })));
    drop(held);
    other.lock_intake().unwrap();
}

#[test]
fn a_failed_reservation_stops_everything_and_reserves_nothing() {
    let (machines, home) = (Machines::default(), TempDir::new().unwrap());
    let ledger = machines.open(&home);
    let session = SessionId::from_number(1);
    machines.reservations.fail_next();
    let failed = ledger.reserve(&wanted("a", &session));
    assert!(matches!(failed, Err(Error::OutcomeUnknown { .. })));
    assert!(matches!(say(&ledger, "x"), Err(Error::OutcomeUnknown { .. })));
    drop(ledger);
    let again = machines.open(&home);
    again.reserve(&wanted("b", &session)).unwrap().unwrap();
    again.release("b").unwrap();
    again.reserve(&wanted("c", &session)).unwrap().unwrap();
}
