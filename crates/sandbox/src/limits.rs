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
/// What a process may use of the processor beyond its time on every core, in seconds.
pub const CPU_SPARE_SECONDS: u64 = 10;
/// How much memory a process may keep from being moved to disk, in bytes.
pub const LOCKED_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// How much may wait in the message queues of a confined user, in bytes.
pub const QUEUED_BYTES_MAX: u64 = 256 * 1024;
/// How often a control group is tried to be removed while its processes go away.
pub const GROUP_REMOVALS_MAX: u32 = 40;
/// How long to wait between two such tries, in milliseconds.
pub const GROUP_REMOVAL_WAIT_MS: u64 = 5;
