//! A tail hands out everything once, in order, as it comes.

use std::thread;
use std::time::Duration;

use agentry_protocol::envelope::{EntrySubject, LedgerStream};
use agentry_store::limits::TAIL_ENTRIES_MAX;
use agentry_store::{EntryFilter, Tail};

use crate::scene::{Scene, WORKS, about, begun, draft, open, opened, prompt, trn};

fn seqs(tail: &mut Tail, timeout: Duration) -> Vec<u64> {
    tail.next(timeout).expect(WORKS).iter().map(|entry| entry.seq).collect()
}

#[test]
fn what_is_there_comes_first_and_then_nothing() {
    let scene = begun();
    let mut tail = scene.ledger.tail(1, EntryFilter::default()).unwrap();
    assert_eq!(seqs(&mut tail, Duration::ZERO), [2, 3, 4]);
    assert_eq!(seqs(&mut tail, Duration::ZERO), Vec::<u64>::new());
    assert_eq!(tail.after_seq(), 4);
    scene.add(&about(1), prompt("more"));
    assert_eq!(seqs(&mut tail, Duration::ZERO), [5]);
}

#[test]
fn a_tail_that_waits_is_woken_by_this_ledger_and_by_another() {
    let scene = begun();
    let other = open(&scene.home()).unwrap();
    let mut tail = scene.ledger.tail(4, EntryFilter::default()).unwrap();
    for (ledger, seq) in [(&scene.ledger, 5), (&other, 6)] {
        thread::scope(|scope| {
            scope.spawn(|| ledger.append(vec![draft(&about(1), prompt("x"))]).unwrap());
            assert_eq!(seqs(&mut tail, Duration::MAX), [seq]);
        });
    }
}

#[test]
fn a_tail_with_a_filter_skips_what_is_not_wanted() {
    let scene = begun();
    let filter = EntryFilter { turn: Some(trn(2)), ..EntryFilter::default() };
    let mut tail = scene.ledger.tail(0, filter).unwrap();
    assert_eq!(seqs(&mut tail, Duration::ZERO), Vec::<u64>::new());
    assert_eq!(tail.after_seq(), 4);
    scene.add(&about(2), prompt("x"));
    scene.add(&about(1), prompt("x"));
    assert_eq!(seqs(&mut tail, Duration::MAX), [5]);
    assert_eq!(tail.after_seq(), 6);
}

#[test]
fn who_waits_for_inputs_is_woken_by_one_and_given_nothing_else() {
    let scene = begun();
    let filter = EntryFilter { stream: Some(LedgerStream::World), ..EntryFilter::default() };
    let mut tail = scene.ledger.tail(4, filter).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            scene.add(&about(2), opened("other", None));
            scene.add(&about(2), prompt("x"));
        });
        assert_eq!(seqs(&mut tail, Duration::MAX), [6]);
    });
}

#[test]
fn a_tail_hands_out_no_more_than_its_limit_and_loses_nothing() {
    let scene = Scene::new();
    let count = TAIL_ENTRIES_MAX + 3;
    scene.ledger.append(vec![draft(&EntrySubject::default(), prompt("x")); count]).unwrap();
    let mut tail = scene.ledger.tail(0, EntryFilter::default()).unwrap();
    assert_eq!(seqs(&mut tail, Duration::ZERO).len(), TAIL_ENTRIES_MAX);
    assert_eq!(seqs(&mut tail, Duration::ZERO).last(), Some(&(count as u64)));
    assert_eq!(seqs(&mut tail, Duration::ZERO), Vec::<u64>::new());
}
