//! Every limit of this crate, with its unit.
//!
//! Must never: change what a ledger that is already written means. A limit bounds new work only.

use std::time::Duration;

/// Longest string that is stored inside an entry, in bytes; a longer one becomes an artifact.
pub const INLINE_STRING_BYTES_MAX: usize = 64 * 1024;
/// Deepest nesting of lists and maps in an event. JSON readers accept it, and no stack overflows.
pub const EVENT_DEPTH_MAX: usize = 160;
/// Nesting in a stored body from which the rest is stored as text. The JSON reader stops at 128.
pub(crate) const BODY_DEPTH_MAX: usize = 64;
/// Largest whole number that canonical JSON keeps; a larger one is stored as text.
pub(crate) const WHOLE_NUMBER_MAX: u64 = 1 << 53;
/// Maximum of appends that wait for the writer; further callers block.
pub const QUEUE_APPENDS_MAX: usize = 1024;
/// Maximum of appends in one commit.
pub const BATCH_APPENDS_MAX: usize = 256;
/// Longest wait of the writer for each caller of the last batch to send its next append.
pub(crate) const GATHER_TIME_MAX: Duration = Duration::from_micros(300);
/// Longest time that another process may hold the ledger before an append fails, in milliseconds.
pub const BUSY_TIME_MS_MAX: u64 = 10_000;
/// Number of entries after which a line is due in the anchor file.
pub const ANCHOR_ENTRIES_MAX: u64 = 1000;
/// Time after which a line is due in the anchor file, in milliseconds.
pub const ANCHOR_TIME_MS_MAX: u64 = 1000;
/// Length of the end of the anchor file that is read when a ledger is opened, in bytes.
pub(crate) const ANCHOR_WINDOW_BYTES: u64 = 4 * 1024;
/// Step back of the machine's clock after which the ledger's newest time is read, in milliseconds.
pub(crate) const CLOCK_STEP_MS_MAX: u64 = 1000;
/// Number of last entries that are searched for the newest time.
pub(crate) const NEWEST_TIME_ENTRIES: u32 = 1000;
/// Lag of the machine's clock behind the ledger from which a warning is due, in milliseconds.
pub const CLOCK_BEHIND_MS_MAX: u64 = 60 * 1000;
/// Longest pause of a tail between two looks for commits of other processes.
pub const TAIL_POLL_TIME_MAX: Duration = Duration::from_millis(25);
/// Maximum of entries that a tail returns at once.
pub const TAIL_ENTRIES_MAX: usize = 1000;
/// Maximum of entries that are read from the log at once.
pub(crate) const LOG_ENTRIES_READ_MAX: usize = 256;
/// Maximum of attempts to write a batch while other processes write before it.
pub(crate) const PUT_ATTEMPTS_MAX: u32 = 32;
/// Maximum of idle reading connections.
pub(crate) const READERS_MAX: usize = 16;
/// Maximum of prepared statements that a connection keeps.
pub(crate) const STATEMENTS_MAX: usize = 192;
/// Growth of the write-ahead log after which its thread copies it into the file, in pages.
pub(crate) const LOG_PAGES_COPIED: u32 = 2_000;
/// Length of the log, in pages, from which the writer copies the rest, so that it can restart.
pub(crate) const LOG_PAGES_MAX: u32 = 6_000;
/// Growth of the log after which the writer tries that again, in pages.
pub(crate) const LOG_PAGES_FINISHED: u32 = 200;
/// Maximum of defects that a verification lists.
pub const BROKEN_MAX: usize = 100;
/// Length of a prompt in the view of a run, in bytes; the entry holds the whole prompt.
pub const VIEW_PROMPT_BYTES_MAX: usize = 4096;
/// Maximum of ids that the error about an ambiguous short id lists.
pub(crate) const CANDIDATES_MAX: usize = 5;
/// Age at which a reservation without further news is dropped, in milliseconds.
pub const RESERVATION_TIME_MS_MAX: u64 = 60 * 60 * 1000;
/// Length of a day, in milliseconds.
pub(crate) const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Number of a hook's last invocations that its statistics cover.
pub const HOOK_STATS_WINDOW: usize = 100;
/// Cache of a reading connection, in KiB; the operating system caches the rest.
pub const READER_CACHE_KIB: i64 = 512;
/// Cache of a connection while it reads past decisions, in KiB.
pub const PAST_CACHE_KIB: i64 = 64 * 1024;
