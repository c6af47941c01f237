//! A tail hands out everything once, in order, as it comes.

use std::thread;
use std::time::Duration;

use agentry_protocol::envelope::{EntrySubject, LedgerStream};
use agentry_store::limits::TAIL_ENTRIES_MAX;
use agentry_store::{EntryFilter, Tail};

use crate::scene::{Scene, WORKS, about, asks, begun, draft, open, opened, prompt, trn};

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
fn a_waker_ends_one_wait_of_its_tail() {
    let scene = begun();
    let stream = Some(LedgerStream::World);
    for filter in [EntryFilter::default(), EntryFilter { stream, ..EntryFilter::default() }] {
        let mut tail = scene.ledger.tail(scene.ledger.last_seq().unwrap(), filter).unwrap();
        let waker = tail.waker();
        thread::scope(|scope| {
            scope.spawn(|| waker.wake());
            assert_eq!(seqs(&mut tail, Duration::MAX), Vec::<u64>::new());
        });
        // A use before the wait counts too, and does not hide an entry.
        waker.wake();
        let seq = scene.add(&about(1), prompt("x")).seq;
        assert_eq!(seqs(&mut tail, Duration::ZERO).last(), Some(&seq));
        assert_eq!(seqs(&mut tail, Duration::MAX), Vec::<u64>::new());
        assert_eq!(seqs(&mut tail, Duration::ZERO), Vec::<u64>::new());
    }
}

#[test]
fn a_tail_continues_at_its_position_in_another_stream() {
    let scene = begun();
    let stream = Some(LedgerStream::World);
    let filter = EntryFilter { stream, ..EntryFilter::default() };
    let mut tail = scene.ledger.tail(4, filter).unwrap();
    scene.add(&about(2), opened("other", None));
    scene.add(&about(2), prompt("x"));
    assert_eq!(seqs(&mut tail, Duration::ZERO), [6]);
    tail.set_stream(None);
    assert_eq!(seqs(&mut tail, Duration::ZERO), Vec::<u64>::new());
    scene.add(&about(1), asks(1, 1));
    assert_eq!(seqs(&mut tail, Duration::ZERO), [7]);
    tail.set_stream(stream);
    scene.add(&about(1), prompt("x"));
    assert_eq!(seqs(&mut tail, Duration::ZERO), [8]);
}

#[test]
fn a_filter_matches_the_entries_that_it_selects() {
    let scene = begun();
    scene.add(&about(2), opened("other", None));
    scene.add(&about(2), prompt("x"));
    let all = scene.all();
    let mut filters = vec![EntryFilter::default()];
    for envelope in &all {
        let EntrySubject { session, run, turn } = envelope.about.clone();
        let stream = Some(envelope.stream);
        filters.push(EntryFilter { stream, ..EntryFilter::default() });
        filters.push(EntryFilter { session: session.clone(), ..EntryFilter::default() });
        filters.push(EntryFilter { run: run.clone(), ..EntryFilter::default() });
        filters.push(EntryFilter { turn: turn.clone(), ..EntryFilter::default() });
        filters.push(EntryFilter { session, run, turn, stream });
    }
    for filter in filters {
        let selected = scene.ledger.read_from(0, &filter, all.len()).unwrap();
        let matching: Vec<_> = all.iter().filter(|one| filter.matches(one)).cloned().collect();
        assert_eq!(matching, selected, "{filter:?}");
    }
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
