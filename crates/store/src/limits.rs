//! Every limit of this crate, with its unit.
//!
//! Must never: change what a ledger that is already written means. A limit bounds new work only.

use std::time::Duration;

/// The longest string that is kept inside of an entry; a longer one becomes an artifact.
pub const INLINE_STRING_BYTES_MAX: usize = 64 * 1024;
/// How deep lists and maps may nest in an event. What a reader of JSON takes fits; a stack is not endless.
pub const EVENT_DEPTH_MAX: usize = 160;
/// How deep they nest in a stored body before the rest is kept as text. The reader stops at 128.
pub(crate) const BODY_DEPTH_MAX: usize = 64;
/// The largest whole number that canonical JSON keeps; a larger one is stored as text.
pub(crate) const WHOLE_NUMBER_MAX: u64 = 1 << 53;
/// How many appends wait for the writer before callers have to wait for a place.
pub const QUEUE_APPENDS_MAX: usize = 1024;
/// How many appends are committed together.
pub const BATCH_APPENDS_MAX: usize = 256;
/// How long the writer waits for each caller of the batch before to come back.
pub(crate) const GATHER_TIME_MAX: Duration = Duration::from_micros(300);
/// How long another process may hold the ledger before an append gives up, in milliseconds.
pub const BUSY_TIME_MS_MAX: u64 = 10_000;
/// How many entries may pass without a line in the anchor file.
pub const ANCHOR_ENTRIES_MAX: u64 = 1000;
/// How long entries may wait for a line in the anchor file, in milliseconds.
pub const ANCHOR_TIME_MS_MAX: u64 = 1000;
/// How much of the end of the anchor file is looked at when a ledger is opened, in bytes.
pub(crate) const ANCHOR_WINDOW_BYTES: u64 = 4 * 1024;
/// How far the machine's clock may go back before the ledger is asked for its newest time, in milliseconds.
pub(crate) const CLOCK_STEP_MS_MAX: u64 = 1000;
/// How many of the last entries are looked at for the newest time.
pub(crate) const NEWEST_TIME_ENTRIES: u32 = 1000;
/// How far the machine's clock may be behind the ledger before somebody is told, in milliseconds.
pub const CLOCK_BEHIND_MS_MAX: u64 = 60 * 1000;
/// How often a tail looks for what other processes wrote.
pub const TAIL_POLL_TIME_MAX: Duration = Duration::from_millis(25);
/// How many entries a tail hands out at once.
pub const TAIL_ENTRIES_MAX: usize = 1000;
/// How many connections for reading are kept open.
pub(crate) const READERS_MAX: usize = 16;
/// How many prepared statements a connection keeps.
pub(crate) const STATEMENTS_MAX: usize = 192;
/// How many pages the database's log grows before it is copied into the file beside the writer.
pub(crate) const LOG_PAGES_COPIED: u32 = 2_000;
/// How many pages it has when the writer copies the rest itself, so that it can begin anew.
pub(crate) const LOG_PAGES_MAX: u32 = 6_000;
/// How many pages come before that is tried again.
pub(crate) const LOG_PAGES_FINISHED: u32 = 200;
/// How many defects a verification lists before it stops.
pub const BROKEN_MAX: usize = 100;
/// How much of a prompt the view of a run shows; the whole is in the entry.
pub const VIEW_PROMPT_BYTES_MAX: usize = 4096;
/// How many ids are named when a short one is ambiguous.
pub(crate) const CANDIDATES_MAX: usize = 5;
/// How long money stays set aside for a question of which nothing more is heard, in milliseconds.
pub const RESERVATION_TIME_MS_MAX: u64 = 60 * 60 * 1000;
/// The length of a day, in milliseconds.
pub(crate) const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// How many of its last runnings tell how a hook does.
pub const HOOK_STATS_WINDOW: usize = 100;
/// How much of the ledger a reader keeps in memory, in KiB; the system keeps the rest.
pub const READER_CACHE_KIB: i64 = 512;
/// How much it keeps while it goes through past decisions.
pub const PAST_CACHE_KIB: i64 = 64 * 1024;
