//! The frames that the hub sends to its subscribers: entries, deltas, and the close reason.
//!
//! Must never: be copied for each subscriber; large content is shared.

use std::sync::{Arc, OnceLock};

use agentry_protocol::CallId;
use agentry_protocol::envelope::{EntrySubject, Envelope};

use crate::entry_json;

/// A message from the hub to a subscriber.
#[derive(Clone)]
pub(crate) enum StreamFrame {
    /// A new ledger entry.
    Entry(Arc<StreamEntry>),
    /// A piece of an answer in progress, or of a tool's progress output.
    Delta(Arc<StreamDelta>),
    /// The last frame of the stream.
    Close(CloseReason),
}

impl StreamFrame {
    /// Returns the approximate memory of the frame while it is queued, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Entry(recorded) => recorded.bytes(),
            Self::Delta(piece) => match &piece.said {
                DeltaKind::Text(text) | DeltaKind::Thinking(text) | DeltaKind::Progress(text) => {
                    text.len()
                }
                DeltaKind::Restart => 0,
            },
            Self::Close(_) => 0,
        }
    }
}

/// The reason why a stream was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// The server is stopping.
    Stopping,
    /// The client did not read fast enough.
    Slow,
    /// The client's key expired or was revoked.
    Revoked,
}

impl CloseReason {
    /// Returns the wire name of the reason, as in the `bye` event.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Stopping => "stopping",
            Self::Slow => "slow",
            Self::Revoked => "revoked",
        }
    }
}

/// A ledger entry, and its JSON text once a subscriber needs it.
pub(crate) struct StreamEntry {
    pub(crate) envelope: Arc<Envelope>,
    text: OnceLock<String>,
}

impl StreamEntry {
    pub(crate) fn new(envelope: Arc<Envelope>) -> Self {
        Self { envelope, text: OnceLock::new() }
    }

    /// Returns the approximate memory of the entry, in bytes.
    pub(super) fn bytes(&self) -> usize {
        2 * self.text().len()
    }

    /// Returns the entry as the API's JSON; built once for all subscribers.
    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| entry_json::brief_json(&self.envelope).to_string())
    }
}

/// A piece of an answer or of progress output; never recorded, and harmless to miss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamDelta {
    pub(crate) about: EntrySubject,
    /// The entry of the model request; none for progress output of a tool.
    pub(crate) asked: Option<u64>,
    pub(crate) call: Option<CallId>,
    pub(crate) said: DeltaKind,
    /// True if the content is the whole text so far, not only the newest piece.
    pub(crate) whole: bool,
}

/// The kind of a delta, with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeltaKind {
    /// A piece of the answer.
    Text(String),
    /// A piece of the model's thinking.
    Thinking(String),
    /// The model starts over; the text so far is void.
    Restart,
    /// A line of progress output of a running tool.
    Progress(String),
}
