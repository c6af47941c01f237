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
/// How many entries of directories one look for protected files visits.
pub const WALK_ENTRIES_MAX: usize = 500_000;
/// How long one look for protected files may take, in milliseconds.
pub const WALK_MS_MAX: u64 = 5_000;
/// How many directories deep a look for protected files goes; each level holds one open handle.
pub const WALK_DEPTH_MAX: usize = 128;
/// How many entries inside protected directories are watched one by one.
pub const WATCHED_ENTRIES_MAX: usize = 20_000;
/// The largest protected file whose content is kept to be put back, in bytes.
pub const KEPT_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How much content of protected files is kept together, in bytes.
pub const KEPT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// How many protected files are put right after one call.
pub const REPAIRS_MAX: usize = 10_000;
/// How often the roots are looked at again while they are put right.
pub const REPAIR_ROUNDS_MAX: u32 = 8;
/// The largest file that is copied into a quarantine on another file system, in bytes.
pub const QUARANTINE_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How much is copied into a quarantine on another file system for one thing, in bytes.
pub const QUARANTINE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How many entries one thing in a quarantine may have to be copied there.
pub const QUARANTINE_ENTRIES_MAX: usize = 100_000;
/// How many things a quarantine can hold.
pub const QUARANTINE_THINGS_MAX: u32 = 1_000_000;
