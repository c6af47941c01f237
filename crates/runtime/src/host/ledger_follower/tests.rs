//! The follower on a temporary ledger: with its own thread, and pass by pass on the test's thread.

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::{ContentHash, SessionId};
use agentry_store::limits::INLINE_STRING_BYTES_MAX;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

struct Scene {
    ledger: Ledger,
    follower: LedgerFollower,
    directory: TempDir,
}

impl Scene {
    fn new() -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let ledger = Ledger::open(directory.path(), Arc::new(|| 7)).expect("a new ledger");
        let follower = LedgerFollower::new(ledger.clone());
        Self { ledger, follower, directory }
    }

    /// Appends an input of a session; returns its number.
    fn input(&self, session: u128) -> u64 {
        self.add(session, Event::PromptReceived { content: "Hi".to_owned() })
    }

    /// Appends an act of an agent; returns its number.
    fn act(&self, session: u128) -> u64 {
        self.add(session, Event::RunResumed {})
    }

    fn add(&self, session: u128, event: Event) -> u64 {
        let session = Some(SessionId::from_number(session));
        let about = EntrySubject { session, ..EntrySubject::default() };
        let written = self.ledger.append(vec![Draft { cause: None, about, event }]).unwrap();
        written[0].seq
    }

    /// Appends an input that cannot be read; returns its number.
    fn unreadable(&self) -> u64 {
        let content = "x".repeat(INLINE_STRING_BYTES_MAX + 1);
        let hash = ContentHash::of(content.as_bytes());
        let seq = self.add(1, Event::PromptReceived { content });
        let digits = hash.as_str().strip_prefix("blake3:").expect("the prefix of a hash");
        let artifacts = self.directory.path().join("artifacts");
        fs::remove_file(artifacts.join(&digits[..2]).join(&digits[2..])).unwrap();
        seq
    }

    /// Returns the reason why the whole ledger cannot be read.
    fn defect(&self) -> String {
        self.ledger.read_from(0, &all(), usize::MAX).unwrap_err().to_string()
    }

    fn subscribe(&self, filter: EntryFilter, after_seq: u64) -> TestSubscriber {
        self.subscribe_with(filter, after_seq, Room::Unlimited)
    }

    fn subscribe_with(&self, filter: EntryFilter, after_seq: u64, room: Room) -> TestSubscriber {
        let (sender, messages) = mpsc::channel();
        let room = Arc::new(AtomicUsize::new(room.calls()));
        let listener = Box::new(TestListener { sender, room: room.clone() });
        let subscription = self.follower.subscribe(filter, after_seq, listener).unwrap();
        TestSubscriber { _subscription: subscription, messages, room }
    }

    /// Starts the follower without a thread of its own: the test performs each pass.
    fn by_hand(&self, after_seq: u64) -> FollowerThread {
        self.follower.thread(&mut self.follower.state(), after_seq).unwrap()
    }

    fn is_running(&self) -> bool {
        self.follower.state().waker.is_some()
    }
}

impl FollowerThread {
    /// Performs a pass that does not wait; returns false if the thread would end.
    fn pass(&mut self) -> bool {
        let Some(pass) = self.begin() else { return false };
        pass.backlogs.iter().for_each(|backlog| self.catch_up(backlog));
        match self.read(Duration::ZERO) {
            Ok(batch) => self.deliver(batch),
            Err(error) => {
                self.follower.fail(&error.to_string());
                return false;
            }
        }
        true
    }
}

/// The deliveries that a listener accepts.
#[derive(Clone, Copy)]
enum Room {
    Unlimited,
    Deliveries(usize),
}

impl Room {
    fn calls(self) -> usize {
        match self {
            Self::Unlimited => usize::MAX / 2,
            Self::Deliveries(count) => count,
        }
    }
}

struct TestListener {
    sender: Sender<Result<u64, String>>,
    room: Arc<AtomicUsize>,
}

impl EntryListener for TestListener {
    fn has_room(&self) -> bool {
        self.room.load(Ordering::Relaxed) > 0
    }

    fn deliver(&self, entries: &[Arc<Envelope>]) {
        assert!(!entries.is_empty());
        self.room.fetch_sub(1, Ordering::Relaxed);
        for entry in entries {
            self.sender.send(Ok(entry.seq)).unwrap();
        }
    }

    fn fail(&self, reason: &str) {
        self.sender.send(Err(reason.to_owned())).unwrap();
    }
}

struct TestSubscriber {
    _subscription: LedgerSubscription,
    messages: Receiver<Result<u64, String>>,
    room: Arc<AtomicUsize>,
}

impl TestSubscriber {
    /// Waits for so many entries.
    fn take(&self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.messages.recv().unwrap().unwrap()).collect()
    }

    /// Returns the entries that have been delivered.
    fn taken(&self) -> Vec<u64> {
        self.messages.try_iter().map(Result::unwrap).collect()
    }

    fn failure(&self) -> String {
        self.messages.recv().unwrap().unwrap_err()
    }
}

fn all() -> EntryFilter {
    EntryFilter::default()
}

fn world() -> EntryFilter {
    EntryFilter { stream: Some(LedgerStream::World), ..EntryFilter::default() }
}

fn inputs_of(session: u128) -> EntryFilter {
    EntryFilter { session: Some(SessionId::from_number(session)), ..world() }
}

#[test]
fn a_subscriber_gets_the_entries_before_and_during_its_subscription_once() {
    let scene = Scene::new();
    let old: Vec<u64> = (0..3).map(|_| scene.input(1)).collect();
    let first = scene.subscribe(all(), old[2]);
    let new = scene.input(1);
    assert_eq!(first.take(1), [new]);
    // The thread is at `new`; this one begins before it.
    let late = scene.subscribe(all(), old[0]);
    assert_eq!(late.take(3), [old[1], old[2], new]);
    // This one begins at an entry that the thread cannot have read.
    let early = scene.subscribe(all(), new + 2);
    let more: Vec<u64> = (0..3).map(|_| scene.act(1)).collect();
    assert_eq!(first.take(3), more);
    assert_eq!(late.take(3), more);
    assert_eq!(early.take(1), more[2..]);
}

#[test]
fn a_subscriber_far_behind_gets_its_entries_in_pages() {
    let scene = Scene::new();
    let about = EntrySubject::default();
    let draft = Draft { cause: None, about, event: Event::RunResumed {} };
    let count = 2 * CATCH_UP_ENTRIES_MAX + 1;
    scene.ledger.append(vec![draft; count]).unwrap();
    let last = scene.ledger.last_seq().unwrap();
    let mut thread = scene.by_hand(last);
    let current = scene.subscribe(all(), last);
    let late = scene.subscribe(all(), 0);
    let new = scene.input(1);
    assert!(thread.pass());
    // The other one does not wait for the rest.
    assert_eq!(current.taken(), [new]);
    assert_eq!(late.taken().len(), CATCH_UP_ENTRIES_MAX);
    assert!(thread.pass() && thread.pass());
    let rest: Vec<u64> = (CATCH_UP_ENTRIES_MAX as u64 + 1..=new).collect();
    assert_eq!(late.taken(), rest);
}

#[test]
fn subscribers_get_the_entries_of_their_streams_and_sessions_only() {
    let scene = Scene::new();
    let (one, everything, of_world, of_other) = (
        scene.subscribe(inputs_of(1), 0),
        scene.subscribe(all(), 0),
        scene.subscribe(world(), 0),
        scene.subscribe(inputs_of(2), 0),
    );
    let seqs = [scene.act(1), scene.input(1), scene.act(2), scene.input(2), scene.input(1)];
    assert_eq!(everything.take(5), seqs);
    assert_eq!(of_world.take(3), [seqs[1], seqs[3], seqs[4]]);
    assert_eq!(one.take(2), [seqs[1], seqs[4]]);
    assert_eq!(of_other.take(1), [seqs[3]]);
}

#[test]
fn all_entries_are_read_only_while_a_subscriber_wants_them() {
    let scene = Scene::new();
    let mut thread = scene.by_hand(0);
    let of_world = scene.subscribe(world(), 0);
    let read = |thread: &mut FollowerThread| {
        thread.begin().unwrap();
        let batch = thread.read(Duration::ZERO).unwrap();
        let count = batch.entries.len();
        thread.deliver(batch);
        count
    };
    scene.act(1);
    assert_eq!(read(&mut thread), 0);
    let everything = scene.subscribe(all(), scene.ledger.last_seq().unwrap());
    let act = scene.act(1);
    assert_eq!((read(&mut thread), everything.taken()), (1, vec![act]));
    drop(everything);
    scene.act(1);
    assert_eq!(read(&mut thread), 0);
    assert_eq!(of_world.taken(), Vec::<u64>::new());
}

/// The tail has read the world stream only, and its position is behind the acts.
#[test]
fn a_subscriber_to_all_entries_that_comes_during_a_read_misses_none() {
    let scene = Scene::new();
    let mut thread = scene.by_hand(0);
    let _of_world = scene.subscribe(world(), 0);
    thread.begin().unwrap();
    let everything = scene.subscribe(all(), 0);
    let seqs = [scene.act(1), scene.input(1), scene.act(1)];
    let batch = thread.read(Duration::ZERO).unwrap();
    thread.deliver(batch);
    assert!(thread.pass());
    assert_eq!(everything.taken(), seqs);
}

#[test]
fn a_new_subscriber_ends_the_wait_of_the_thread() {
    let scene = Scene::new();
    // The thread waits for the world stream without a limit of time.
    let _of_world = scene.subscribe(world(), 0);
    let everything = scene.subscribe(all(), 0);
    let act = scene.act(1);
    assert_eq!(everything.take(1), [act]);
}

#[test]
fn all_subscribers_hear_why_the_ledger_cannot_be_read_and_new_ones_can_follow() {
    let scene = Scene::new();
    let mut thread = scene.by_hand(0);
    let (one, other) = (scene.subscribe(all(), 0), scene.subscribe(inputs_of(2), 0));
    let seq = scene.unreadable();
    assert!(!thread.pass() && !scene.is_running());
    assert_eq!((one.failure(), other.failure()), (scene.defect(), scene.defect()));
    // The failure ended these subscriptions, so dropping them must not end those of others.
    let again = scene.subscribe(all(), seq);
    drop((one, other));
    let new = scene.input(1);
    assert_eq!(again.take(1), [new]);
}

#[test]
fn a_subscriber_that_cannot_catch_up_fails_alone() {
    let scene = Scene::new();
    let seq = scene.unreadable();
    let mut thread = scene.by_hand(seq);
    let (current, late) = (scene.subscribe(all(), seq), scene.subscribe(all(), 0));
    let new = scene.input(1);
    assert!(thread.pass());
    assert_eq!(late.failure(), scene.defect());
    assert_eq!(current.taken(), [new]);
}

#[test]
fn the_thread_ends_with_the_last_subscriber_and_the_next_gets_no_old_entry() {
    let scene = Scene::new();
    let mut thread = scene.by_hand(0);
    let first = scene.subscribe(all(), 0);
    let old = scene.input(1);
    assert!(thread.pass());
    assert_eq!(first.taken(), [old]);
    drop(first);
    assert!(!thread.pass() && !scene.is_running());
    let unseen = scene.input(1);
    let next = scene.subscribe(all(), unseen);
    let new = scene.input(1);
    assert_eq!(next.take(1), [new]);
}

/// The last subscriber left while the thread was reading, and another came before it noticed.
#[test]
fn a_subscriber_that_comes_as_the_last_one_leaves_gets_no_old_entry() {
    let scene = Scene::new();
    let mut thread = scene.by_hand(0);
    let first = scene.subscribe(all(), 0);
    thread.begin().unwrap();
    let old = scene.input(1);
    drop(first);
    let next = scene.subscribe(all(), old);
    let batch = thread.read(Duration::ZERO).unwrap();
    thread.deliver(batch);
    let new = scene.input(1);
    assert!(thread.pass());
    assert_eq!(next.taken(), [new]);
}

#[test]
fn no_entry_is_delivered_after_the_end_of_a_subscription() {
    let scene = Scene::new();
    let mut thread = scene.by_hand(0);
    let (left, stays) = (scene.subscribe(all(), 0), scene.subscribe(all(), 0));
    thread.begin().unwrap();
    let seq = scene.input(1);
    let batch = thread.read(Duration::ZERO).unwrap();
    let TestSubscriber { _subscription: subscription, messages, .. } = left;
    drop(subscription);
    thread.deliver(batch);
    assert!(messages.recv().is_err());
    assert_eq!(stays.taken(), [seq]);
}

#[test]
fn a_subscriber_without_room_gets_its_entries_later_and_the_others_at_once() {
    let scene = Scene::new();
    let slow = scene.subscribe_with(all(), 0, Room::Deliveries(1));
    let quick = scene.subscribe(all(), 0);
    let seqs: Vec<u64> = (0..5)
        .map(|_| {
            let seq = scene.input(1);
            assert_eq!(quick.take(1), [seq]);
            seq
        })
        .collect();
    assert_eq!(slow.taken(), seqs[..1]);
    slow.room.store(Room::Unlimited.calls(), Ordering::Relaxed);
    assert_eq!(slow.take(4), seqs[1..]);
}

#[test]
fn a_subscriber_that_panics_hears_it_and_harms_no_other() {
    struct PanickingListener(Sender<String>);

    impl EntryListener for PanickingListener {
        fn deliver(&self, _: &[Arc<Envelope>]) {
            panic!("a defect of a listener");
        }

        fn fail(&self, reason: &str) {
            self.0.send(reason.to_owned()).unwrap();
            panic!("another one");
        }
    }

    let scene = Scene::new();
    let before = scene.subscribe(all(), 0);
    let (sender, reasons) = mpsc::channel();
    let panicking =
        scene.follower.subscribe(all(), 0, Box::new(PanickingListener(sender))).unwrap();
    let after = scene.subscribe(all(), 0);
    let seqs = [scene.input(1), scene.act(1)];
    assert_eq!((before.take(2), after.take(2)), (seqs.to_vec(), seqs.to_vec()));
    assert_eq!(reasons.iter().collect::<Vec<_>>(), [LISTENER_PANIC]);
    drop(panicking);
    let new = scene.input(1);
    assert_eq!((before.take(1), after.take(1)), (vec![new], vec![new]));
}

/// A step of the world around the follower.
#[derive(Clone, Debug)]
enum Step {
    Input(u128),
    Act(u128),
    /// Subscribes to one of the filters, so many entries before the end of the ledger.
    Subscribe {
        filter: usize,
        back: u64,
    },
    Leave(usize),
    /// Gives a subscriber room for so many deliveries.
    Room(usize, usize),
    /// Performs the next part of a pass.
    Pass,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1..3_u128).prop_map(Step::Input),
        3 => (1..3_u128).prop_map(Step::Act),
        2 => (0..4_usize, 0..6_u64).prop_map(|(filter, back)| Step::Subscribe { filter, back }),
        1 => any::<usize>().prop_map(Step::Leave),
        2 => (any::<usize>(), 0..3_usize).prop_map(|(number, room)| Step::Room(number, room)),
        6 => Just(Step::Pass),
    ];
    prop::collection::vec(step, 1..60)
}

/// The parts of a pass: a step of the world may come between any two.
enum ManualThread {
    Ended,
    Begins(FollowerThread),
    CatchesUp(FollowerThread, FollowerPass),
    Delivers(FollowerThread, TailBatch),
}

impl ManualThread {
    fn step(self) -> Self {
        match self {
            Self::Ended => Self::Ended,
            Self::Begins(mut thread) => match thread.begin() {
                None => Self::Ended,
                Some(pass) => Self::CatchesUp(thread, pass),
            },
            Self::CatchesUp(mut thread, mut pass) => match pass.backlogs.pop() {
                Some(backlog) => {
                    thread.catch_up(&backlog);
                    Self::CatchesUp(thread, pass)
                }
                None => {
                    let batch = thread.read(Duration::ZERO).unwrap();
                    Self::Delivers(thread, batch)
                }
            },
            Self::Delivers(thread, batch) => {
                thread.deliver(batch);
                Self::Begins(thread)
            }
        }
    }
}

/// A subscriber, and the entries that it must have got.
struct ExpectedEntries {
    subscriber: TestSubscriber,
    filter: EntryFilter,
    after_seq: u64,
    got: Vec<u64>,
}

impl ExpectedEntries {
    fn of(&self, ledger: &Ledger) -> Vec<u64> {
        let entries = ledger.read_from(self.after_seq, &self.filter, usize::MAX).unwrap();
        entries.iter().map(|entry| entry.seq).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn each_subscriber_gets_its_entries_once_and_in_order(steps in steps()) {
        let scene = Scene::new();
        let mut thread = ManualThread::Ended;
        let mut open: HashMap<usize, ExpectedEntries> = HashMap::new();
        let mut last = 0;
        for (at, step) in steps.into_iter().enumerate() {
            let chosen = |number: usize| {
                let mut numbers: Vec<usize> = open.keys().copied().collect();
                numbers.sort_unstable();
                numbers.get(number % numbers.len().max(1)).copied()
            };
            match step {
                Step::Input(session) => last = scene.input(session),
                Step::Act(session) => last = scene.act(session),
                Step::Subscribe { filter, back } => {
                    let filter = [all(), world(), inputs_of(1), inputs_of(2)][filter].clone();
                    // One beyond the end, too.
                    let after_seq = (last + 1).saturating_sub(back);
                    if matches!(thread, ManualThread::Ended) {
                        thread = ManualThread::Begins(scene.by_hand(after_seq));
                    }
                    let subscriber = scene.subscribe_with(filter.clone(), after_seq, Room::Deliveries(2));
                    let got = Vec::new();
                    open.insert(at, ExpectedEntries { subscriber, filter, after_seq, got });
                }
                Step::Leave(number) => {
                    if let Some(left) = chosen(number).and_then(|number| open.remove(&number)) {
                        let got: Vec<u64> = [left.got.clone(), left.subscriber.taken()].concat();
                        let expected = left.of(&scene.ledger);
                        prop_assert!(expected.starts_with(&got), "{got:?} of {expected:?}");
                    }
                }
                Step::Room(number, room) => {
                    if let Some(number) = chosen(number) {
                        open[&number].subscriber.room.store(room, Ordering::Relaxed);
                    }
                }
                Step::Pass => thread = thread.step(),
            }
            for one in open.values_mut() {
                one.got.extend(one.subscriber.taken());
                let expected = one.of(&scene.ledger);
                prop_assert!(expected.starts_with(&one.got), "{:?} of {expected:?}", one.got);
            }
        }
        // With room for all, a few passes deliver everything.
        for one in open.values() {
            one.subscriber.room.store(Room::Unlimited.calls(), Ordering::Relaxed);
        }
        for _ in 0..6 * (open.len() + 3) {
            thread = thread.step();
        }
        for one in open.values_mut() {
            one.got.extend(one.subscriber.taken());
            prop_assert_eq!(&one.got, &one.of(&scene.ledger));
        }
    }
}
