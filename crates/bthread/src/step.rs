//! The words for what happens: where an event came from, what a step came to, what could be next.
//!
//! Must never: hold anything but plain values.

use serde::{Deserialize, Serialize};

use crate::{halt::Halt, thread::ThreadName};

/// How soon an event from outside is looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Lane {
    /// Before internal events.
    Urgent,
    /// When nothing internal can be chosen.
    Normal,
}

/// Where a chosen event came from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum EventSource {
    /// Requested by a thread; of several, the most urgent one.
    Internal {
        /// Its name.
        thread: ThreadName,
    },
    /// Offered from outside.
    External {
        /// Through which lane.
        lane: Lane,
    },
}

/// An event that happened.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ChosenEvent<E> {
    /// What.
    pub event: E,
    /// From where.
    pub source: EventSource,
}

/// What one step came to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StepOutcome<E> {
    /// This event happened.
    Chosen(ChosenEvent<E>),
    /// Nothing can happen until the outside speaks.
    Quiet,
    /// Nothing will ever happen again.
    Halted(Halt),
}

/// Something that could happen next; see [`Program::choices`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Choice<E> {
    /// A request that nobody blocks.
    Internal {
        /// The most urgent thread that requests it.
        thread: ThreadName,
        /// The event.
        event: E,
    },
    /// An offered event that nobody blocks and somebody moves on.
    External {
        /// The lane in which it waits.
        lane: Lane,
        /// The event.
        event: E,
    },
    /// An offered event that nobody blocks and nobody moves on, while all is quiet.
    Unheard {
        /// The lane in which it waits.
        lane: Lane,
        /// The event.
        event: E,
    },
}
