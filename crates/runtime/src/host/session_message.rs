//! Messages to a running session, and the queue that carries them.
//!
//! Must never: look into a message; the session loop does.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use agentry_protocol::SessionId;
use agentry_protocol::envelope::{Envelope, LedgerStream};
use agentry_protocol::event::Event;
use agentry_store::EntryFilter;

use crate::error::Error;
use crate::host::ledger_follower::{EntryListener, LedgerFollower, LedgerSubscription};
use crate::spawn;

/// A message to the session loop.
pub(crate) enum SessionMessage {
    /// The result of an effect; not yet in the ledger.
    EffectResult(Box<Event>),
    /// An event to append without informing the turn.
    RecordOnly(Box<Event>),
    /// An input that is already in the ledger.
    Input(Box<Envelope>),
    /// No one is left to answer approvals.
    Unattended,
    /// The loop cannot continue; the reason is for the operator.
    Fatal(String),
}

/// Tells if a person or a program can answer approvals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attendance {
    /// A person or a program may answer while the run waits.
    Present,
    /// No one can answer: a run that waits for an approval pauses and is resumed later.
    Absent,
}

/// A handle that sends messages to a running session.
#[derive(Clone)]
pub struct SessionHandle(pub(crate) Sender<SessionMessage>);

impl SessionHandle {
    /// Tells the session that no one is left to answer approvals.
    pub fn set_unattended(&self) {
        spawn::send_if_running(&self.0, SessionMessage::Unattended);
    }
}

/// The two ends of the queue into the session loop.
pub struct SessionInbox {
    pub(crate) sender: Sender<SessionMessage>,
    pub(crate) receiver: Receiver<SessionMessage>,
}

impl Default for SessionInbox {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel();
        Self { sender, receiver }
    }
}

impl SessionInbox {
    /// Returns a handle that sends messages to the session.
    pub fn handle(&self) -> SessionHandle {
        SessionHandle(self.sender.clone())
    }

    /// Adds a message to the queue.
    pub(crate) fn push(&self, message: SessionMessage) {
        self.sender.send(message).expect("an inbox has the receiver of its own queue");
    }

    /// Subscribes the inbox to the world entries about a session after `after_seq`.
    pub(crate) fn follow(
        &self,
        follower: &LedgerFollower,
        session: &SessionId,
        after_seq: u64,
    ) -> Result<LedgerSubscription, Error> {
        let (session, stream) = (Some(session.clone()), Some(LedgerStream::World));
        let filter = EntryFilter { session, stream, ..EntryFilter::default() };
        follower.subscribe(filter, after_seq, Box::new(InboxListener(self.sender.clone())))
    }
}

/// Puts the inputs of a session into its inbox; a session that has ended needs none.
struct InboxListener(Sender<SessionMessage>);

impl EntryListener for InboxListener {
    fn deliver(&self, entries: &[Arc<Envelope>]) {
        for envelope in entries {
            let input = SessionMessage::Input(Box::new(Envelope::clone(envelope)));
            spawn::send_if_running(&self.0, input);
        }
    }

    fn fail(&self, reason: &str) {
        spawn::send_if_running(&self.0, SessionMessage::Fatal(reason.to_owned()));
    }
}
