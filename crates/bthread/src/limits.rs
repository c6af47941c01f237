//! The limits of this crate, each with its unit.
//!
//! Must never: hold anything but constants.

/// Events: internal events of one [`Program::run`](crate::Program::run) before it is called a livelock.
pub const SUPER_STEP_EVENTS_MAX: usize = 10_000;

/// Events: how many of its last events a livelock names.
pub const LIVELOCK_EVENTS_SHOWN_MAX: usize = 8;

/// Threads: up to so many are searched one by one, which is as fast as an index and cheaper to clone.
pub const SCAN_THREADS_MAX: usize = 16;

/// States: where an exploration stops and says that it is not complete.
pub const EXPLORED_STATES_MAX: usize = 1_000_000;
