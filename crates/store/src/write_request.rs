//! Requests to the writer thread, each with the channel for its answer.
//!
//! Must never: carry an entry that is not encoded.

use std::sync::mpsc::SyncSender;

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
    Rebuild(SyncSender<Result<(), Error>>),
    Reserve(Box<Reservation>, SyncSender<Result<Result<(), SpendingOverrun>, Error>>),
    Release(ReleaseTarget, SyncSender<Result<(), Error>>),
}

/// Entries to write, all or none.
pub(crate) struct AppendRequest {
    pub(crate) at_head: Option<ExpectedHead>,
    pub(crate) entries: Vec<PendingEntry>,
    pub(crate) reply: SyncSender<Result<Vec<Envelope>, Error>>,
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
