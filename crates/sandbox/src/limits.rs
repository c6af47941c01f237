//! Every limit of this crate, with its unit.
//!
//! Must never: be reached after the memory or the time was already spent.

/// How much is read from a pipe at once, in bytes.
pub const READ_BYTES_MAX: usize = 64 * 1024;
/// How long a process tree may take to end on request before it is killed, in milliseconds.
pub const GRACE_MS_MAX: u64 = 500;
/// How long output is waited for after the process has ended, in milliseconds.
pub const DRAIN_MS_MAX: u64 = 500;
/// How long a killed process may take to be gone, in milliseconds.
pub const KILL_MS_MAX: u64 = 5_000;
/// How often the process table is read again while a tree is killed that goes on growing.
pub const KILL_ROUNDS_MAX: u32 = 20;
