//! Sends ledger entries, and deltas of answers in progress, to all subscribers of event streams.
//!
//! The hub subscribes to the follower of the ledger while it has subscribers itself; its thread sends
//! the entries on. A slow subscriber is disconnected; it loses nothing, since a client can read the
//! ledger from any entry on.
//!
//! Must never: wait for a subscriber, or send an entry twice.

mod entry_queue;
mod frame;
mod partial_answers;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use agentry_frontend::output::log_line;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::{AccessChange, IntakeStage};
use agentry_protocol::token::Token;
use agentry_protocol::{RunId, SessionId, TokenId};
use agentry_runtime::{LedgerFollower, LedgerSubscription};
use agentry_store::{EntryFilter, Ledger};
use tokio::sync::mpsc;
use tokio::time::Instant;

use self::entry_queue::{EntryQueue, HubMessage};
pub(crate) use self::frame::{CloseReason, DeltaKind, StreamDelta, StreamEntry, StreamFrame};
use self::partial_answers::PartialAnswers;
use super::api_error::{ApiError, ApiErrorCode};
use crate::limits::{
    HUB_RETRY_TIME, STREAM_FRAMES_MAX, STREAM_WAITING_BYTES_MAX, STREAMS_MAX, STREAMS_PER_KEY_MAX,
};

/// The subject of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    /// All entries.
    All,
    /// The entries of a session.
    Session(SessionId),
    /// The entries of a run.
    Run(RunId),
    /// The entries about an inbound event and, once it has a run, those of the run.
    Inbound(EventId),
}

/// The frames that a subscriber receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamContent {
    /// Entries of the ledger only.
    Entries,
    /// Entries, and the deltas of answers in progress and of progress output.
    EntriesAndDeltas,
}

/// Sends ledger entries and deltas to the subscribers.
pub struct StreamHub {
    ledger: Ledger,
    follower: LedgerFollower,
    queue: EntryQueue,
    state: Mutex<State>,
    dropped: AtomicU64,
}

#[derive(Default)]
struct State {
    subscribers: HashMap<u64, StreamSubscriber>,
    by_topic: HashMap<Topic, HashSet<u64>>,
    next_number: u64,
    /// The number of open streams per key, including those that are about to close.
    open: HashMap<Option<TokenId>, usize>,
    /// The hub's subscription to the ledger; None without subscribers. The first subscriber begins
    /// it, and it ends in one step with the last one, together with its position: a gap between the
    /// two would send old entries again.
    following: Option<HubSubscription>,
    partial: PartialAnswers,
    is_closed: bool,
}

/// The hub's subscription to all entries of the ledger; dropping it ends it.
struct HubSubscription {
    /// The number that its messages carry; those of an earlier subscription are ignored.
    number: u64,
    /// The last entry sent.
    after_seq: u64,
    _subscription: LedgerSubscription,
}

struct StreamSubscriber {
    topics: Vec<Topic>,
    frames: mpsc::Sender<StreamFrame>,
    /// The bytes that wait to be sent to this subscriber.
    waiting: Arc<AtomicUsize>,
    content: StreamContent,
    token: Option<TokenId>,
}

impl StreamSubscriber {
    /// Queues the last frame. A client that left needs none, and one whose queue is full does not
    /// keep up; for both the stream just ends when the subscriber is removed.
    fn close(&self, reason: CloseReason) {
        self.frames.try_send(StreamFrame::Close(reason)).ok();
    }

    /// Queues a frame for the subscriber; returns false if its queue is full.
    fn send(&self, frame: &StreamFrame) -> bool {
        let bytes = frame.bytes();
        if self.waiting.load(Ordering::Relaxed) > STREAM_WAITING_BYTES_MAX {
            return false;
        }
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
        let sent = self.frames.try_send(frame.clone()).is_ok();
        if !sent {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        }
        sent
    }
}

/// A client's subscription; dropping it unsubscribes.
pub(crate) struct StreamSubscription {
    hub: Arc<StreamHub>,
    number: u64,
    /// The client must read entries up to this one from the ledger.
    pub(crate) after_seq: u64,
    frames: mpsc::Receiver<StreamFrame>,
    waiting: Arc<AtomicUsize>,
    token: Option<TokenId>,
    /// The time at which the client's key expires.
    until: Option<Instant>,
    /// The text so far of answers in progress, at the time of the subscription.
    pub(crate) partial: Vec<StreamDelta>,
}

impl StreamSubscription {
    /// Waits for the next frame; none after the hub removed a slow subscriber.
    pub(crate) async fn next(&mut self) -> Option<StreamFrame> {
        loop {
            let frame = match self.until {
                None => self.frames.recv().await,
                Some(until) => {
                    let revoked = Some(StreamFrame::Close(CloseReason::Revoked));
                    tokio::time::timeout_at(until, self.frames.recv()).await.unwrap_or(revoked)
                }
            };
            if let Some(frame) = &frame {
                self.waiting.fetch_sub(frame.bytes(), Ordering::Relaxed);
            }
            match &frame {
                // The client reads this entry from the ledger, or has done so.
                Some(StreamFrame::Entry(recorded)) if recorded.envelope.seq <= self.after_seq => {}
                Some(StreamFrame::Entry(_) | StreamFrame::Delta(_) | StreamFrame::Close(_))
                | None => return frame,
            }
        }
    }
}

impl Drop for StreamSubscription {
    fn drop(&mut self) {
        let mut state = self.hub.state();
        state.remove(self.number);
        state.release_place(&self.token);
    }
}

impl StreamHub {
    /// Starts the hub's thread, which ends when the hub is closed.
    pub fn start(ledger: Ledger, follower: LedgerFollower) -> std::io::Result<Arc<Self>> {
        let (queue, messages) = EntryQueue::new();
        let hub = Arc::new(Self {
            ledger,
            follower,
            queue,
            state: Mutex::default(),
            dropped: AtomicU64::new(0),
        });
        let working = hub.clone();
        thread::Builder::new().name("streams".to_owned()).spawn(move || working.work(&messages))?;
        Ok(hub)
    }

    /// Adds a subscriber; fails if the hub is closed or too many streams are open.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        topic: Topic,
        content: StreamContent,
        token: Option<&Token>,
    ) -> Result<StreamSubscription, ApiError> {
        let until = token.and_then(|token| token.expires_at).map(|at| {
            let left = at.saturating_sub(self.ledger.now());
            Instant::now() + Duration::from_millis(left)
        });
        let token = token.map(|token| token.id.clone());
        let (sender, frames) = mpsc::channel(STREAM_FRAMES_MAX);
        let mut state = self.state();
        if state.is_closed {
            return Err(ApiError::new(ApiErrorCode::Unavailable, "the server is stopping"));
        }
        state.must_have_room(&token)?;
        let number = state.next_number;
        state.next_number += 1;
        let after_seq = self.follow(&mut state, number)?;
        let partial = match content {
            StreamContent::Entries => Vec::new(),
            StreamContent::EntriesAndDeltas => state.partial.about(|about| is_about(&topic, about)),
        };
        state.by_topic.entry(topic.clone()).or_default().insert(number);
        let waiting = Arc::new(AtomicUsize::new(0));
        let subscriber = StreamSubscriber {
            topics: vec![topic],
            frames: sender,
            waiting: waiting.clone(),
            content,
            token: token.clone(),
        };
        state.subscribers.insert(number, subscriber);
        *state.open.entry(token.clone()).or_default() += 1;
        drop(state);
        let hub = self.clone();
        Ok(StreamSubscription { hub, number, after_seq, frames, waiting, token, until, partial })
    }

    /// Returns the last entry sent; subscribes the hub to the ledger for its first subscriber.
    fn follow(&self, state: &mut State, number: u64) -> Result<u64, ApiError> {
        if let Some(following) = &state.following {
            return Ok(following.after_seq);
        }
        let after_seq = self.ledger.last_seq()?;
        let listener = self.queue.listener(number);
        let filter = EntryFilter::default();
        let subscription = self.follower.subscribe(filter, after_seq, listener)?;
        state.following = Some(HubSubscription { number, after_seq, _subscription: subscription });
        Ok(after_seq)
    }

    /// Subscribes to a run too. Returns the entry up to which the client must read the run from the
    /// ledger.
    pub(crate) fn subscribe_to_run(&self, listening: &StreamSubscription, run: RunId) -> u64 {
        let mut state = self.state();
        state.add(listening.number, Topic::Run(run));
        let sent = state.following.as_ref().map_or(0, |following| following.after_seq);
        sent.max(listening.after_seq)
    }

    /// Closes all streams and refuses new subscribers.
    pub fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.end_all(CloseReason::Stopping);
        drop(state);
        self.queue.close();
    }

    /// Returns the number of subscribers.
    pub(crate) fn subscriber_count(&self) -> usize {
        self.state().subscribers.len()
    }

    /// Returns the number of subscribers that were disconnected because they were too slow.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, messages: &Receiver<HubMessage>) {
        for message in messages {
            match message {
                HubMessage::Entries(number, entries) => {
                    let count = entries.len();
                    self.deliver(number, entries);
                    self.queue.taken(count);
                }
                HubMessage::Failed(number, reason) => {
                    self.fail(number, &reason);
                    // Clients that come back at once must not fill the log.
                    thread::sleep(HUB_RETRY_TIME);
                }
                HubMessage::Closed => return,
            }
        }
    }

    /// Sends the entries of a subscription of the hub to the subscribers.
    fn deliver(&self, number: u64, entries: Vec<Arc<Envelope>>) {
        let mut state = self.state();
        for envelope in entries {
            // Clients read the entries of an earlier subscription from the ledger. This one may end
            // at any entry, with the last subscriber.
            let is_current = |one: &&mut HubSubscription| one.number == number;
            let Some(following) = state.following.as_mut().filter(is_current) else { return };
            following.after_seq = envelope.seq;
            let dropped = state.deliver(StreamEntry::new(envelope));
            self.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }

    /// Closes all streams: a subscription of the hub failed.
    fn fail(&self, number: u64, reason: &str) {
        let mut state = self.state();
        if state.following.as_ref().is_none_or(|following| following.number != number) {
            return;
        }
        log_line(&format!("event streams closed: cannot read the ledger: {reason}"));
        state.end_all(CloseReason::Stopping);
    }

    /// Forgets the text so far of a run: the answer is in the ledger now, or was dropped.
    pub(super) fn clear_partial(&self, run: &RunId) {
        self.state().partial.remove(run);
    }

    /// Sends a delta to its subscribers that want deltas, and keeps the text so far.
    pub(super) fn publish_delta(&self, delta: StreamDelta) {
        let mut state = self.state();
        state.partial.keep(&delta);
        let numbers = state.numbers(&delta.about);
        let dropped = state.send_to(numbers, &StreamFrame::Delta(Arc::new(delta)));
        self.dropped.fetch_add(dropped, Ordering::Relaxed);
    }
}

impl State {
    /// Fails if the limit of open streams is reached, in total or for this key.
    fn must_have_room(&self, token: &Option<TokenId>) -> Result<(), ApiError> {
        let all: usize = self.open.values().sum();
        if all >= STREAMS_MAX {
            let message = format!("too many open streams: the limit is {STREAMS_MAX}");
            return Err(ApiError::new(ApiErrorCode::Unavailable, message)
                .hint("close some, or try again later"));
        }
        if self.open.get(token).is_some_and(|count| *count >= STREAMS_PER_KEY_MAX) {
            let message =
                format!("too many open streams for this key: the limit is {STREAMS_PER_KEY_MAX}");
            return Err(ApiError::new(ApiErrorCode::RateLimited, message)
                .hint("close some, or subscribe to all entries with one stream"));
        }
        Ok(())
    }

    /// Gives back the place of a stream.
    fn release_place(&mut self, token: &Option<TokenId>) {
        if let Some(count) = self.open.get_mut(token) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(token);
            }
        }
    }

    fn add(&mut self, number: u64, topic: Topic) {
        if let Some(subscriber) = self.subscribers.get_mut(&number) {
            subscriber.topics.push(topic.clone());
            self.by_topic.entry(topic).or_default().insert(number);
        }
    }

    fn remove(&mut self, number: u64) {
        let Some(subscriber) = self.subscribers.remove(&number) else { return };
        if self.subscribers.is_empty() {
            self.following = None;
        }
        for topic in subscriber.topics {
            if let Some(all) = self.by_topic.get_mut(&topic) {
                all.remove(&number);
                if all.is_empty() {
                    self.by_topic.remove(&topic);
                }
            }
        }
    }

    fn end_all(&mut self, bye: CloseReason) {
        for subscriber in self.subscribers.values() {
            subscriber.close(bye);
        }
        self.subscribers.clear();
        self.by_topic.clear();
        self.following = None;
    }

    /// Sends an entry; returns the number of subscribers that were too slow for it.
    fn deliver(&mut self, recorded: StreamEntry) -> u64 {
        let envelope = &recorded.envelope;
        if let Event::Access(AccessChange::TokenRevoked { token, .. }) = &envelope.event {
            self.end(token);
        }
        let of: Vec<u64> = inbounds(&envelope.event)
            .iter()
            .filter_map(|event| self.by_topic.get(&Topic::Inbound(event.clone())))
            .flatten()
            .copied()
            .collect();
        // A subscriber that waits for the answer also gets the entries of the run that gives it.
        if let (Event::RunCreated(_) | Event::SteerReceived { .. }, Some(run)) =
            (&envelope.event, &envelope.about.run)
        {
            of.iter().for_each(|number| self.add(*number, Topic::Run(run.clone())));
        }
        let about = envelope.about.clone();
        let frame = StreamFrame::Entry(Arc::new(recorded));
        let mut numbers = self.numbers(&about);
        numbers.extend(of);
        self.send_to(numbers, &frame)
    }

    fn end(&mut self, token: &TokenId) {
        let held = |subscriber: &StreamSubscriber| subscriber.token.as_ref() == Some(token);
        let numbers: Vec<u64> = self
            .subscribers
            .iter()
            .filter(|(_, subscriber)| held(subscriber))
            .map(|(number, _)| *number)
            .collect();
        for number in numbers {
            if let Some(subscriber) = self.subscribers.get(&number) {
                subscriber.close(CloseReason::Revoked);
            }
            self.remove(number);
        }
    }

    /// Sends a frame; returns the number of subscribers that were too slow for it.
    fn send_to(&mut self, numbers: HashSet<u64>, frame: &StreamFrame) -> u64 {
        let is_delta = matches!(frame, StreamFrame::Delta(_));
        let mut slow = Vec::new();
        for number in numbers {
            let Some(subscriber) = self.subscribers.get(&number) else { continue };
            if is_delta && subscriber.content == StreamContent::Entries {
                continue;
            }
            // A missed delta is harmless; a missed entry is not.
            if !subscriber.send(frame) && !is_delta {
                slow.push(number);
            }
        }
        let count = slow.len() as u64;
        slow.into_iter().for_each(|number| self.remove(number));
        count
    }

    fn numbers(&self, about: &EntrySubject) -> HashSet<u64> {
        let session = about.session.clone().map(Topic::Session);
        let run = about.run.clone().map(Topic::Run);
        let topics = [Some(Topic::All), session, run].into_iter().flatten();
        topics.filter_map(|topic| self.by_topic.get(&topic)).flatten().copied().collect()
    }
}

fn is_about(topic: &Topic, about: &EntrySubject) -> bool {
    match topic {
        Topic::All => true,
        Topic::Session(session) => about.session.as_ref() == Some(session),
        Topic::Run(run) => about.run.as_ref() == Some(run),
        Topic::Inbound(_) => false,
    }
}

/// Returns the inbound events that an entry is about.
fn inbounds(event: &Event) -> Vec<EventId> {
    if let Event::RunCreated(plan) = event {
        return plan.given.inbounds.clone();
    }
    if let Event::SteerReceived { event: Some(event), .. } = event {
        return vec![event.clone()];
    }
    let Event::Intake(intake) = event else { return Vec::new() };
    match intake {
        IntakeStage::Decided { record } => record.event_id.iter().cloned().collect(),
        IntakeStage::Routed(routed) => vec![routed.event.clone()],
        IntakeStage::Unrun { event, .. } => vec![event.clone()],
        IntakeStage::Received { .. }
        | IntakeStage::ChunkSent { .. }
        | IntakeStage::Delivered(_)
        | IntakeStage::QueueSet { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use agentry_model::Delta;
    use agentry_protocol::envelope::Draft;
    use agentry_runtime::RunObserver;

    use super::*;
    use crate::delta_sink::DeltaSink;

    struct Scene {
        ledger: Ledger,
        hub: Arc<StreamHub>,
        home: tempfile::TempDir,
    }

    fn scene() -> Scene {
        let home = tempfile::tempdir().expect("a temporary directory can be made");
        let ledger = Ledger::open(home.path(), Arc::new(|| 7)).expect("a ledger can be made");
        let hub = StreamHub::start(ledger.clone(), LedgerFollower::new(ledger.clone()))
            .expect("a thread can be started");
        Scene { ledger, hub, home }
    }

    #[expect(clippy::disallowed_methods, reason = "a test writes the past itself")]
    fn add(ledger: &Ledger, count: usize) -> u64 {
        let session = SessionId::from_number(1);
        let about = EntrySubject { session: Some(session), ..EntrySubject::default() };
        let event = Event::PromptReceived { content: "Hi".to_owned() };
        let draft = Draft { cause: None, about, event };
        let recorded = ledger.append(vec![draft; count]).expect("it is recorded");
        recorded.last().map_or(0, |entry| entry.seq)
    }

    fn seqs(listening: &mut StreamSubscription, count: usize) -> Vec<u64> {
        let next = |listening: &mut StreamSubscription| {
            let frame = listening.frames.blocking_recv()?;
            listening.waiting.fetch_sub(frame.bytes(), Ordering::Relaxed);
            match frame {
                StreamFrame::Entry(recorded) => Some(recorded.envelope.seq),
                StreamFrame::Delta(_) | StreamFrame::Close(_) => None,
            }
        };
        (0..count).map_while(|_| next(listening)).collect()
    }

    #[test]
    fn who_does_not_keep_up_is_let_go_and_harms_nobody() {
        let Scene { ledger, hub, home: _home } = scene();
        let mut slow = hub.subscribe(Topic::All, StreamContent::Entries, None).unwrap();
        let session = Topic::Session(SessionId::from_number(1));
        let mut quick = hub.subscribe(session, StreamContent::Entries, None).unwrap();
        let half = STREAM_FRAMES_MAX / 2;
        let mut heard = Vec::new();
        for _ in 0..4 {
            add(&ledger, half);
            heard.extend(seqs(&mut quick, half));
        }
        assert_eq!(heard, (1..=4 * half as u64).collect::<Vec<u64>>());
        assert_eq!((hub.dropped(), hub.subscriber_count()), (1, 1));
        // The frames queued for the slow one are complete up to the point where it was removed.
        let got = seqs(&mut slow, usize::MAX);
        assert_eq!(got, (1..=STREAM_FRAMES_MAX as u64).collect::<Vec<u64>>());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test writes the past itself")]
    fn what_waits_for_a_slow_listener_is_bounded_in_bytes() {
        let Scene { ledger, hub, home: _home } = scene();
        let slow = hub.subscribe(Topic::All, StreamContent::Entries, None).unwrap();
        let mut quick = hub.subscribe(Topic::All, StreamContent::Entries, None).unwrap();
        let about = EntrySubject::default();
        let event = Event::PromptReceived { content: "x".repeat(20_000) };
        let draft = Draft { cause: None, about, event };
        let count = STREAM_WAITING_BYTES_MAX / 20_000;
        for _ in 0..count {
            ledger.append(vec![draft.clone()]).expect("it is recorded");
            assert_eq!(seqs(&mut quick, 1).len(), 1);
        }
        assert_eq!((hub.dropped(), hub.subscriber_count()), (1, 1));
        let waiting = slow.waiting.load(Ordering::Relaxed);
        assert!(waiting <= STREAM_WAITING_BYTES_MAX + 100_000, "{waiting} bytes");
        hub.close();
    }

    #[test]
    fn a_key_has_so_many_streams_and_each_that_ends_gives_its_place_back() {
        let Scene { hub, home: _home, .. } = scene();
        let mut open: Vec<StreamSubscription> = (0..STREAMS_PER_KEY_MAX)
            .map(|_| hub.subscribe(Topic::All, StreamContent::Entries, None).unwrap())
            .collect();
        let refusal =
            hub.subscribe(Topic::All, StreamContent::Entries, None).map(drop).unwrap_err();
        assert_eq!(refusal.code, ApiErrorCode::RateLimited);
        // A removed subscriber counts as open until it is dropped.
        let first = open.remove(0);
        hub.state().remove(first.number);
        assert!(hub.subscribe(Topic::All, StreamContent::Entries, None).is_err());
        drop(first);
        assert!(hub.subscribe(Topic::All, StreamContent::Entries, None).is_ok());
        drop(open);
        assert!(hub.state().open.is_empty());
        hub.close();
    }

    #[test]
    fn a_listener_begins_where_the_ledger_is_and_hears_each_entry_once() {
        let Scene { ledger, hub, home: _home } = scene();
        let before = add(&ledger, 3);
        let mut first = hub.subscribe(Topic::All, StreamContent::Entries, None).unwrap();
        assert_eq!(first.after_seq, before);
        let last = add(&ledger, 2);
        assert_eq!(seqs(&mut first, 2), [before + 1, last]);
        drop(first);
        assert_eq!(hub.subscriber_count(), 0);
        add(&ledger, 5);
        let mut again = hub.subscribe(Topic::All, StreamContent::Entries, None).unwrap();
        let next = add(&ledger, 1);
        let count = usize::try_from(next - again.after_seq).unwrap();
        let heard = seqs(&mut again, count);
        assert_eq!(heard.last(), Some(&next));
        hub.close();
        assert!(hub.subscribe(Topic::All, StreamContent::Entries, None).is_err());
    }

    /// A client that subscribed as the last one left got the whole past again.
    #[test]
    fn a_listener_hears_nothing_that_it_is_to_read_in_the_ledger() {
        let Scene { ledger, hub, home: _home } = scene();
        let before = add(&ledger, 3);
        let mut listening = hub.subscribe(Topic::All, StreamContent::Entries, None).unwrap();
        for envelope in ledger.read_from(0, &EntryFilter::default(), 3).unwrap() {
            hub.state().deliver(StreamEntry::new(Arc::new(envelope)));
        }
        let new = add(&ledger, 1);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let Some(StreamFrame::Entry(heard)) = runtime.block_on(listening.next()) else {
            panic!("it hears of the new one");
        };
        assert_eq!((listening.after_seq, heard.envelope.seq), (before, new));
        hub.close();
    }

    /// The thread of the hub finds messages of a subscription that ended with its last subscriber.
    #[test]
    fn messages_of_an_earlier_subscription_of_the_hub_reach_no_subscriber() {
        let Scene { ledger, hub, home: _home } = scene();
        let first = hub.subscribe(Topic::All, StreamContent::Entries, None).unwrap();
        let earlier = first.number;
        drop(first);
        assert!(hub.state().following.is_none());
        let mut again = hub.subscribe(Topic::All, StreamContent::Entries, None).unwrap();
        add(&ledger, 1);
        assert_eq!(seqs(&mut again, 1), [1]);
        let old = ledger.read_from(0, &EntryFilter::default(), 1).unwrap();
        hub.deliver(earlier, old.into_iter().map(Arc::new).collect());
        hub.fail(earlier, "an old failure");
        add(&ledger, 1);
        assert_eq!(seqs(&mut again, 1), [2]);
        hub.close();
    }

    #[test]
    fn a_failure_of_the_ledger_closes_all_streams_and_new_ones_can_follow() {
        let Scene { ledger, hub, home: _home } = scene();
        let mut closed = hub.subscribe(Topic::All, StreamContent::Entries, None).unwrap();
        hub.fail(closed.number, "a test");
        let frame = closed.frames.blocking_recv();
        assert!(matches!(frame, Some(StreamFrame::Close(CloseReason::Stopping))));
        assert!(closed.frames.blocking_recv().is_none());
        let mut next = hub.subscribe(Topic::All, StreamContent::Entries, None).unwrap();
        let new = add(&ledger, 1);
        assert_eq!(seqs(&mut next, 1), [new]);
        hub.close();
    }

    #[test]
    fn who_comes_late_is_told_what_was_said_so_far() {
        let Scene { hub, home: _home, .. } = scene();
        let about = EntrySubject { run: Some(RunId::from_number(1)), ..EntrySubject::default() };
        let audience = DeltaSink(hub.clone());
        for text in ["Hel", "lo"] {
            audience.on_delta(&about, 5, &Delta::Text(text.to_owned()));
        }
        let late = hub
            .subscribe(Topic::Run(RunId::from_number(1)), StreamContent::EntriesAndDeltas, None)
            .unwrap();
        let said: Vec<&DeltaKind> = late.partial.iter().map(|delta| &delta.said).collect();
        assert_eq!(said, [&DeltaKind::Text("Hello".to_owned())]);
        audience.on_delta(&about, 5, &Delta::Restart);
        let later = hub.subscribe(Topic::All, StreamContent::EntriesAndDeltas, None).unwrap();
        assert!(later.partial.is_empty());
        hub.close();
    }
}
