//! Behavioral programs: small threads that agree on one event at a time.
//!
//! A thread requests, waits for, blocks or is interrupted by events; the program picks one event
//! that is requested and not blocked, and each thread concerned moves. [`explore()`] walks every
//! reachable state.
//!
//! Must never: read a clock, draw random numbers, run an effect, or keep state outside a program.

#![deny(clippy::print_stdout, clippy::wildcard_enum_match_arm, missing_docs)]

mod bid;
pub mod explore;
mod halt;
mod index;
pub mod limits;
mod live_thread;
mod program;
mod snapshot;
mod step;
mod thread;
mod waiting;

pub use crate::{
    bid::{Bid, KeySet, Pattern, ProgramEvent},
    explore::{BrokenProperty, Exploration, ExplorationLimits, Offer, Violation, World, explore},
    halt::Halt,
    program::Program,
    step::{Choice, ChosenEvent, EventSource, Lane, StepOutcome},
    thread::{Flow, Spawner, Thread, ThreadName},
    waiting::{BlockedRequest, DeferredEvent, ThreadWait, WaitReport},
};
