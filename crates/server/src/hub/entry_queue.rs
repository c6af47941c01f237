//! The queue through which ledger entries come to the hub: the follower fills it, the hub's thread
//! empties it.
//!
//! Sending to many clients takes time. The queue keeps this time from the runs and the dispatcher,
//! which follow the ledger with the same thread. It is bounded: while it is full, the entries wait
//! in the ledger.
//!
//! Must never: hold entries without a bound, or mix those of two subscriptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use agentry_protocol::envelope::Envelope;
use agentry_runtime::EntryListener;

use crate::limits::HUB_ENTRIES_WAITING_MAX;

/// A message to the hub's thread.
pub(super) enum HubMessage {
    /// Entries of a subscription of the hub, by its number.
    Entries(u64, Vec<Arc<Envelope>>),
    /// The subscription ended, since the ledger cannot be read for this reason.
    Failed(u64, String),
    /// The hub was closed.
    Closed,
}

/// The end of the queue that the hub keeps.
pub(super) struct EntryQueue {
    sender: Sender<HubMessage>,
    /// The number of entries in the queue.
    waiting: Arc<AtomicUsize>,
}

impl EntryQueue {
    pub(super) fn new() -> (Self, Receiver<HubMessage>) {
        let (sender, receiver) = mpsc::channel();
        (Self { sender, waiting: Arc::default() }, receiver)
    }

    /// Returns a listener that fills the queue, for the subscription of this number.
    pub(super) fn listener(&self, number: u64) -> Box<dyn EntryListener> {
        let (sender, waiting) = (self.sender.clone(), self.waiting.clone());
        Box::new(QueueListener { number, sender, waiting })
    }

    /// Counts entries that the hub's thread has taken from the queue.
    pub(super) fn taken(&self, count: usize) {
        self.waiting.fetch_sub(count, Ordering::Relaxed);
    }

    /// Ends the hub's thread after the messages before.
    pub(super) fn close(&self) {
        send(&self.sender, HubMessage::Closed);
    }
}

struct QueueListener {
    number: u64,
    sender: Sender<HubMessage>,
    waiting: Arc<AtomicUsize>,
}

impl EntryListener for QueueListener {
    fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < HUB_ENTRIES_WAITING_MAX
    }

    fn deliver(&self, entries: &[Arc<Envelope>]) {
        self.waiting.fetch_add(entries.len(), Ordering::Relaxed);
        send(&self.sender, HubMessage::Entries(self.number, entries.to_vec()));
    }

    fn fail(&self, reason: &str) {
        send(&self.sender, HubMessage::Failed(self.number, reason.to_owned()));
    }
}

fn send(sender: &Sender<HubMessage>, message: HubMessage) {
    match sender.send(message) {
        // The hub's thread ends only when the hub is closed; then nothing needs the message.
        Ok(()) | Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use agentry_protocol::envelope::{EVENT_VERSION, EntrySubject, LedgerStream};
    use agentry_protocol::event::Event;

    use super::*;

    #[test]
    fn a_full_queue_has_no_room_until_the_hub_takes_from_it() {
        let (queue, messages) = EntryQueue::new();
        let listener = queue.listener(3);
        let entry = Arc::new(Envelope {
            seq: 1,
            time: 7,
            cause: None,
            version: EVENT_VERSION,
            stream: LedgerStream::Turns,
            about: EntrySubject::default(),
            event: Event::RunResumed {},
        });
        listener.deliver(&vec![entry.clone(); HUB_ENTRIES_WAITING_MAX - 1]);
        assert!(listener.has_room());
        listener.deliver(&[entry]);
        assert!(!listener.has_room());
        // The entries of an ended subscription count too.
        assert!(!queue.listener(4).has_room());
        let Ok(HubMessage::Entries(3, entries)) = messages.recv() else { panic!("entries") };
        queue.taken(entries.len());
        assert!(listener.has_room());
    }
}
