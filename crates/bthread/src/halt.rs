//! The permanent halt of a program, with its reason.
//!
//! Must never: be lifted. A crashed guard must not allow an event, so a halt ends all choosing.

use std::{any::Any, error::Error, fmt};

use serde::{Deserialize, Serialize};

use crate::thread::ThreadName;

/// Replaces the thread name in a report when a guard panicked before any thread moved.
pub(crate) const A_GUARD: &str = "a guard";

/// The reason why a program never chooses an event again.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Halt {
    /// A series of internal events exceeded the limit of one run.
    Livelock {
        /// The number of events chosen.
        events: usize,
        /// The last events, oldest first.
        last: Vec<String>,
    },
    /// A thread, or a guard evaluated for it, panicked; its step was not applied.
    ThreadPanicked {
        /// The name of the thread.
        thread: String,
        /// The event on which it moved; None if it was not moving.
        event: Option<String>,
        /// The panic message.
        message: String,
    },
}

impl fmt::Display for Halt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Halt::Livelock { events, last } => {
                write!(
                    out,
                    "no rest after {events} internal events; the last were {}",
                    last.join(", ")
                )
            }
            Halt::ThreadPanicked { thread, event: Some(event), message } => {
                write!(out, "{thread} panicked on {event}: {message}")
            }
            Halt::ThreadPanicked { thread, event: None, message } => {
                write!(out, "{thread} panicked: {message}")
            }
        }
    }
}

impl Error for Halt {}

impl Halt {
    pub(crate) fn panicked(
        thread: ThreadName,
        event: Option<String>,
        panic: &(dyn Any + Send),
    ) -> Self {
        Halt::ThreadPanicked { thread: thread.into_owned(), event, message: message(panic) }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&'static str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without words".to_owned()
    }
}
