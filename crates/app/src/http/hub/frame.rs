//! What goes to one who listens: entries, pieces of what is being said, and the end.
//!
//! Must never: be copied for each listener; what is large is shared.

use std::sync::{Arc, OnceLock};

use agentry_protocol::CallId;
use agentry_protocol::envelope::{EntrySubject, Envelope};

use crate::http::shown;

/// Something for a listener.
#[derive(Clone)]
pub(crate) enum Frame {
    /// Something was recorded.
    Entry(Arc<Recorded>),
    /// A piece of what is being said.
    Piece(Arc<Piece>),
    /// There is no more.
    Bye(Bye),
}

impl Frame {
    /// Roughly how much memory it takes while it waits.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Entry(recorded) => recorded.bytes(),
            Self::Piece(piece) => match &piece.said {
                Said::Text(text) | Said::Thinking(text) | Said::Progress(text) => text.len(),
                Said::Restart => 0,
            },
            Self::Bye(_) => 0,
        }
    }
}

/// Why a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bye {
    /// The server stops.
    Stopping,
    /// The listener did not keep up.
    Slow,
    /// Its key opens nothing any more.
    Revoked,
}

impl Bye {
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
pub(crate) struct Recorded {
    pub(crate) envelope: Envelope,
    text: OnceLock<String>,
}

impl Recorded {
    pub(crate) fn new(envelope: Envelope) -> Self {
        Self { envelope, text: OnceLock::new() }
    }

    /// Roughly how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        2 * self.text().len()
    }

    /// As the API shows it; made once for all listeners.
    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| shown::brief(&self.envelope).to_string())
    }
}

/// A piece of what is being said; never recorded, and safe to miss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) about: EntrySubject,
    /// The entry that asked the model; none for what a tool says.
    pub(crate) asked: Option<u64>,
    pub(crate) call: Option<CallId>,
    pub(crate) said: Said,
    /// Whether it is all that was said so far.
    pub(crate) whole: bool,
}

/// What a piece is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Of the answer.
    Text(String),
    /// Of the thinking before it.
    Thinking(String),
    /// What was said so far does not count.
    Restart,
    /// Of a tool that works.
    Progress(String),
}
