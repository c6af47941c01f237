//! What goes to one who listens: entries, pieces of what is being said, and the end.
//!
//! Must never: be copied for each listener; what is large is shared.

use std::sync::{Arc, OnceLock};

use agentry_protocol::CallId;
use agentry_protocol::envelope::{EntrySubject, Envelope};

use crate::http::entry_json;

/// Something for a listener.
#[derive(Clone)]
pub(crate) enum StreamFrame {
    /// Something was recorded.
    Entry(Arc<StreamEntry>),
    /// A piece of what is being said.
    Delta(Arc<StreamDelta>),
    /// There is no more.
    Close(CloseReason),
}

impl StreamFrame {
    /// Roughly how much memory it takes while it waits.
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

/// Why a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// The server stops.
    Stopping,
    /// The listener did not keep up.
    Slow,
    /// Its key opens nothing any more.
    Revoked,
}

impl CloseReason {
    /// The word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Stopping => "stopping",
            Self::Slow => "slow",
            Self::Revoked => "revoked",
        }
    }
}

/// An entry, and its text once somebody needs it.
pub(crate) struct StreamEntry {
    pub(crate) envelope: Envelope,
    text: OnceLock<String>,
}

impl StreamEntry {
    pub(crate) fn new(envelope: Envelope) -> Self {
        Self { envelope, text: OnceLock::new() }
    }

    /// Roughly how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        2 * self.text().len()
    }

    /// As the API shows it; made once for all listeners.
    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| entry_json::brief_json(&self.envelope).to_string())
    }
}

/// A piece of what is being said; never recorded, and safe to miss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamDelta {
    pub(crate) about: EntrySubject,
    /// The entry that asked the model; none for what a tool says.
    pub(crate) asked: Option<u64>,
    pub(crate) call: Option<CallId>,
    pub(crate) said: DeltaKind,
    /// Whether it is all that was said so far.
    pub(crate) whole: bool,
}

/// What a piece is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeltaKind {
    /// Of the answer.
    Text(String),
    /// Of the thinking before it.
    Thinking(String),
    /// What was said so far does not count.
    Restart,
    /// Of a tool that works.
    Progress(String),
}
