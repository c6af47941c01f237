//! Why a program stands still for good.
//!
//! Must never: be lifted. A crashed guard may not open the door, so nothing is chosen after a halt.

use std::{any::Any, error::Error, fmt};

use serde::{Deserialize, Serialize};

use crate::thread::ThreadName;

/// Stands for the thread where a guard panicked before any thread moved.
pub(crate) const A_GUARD: &str = "a guard";

/// Why a program will never choose again.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Halt {
    /// One run of internal events did not end.
    Livelock {
        /// How many events were chosen.
        events: usize,
        /// The last of them, oldest first.
        last: Vec<String>,
    },
    /// A thread, or a guard that was asked for it, panicked; its step did not happen.
    ThreadPanicked {
        /// Which thread.
        thread: String,
        /// On which event, if it was moving.
        event: Option<String>,
        /// What the panic said.
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
