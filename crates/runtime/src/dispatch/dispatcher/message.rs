//! The messages to the dispatcher, and the handle that stops it.
//!
//! Must never: carry an entry itself; the ledger has it.

use std::collections::BTreeSet;
use std::sync::mpsc::Sender;

use agentry_protocol::{RunId, SessionId, TurnId};

use crate::error::Error;
use crate::spawn;
use crate::turn::runner::RunOutcome;

/// A message to the dispatcher.
pub(crate) enum DispatcherMessage {
    /// New world entries are in the ledger.
    WorldChanged(WorldChanges),
    /// A run is recorded.
    RunBegan(SessionId, RunId),
    /// A turn started.
    TurnBegan {
        session: SessionId,
        turn: TurnId,
        /// True if the turn is a compaction.
        compacts: bool,
    },
    /// The compaction of a session ended.
    Compacted(SessionId),
    /// A turn took an input, by its sequence number.
    SteerTaken(SessionId, u64),
    /// A run left its thread.
    RunExited(SessionId, Result<RunOutcome, Error>),
    /// The ledger cannot be followed any more, for this reason.
    Failed(String),
    /// Start no more runs.
    Stop,
}

/// The world entries that concern the dispatcher.
#[derive(Default)]
pub(crate) struct WorldChanges {
    /// True if an inbound event was received.
    pub(crate) received: bool,
    /// Sessions in which a person answered an approval.
    pub(crate) answered: BTreeSet<SessionId>,
    /// Sessions with a request to cancel their run.
    pub(crate) cancelled: BTreeSet<SessionId>,
}

/// A handle that can stop a dispatcher.
#[derive(Clone)]
pub struct DispatcherHandle(Sender<DispatcherMessage>);

impl DispatcherHandle {
    /// Creates a handle to the queue of a dispatcher.
    pub(super) fn new(queue: Sender<DispatcherMessage>) -> Self {
        Self(queue)
    }

    /// Starts no more runs; active runs have some time to end.
    pub fn stop(&self) {
        // A dispatcher that has ended needs no stop.
        spawn::send_if_running(&self.0, DispatcherMessage::Stop);
    }
}
