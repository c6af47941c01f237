//! Delivers new ledger entries to all their subscribers in this process: sessions, the dispatcher
//! and event streams.
//!
//! One thread reads the end of the ledger once for all of them, and only while there are any. Each
//! subscriber has its own position. One that is behind the thread, because it begins at an earlier
//! entry or had no room, gets the entries in between a page at a time; the others do not wait.
//!
//! Must never: deliver an entry twice, out of order, or against a filter; wait for a subscriber.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentry_protocol::envelope::{Envelope, LedgerStream};
use agentry_store::{EntryFilter, Error as StoreError, Ledger, Tail, TailWaker};

use crate::error::Error;
use crate::limits::{CATCH_UP_ENTRIES_MAX, LISTENER_ROOM_WAIT};
use crate::spawn;

/// The reason that a listener gets for the end of its subscription after it panicked.
const LISTENER_PANIC: &str = "the receiver of the ledger's entries panicked";
/// The reason that all listeners get if the thread itself panicked.
const FOLLOWER_PANIC: &str = "the follower of the ledger panicked";

/// The receiver of the entries of one subscription.
///
/// One thread calls all listeners, so a call must queue the entries and return, and use neither its
/// subscription nor the follower. Under this condition no subscriber delays another. A listener
/// that has no room, or panics, harms none but itself: it gets the entries later, or no more.
pub trait EntryListener: Send {
    /// Returns true if entries can be delivered now. The thread asks again after a short time.
    fn has_room(&self) -> bool {
        true
    }

    /// Queues the next entries of the subscription, in order; never none.
    fn deliver(&self, entries: &[Arc<Envelope>]);

    /// Receives the reason why no more entries follow.
    fn fail(&self, reason: &str);
}

/// The follower of a ledger. Clones share one thread and its subscribers.
#[derive(Clone)]
pub struct LedgerFollower {
    ledger: Ledger,
    state: Arc<Mutex<FollowerState>>,
}

#[derive(Default)]
struct FollowerState {
    subscribers: BTreeMap<u64, LedgerSubscriber>,
    next_number: u64,
    /// Ends the wait of the thread; None while no thread runs.
    waker: Option<TailWaker>,
}

struct LedgerSubscriber {
    filter: EntryFilter,
    /// The matching entries up to this one were delivered, or precede the subscription.
    after_seq: u64,
    listener: Box<dyn EntryListener>,
}

/// A subscription to entries of the ledger. Dropping it ends it; no entry is delivered after that.
pub struct LedgerSubscription {
    follower: LedgerFollower,
    number: u64,
}

impl Drop for LedgerSubscription {
    fn drop(&mut self) {
        let mut state = self.follower.state();
        let removed = state.subscribers.remove(&self.number);
        if state.subscribers.is_empty() {
            // The thread ends, and lets go of the ledger.
            state.waker.iter().for_each(TailWaker::wake);
        }
        drop(state);
        drop(removed);
    }
}

impl LedgerFollower {
    /// Returns a follower that has no subscriber and no thread.
    pub fn new(ledger: Ledger) -> Self {
        Self { ledger, state: Arc::default() }
    }

    /// Subscribes a listener to the matching entries after `after_seq`; starts the thread if there
    /// is none.
    ///
    /// # Errors
    /// If the ledger cannot be read, or the thread cannot be started.
    pub fn subscribe(
        &self,
        filter: EntryFilter,
        after_seq: u64,
        listener: Box<dyn EntryListener>,
    ) -> Result<LedgerSubscription, Error> {
        let mut state = self.state();
        match &state.waker {
            // The thread may wait in a stream that is not enough for the new subscriber.
            Some(waker) => waker.wake(),
            None => {
                let thread = self.thread(&mut state, after_seq)?;
                let started = spawn::start("ledger-follower".to_owned(), move || thread.run());
                started.inspect_err(|_| state.waker = None)?;
            }
        }
        let number = state.next_number;
        state.next_number += 1;
        state.subscribers.insert(number, LedgerSubscriber { filter, after_seq, listener });
        Ok(LedgerSubscription { follower: self.clone(), number })
    }

    fn thread(&self, state: &mut FollowerState, after_seq: u64) -> Result<FollowerThread, Error> {
        let tail = self.ledger.tail(after_seq, EntryFilter::default())?;
        state.waker = Some(tail.waker());
        Ok(FollowerThread { follower: self.clone(), tail, stream: None })
    }

    /// Ends all subscriptions and tells each listener why. The next subscriber starts a new thread.
    fn fail(&self, reason: &str) {
        let mut state = self.state();
        state.waker = None;
        for subscriber in std::mem::take(&mut state.subscribers).into_values() {
            subscriber.fail(reason);
        }
    }

    fn state(&self) -> MutexGuard<'_, FollowerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FollowerState {
    /// Delivers to one subscriber; a listener that panics is removed.
    fn deliver(&mut self, number: u64, entries: &[Arc<Envelope>], until_seq: u64) {
        let Some(subscriber) = self.subscribers.get_mut(&number) else { return };
        match subscriber.deliver(entries) {
            DeliveryOutcome::Delivered => {
                subscriber.after_seq = subscriber.after_seq.max(until_seq);
            }
            DeliveryOutcome::NoRoom => {}
            DeliveryOutcome::Panicked => self.remove(number, LISTENER_PANIC),
        }
    }

    fn remove(&mut self, number: u64, reason: &str) {
        if let Some(subscriber) = self.subscribers.remove(&number) {
            subscriber.fail(reason);
        }
    }

    /// Returns the narrowest stream that has the entries of all subscribers; None means all.
    fn stream(&self) -> Option<LedgerStream> {
        let world = Some(LedgerStream::World);
        world.filter(|_| self.subscribers.values().all(|one| one.filter.stream == world))
    }
}

/// The end of an attempt to deliver entries to a listener.
enum DeliveryOutcome {
    Delivered,
    NoRoom,
    Panicked,
}

impl LedgerSubscriber {
    fn deliver(&self, entries: &[Arc<Envelope>]) -> DeliveryOutcome {
        if entries.is_empty() {
            return DeliveryOutcome::Delivered;
        }
        let delivery = || {
            let has_room = self.listener.has_room();
            if has_room {
                self.listener.deliver(entries);
            }
            has_room
        };
        match catch_unwind(AssertUnwindSafe(delivery)) {
            Ok(true) => DeliveryOutcome::Delivered,
            Ok(false) => DeliveryOutcome::NoRoom,
            Err(_) => DeliveryOutcome::Panicked,
        }
    }

    fn fail(&self, reason: &str) {
        // A listener that panics here too gets no more, so that the others hear the reason.
        catch_unwind(AssertUnwindSafe(|| self.listener.fail(reason))).unwrap_or(());
    }
}

/// The thread that reads the ledger for all subscribers.
struct FollowerThread {
    follower: LedgerFollower,
    tail: Tail,
    /// The stream that the tail reads; None means all.
    stream: Option<LedgerStream>,
}

/// The work of one pass of the thread.
struct FollowerPass {
    /// The subscribers behind the thread that have room.
    backlogs: Vec<SubscriberBacklog>,
    /// The longest wait for new entries.
    wait: Duration,
}

/// The entries that a subscriber did not get yet and that the thread has passed.
struct SubscriberBacklog {
    number: u64,
    filter: EntryFilter,
    after_seq: u64,
}

/// Entries that the tail returned, with the positions of the tail before and after.
struct TailBatch {
    after_seq: u64,
    until_seq: u64,
    entries: Vec<Arc<Envelope>>,
}

impl FollowerThread {
    fn run(mut self) {
        let follower = self.follower.clone();
        if catch_unwind(AssertUnwindSafe(move || self.follow())).is_err() {
            // Otherwise the subscribers would wait for a thread that is gone.
            follower.fail(FOLLOWER_PANIC);
        }
    }

    /// Delivers entries until there is no subscriber, or the ledger cannot be read.
    fn follow(&mut self) {
        while let Some(pass) = self.begin() {
            for backlog in &pass.backlogs {
                self.catch_up(backlog);
            }
            match self.read(pass.wait) {
                Ok(batch) => self.deliver(batch),
                Err(error) => return self.follower.fail(&error.to_string()),
            }
        }
    }

    /// Returns the work of the next pass. None ends the thread: there is no subscriber.
    fn begin(&mut self) -> Option<FollowerPass> {
        let mut state = self.follower.state();
        if state.subscribers.is_empty() {
            // In one step with the check, so that the next subscriber starts a new thread.
            state.waker = None;
            return None;
        }
        // Sessions and the dispatcher need the world stream only, and its tail sleeps while agents
        // work. So the thread reads all entries only while a subscriber, such as the event
        // streams, wants them; then it decodes each entry once instead of once per reader.
        self.stream = state.stream();
        self.tail.set_stream(self.stream);
        let position = self.tail.after_seq();
        let behind = state.subscribers.iter().filter(|(_, one)| one.after_seq < position);
        let (ready, full): (Vec<_>, Vec<_>) = behind.partition(|(_, one)| one.listener.has_room());
        let backlog = |(number, one): (&u64, &LedgerSubscriber)| SubscriberBacklog {
            number: *number,
            filter: one.filter.clone(),
            after_seq: one.after_seq,
        };
        let backlogs: Vec<SubscriberBacklog> = ready.into_iter().map(backlog).collect();
        let wait = match (backlogs.is_empty(), full.is_empty()) {
            (false, _) => Duration::ZERO,
            (true, false) => LISTENER_ROOM_WAIT,
            // A new subscriber, and the end of the last one, wake the tail.
            (true, true) => Duration::MAX,
        };
        Some(FollowerPass { backlogs, wait })
    }

    /// Delivers a page of the entries that a subscriber missed, up to the position of the thread.
    fn catch_up(&self, backlog: &SubscriberBacklog) {
        let SubscriberBacklog { number, filter, after_seq } = backlog;
        let position = self.tail.after_seq();
        // Without the lock: the others subscribe and leave while the page is read.
        let page = self.follower.ledger.read_from(*after_seq, filter, CATCH_UP_ENTRIES_MAX);
        let mut state = self.follower.state();
        match page {
            Ok(mut page) => {
                page.retain(|envelope| envelope.seq <= position);
                let is_last = page.len() < CATCH_UP_ENTRIES_MAX;
                let last = page.last().filter(|_| !is_last);
                let until_seq = last.map_or(position, |envelope| envelope.seq);
                let page: Vec<Arc<Envelope>> = page.into_iter().map(Arc::new).collect();
                state.deliver(*number, &page, until_seq);
            }
            // The others may not need the entry that cannot be read.
            Err(error) => state.remove(*number, &error.to_string()),
        }
    }

    /// Waits for the next entries.
    fn read(&mut self, wait: Duration) -> Result<TailBatch, StoreError> {
        let after_seq = self.tail.after_seq();
        let entries = self.tail.next(wait)?.into_iter().map(Arc::new).collect();
        Ok(TailBatch { after_seq, until_seq: self.tail.after_seq(), entries })
    }

    /// Delivers entries to all subscribers that have everything before them.
    fn deliver(&self, batch: TailBatch) {
        let TailBatch { after_seq, until_seq, entries } = batch;
        let world = Some(LedgerStream::World);
        let of_world = entries.iter().filter(|one| one.stream == LedgerStream::World);
        let of_world: Vec<Arc<Envelope>> = of_world.cloned().collect();
        let mut state = self.follower.state();
        let numbers: Vec<u64> = state.subscribers.keys().copied().collect();
        for number in numbers {
            let Some(one) = state.subscribers.get(&number) else { continue };
            // A subscriber that came while the tail waited may need a stream that was not read;
            // like one that is behind, it gets these entries from its backlog.
            let is_read = self.stream.is_none() || one.filter.stream == world;
            if !is_read || one.after_seq < after_seq {
                continue;
            }
            let of_stream = if one.filter.stream == world { &of_world } else { &entries };
            let is_new =
                |entry: &&Arc<Envelope>| entry.seq > one.after_seq && one.filter.matches(entry);
            let new: Vec<Arc<Envelope>> = of_stream.iter().filter(is_new).cloned().collect();
            state.deliver(number, &new, until_seq);
        }
    }
}

#[cfg(test)]
mod tests;
