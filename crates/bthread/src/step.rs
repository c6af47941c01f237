//! The vocabulary of a step: the source of an event, the outcome of a step, the next choices.
//!
//! Must never: hold anything but plain values.

use serde::{Deserialize, Serialize};

use crate::{halt::Halt, thread::ThreadName};

/// The priority of an external event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Lane {
    /// Considered before internal events.
    Urgent,
    /// Considered when no internal event can be chosen.
    Normal,
}

/// The source of a chosen event.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum EventSource {
    /// Requested by a thread; of several, the most urgent one.
    Internal {
        /// The name of the thread.
        thread: ThreadName,
    },
    /// Offered by the outside.
    External {
        /// The lane that delivered it.
        lane: Lane,
    },
}

/// An event that was chosen.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ChosenEvent<E> {
    /// The event.
    pub event: E,
    /// Its source.
    pub source: EventSource,
}

/// The outcome of one step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StepOutcome<E> {
    /// This event was chosen.
    Chosen(ChosenEvent<E>),
    /// No event can be chosen until the outside offers one.
    Quiet,
    /// The program has halted for good.
    Halted(Halt),
}

/// An event that could be chosen next; see [`Program::choices`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Choice<E> {
    /// A request that no thread blocks.
    Internal {
        /// The most urgent thread that requests it.
        thread: ThreadName,
        /// The event.
        event: E,
    },
    /// An offered event that no thread blocks and at least one moves on.
    External {
        /// The lane in which it waits.
        lane: Lane,
        /// The event.
        event: E,
    },
    /// An offered event that no thread blocks or moves on, while nothing else can be chosen.
    Unheard {
        /// The lane in which it waits.
        lane: Lane,
        /// The event.
        event: E,
    },
}
