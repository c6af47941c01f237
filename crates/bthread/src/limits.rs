//! The limits of this crate, each with its unit.
//!
//! Must never: hold anything but constants.

/// Events: internal events of one [`Program::run`](crate::Program::run) before it is a livelock.
pub const SUPER_STEP_EVENTS_MAX: usize = 10_000;

/// Events: the number of last events that the report of a livelock names.
pub const LIVELOCK_EVENTS_SHOWN_MAX: usize = 8;

/// Threads: the most that are searched linearly, which is as fast as an index and cheaper to clone.
pub const SCAN_THREADS_MAX: usize = 16;

/// States: the number at which an exploration stops as incomplete.
pub const EXPLORED_STATES_MAX: usize = 1_000_000;
