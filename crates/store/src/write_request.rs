//! Requests to the writer thread, each with the channel for its answer.
//!
//! Must never: carry an entry that is not encoded.

use std::sync::mpsc::{self, Receiver, SendError, SyncSender};

use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_protocol::{SessionId, TurnId};

use crate::error::Error;
use crate::reservation::{ReleaseTarget, Reservation, SpendingOverrun};

/// A request to the writer thread.
pub(crate) enum WriterRequest {
    Append(AppendRequest),
    Alone(ExclusiveOp),
}

/// A request that gets a transaction of its own.
pub(crate) enum ExclusiveOp {
    Rebuild(Reply<()>),
    Reserve(Box<Reservation>, Reply<Result<(), SpendingOverrun>>),
    Release(ReleaseTarget, Reply<()>),
}

/// Entries to write, all or none.
pub(crate) struct AppendRequest {
    pub(crate) at_head: Option<ExpectedHead>,
    pub(crate) entries: Vec<PendingEntry>,
    pub(crate) reply: Reply<Vec<Envelope>>,
}

/// The way back to the caller of a request.
pub(crate) struct Reply<T>(SyncSender<Result<T, Error>>);

impl<T> Reply<T> {
    /// Creates a reply, and the receiver at which its caller waits.
    pub(crate) fn channel() -> (Self, Receiver<Result<T, Error>>) {
        let (sender, receiver) = mpsc::sync_channel(1);
        (Self(sender), receiver)
    }

    /// Answers the caller.
    pub(crate) fn send(self, answer: Result<T, Error>) {
        match self.0.send(answer) {
            // A caller waits for its answer; only one whose thread panicked is gone.
            Ok(()) | Err(SendError(_)) => {}
        }
    }
}

/// The session head that an append depends on.
pub(crate) struct ExpectedHead {
    pub(crate) session: SessionId,
    pub(crate) head: Option<TurnId>,
}

/// An encoded entry without a sequence number, time and hash.
pub(crate) struct PendingEntry {
    pub(crate) cause: Option<u64>,
    pub(crate) about: EntrySubject,
    pub(crate) event: Event,
    pub(crate) kind: String,
    pub(crate) body: String,
}
