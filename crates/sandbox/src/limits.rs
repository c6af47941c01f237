//! Every limit of this crate, with its unit.
//!
//! Must never: be reached after the memory or the time was already spent.

/// The most that one read takes from a pipe, in bytes.
pub const READ_BYTES_MAX: usize = 64 * 1024;
/// The time that a process tree has to end on request before it is killed, in milliseconds.
pub const GRACE_MS_MAX: u64 = 500;
/// The longest wait for output after the process has ended, in milliseconds.
pub const DRAIN_MS_MAX: u64 = 500;
/// The longest wait for a killed process to be gone, in milliseconds.
pub const KILL_MS_MAX: u64 = 5_000;
/// The number of readings of the process table while a tree that keeps growing is killed.
pub const KILL_ROUNDS_MAX: u32 = 20;
/// The longest message sent in a packet, in bytes; longer ones go in a file in memory.
pub const MESSAGE_INLINE_BYTES_MAX: usize = 64 * 1024;
/// The longest message, in bytes.
pub const MESSAGE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The number of descriptors that one message can carry.
pub const MESSAGE_DESCRIPTORS_MAX: usize = 8;
/// The capacity of a sandbox's root file system, in bytes.
pub const ROOT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The capacity of shared memory, in bytes.
pub const SHARED_MEMORY_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The interval of memory checks where the kernel does not enforce the limit, in milliseconds.
pub const MEMORY_LOOK_MS: u64 = 100;
/// The port of the proxy inside of a sandbox.
pub const PROXY_PORT: u16 = 3128;
/// The time that the processes of a sandbox have to end before they are killed, in milliseconds.
pub const END_GRACE_MS_MAX: u64 = 50;
/// The longest wait for the last message of an init process after its end, in milliseconds.
pub const LAST_WORD_MS_MAX: u64 = 200;
/// The time that an init process has to end all others before it is killed, in milliseconds.
pub const END_MS_MAX: u64 = 2_000;
/// The number of paths that can be hidden in a sandbox.
pub const MASKS_MAX: usize = 4096;
/// The first of the user ids that root runs sandboxes as; the machine's own are far below.
pub const USER_FIRST: u32 = 1_879_048_192;
/// The number of these user ids.
pub const USERS: u32 = 65_536;
/// The most diagnostic output that an error about a broken sandbox repeats, in characters.
pub const TROUBLE_CHARS_MAX: usize = 400;
/// The longest trial of a level, in milliseconds.
pub const ATTEST_MS_MAX: u64 = 10_000;
/// The longest output of the trial of a level, in bytes.
pub const ATTEST_OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// The longest time to build a sandbox, in milliseconds.
pub const START_MS_MAX: u64 = 10_000;
/// The longest life that the processor time of a role, or of a long-lived program without a limit
/// of time, is reckoned for, in milliseconds.
pub const SERVED_TIMEOUT_MS: u64 = 30 * 24 * 3_600_000;
/// The longest answer of a role in a sandbox, in bytes.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The processor time of a process beyond its time limit on every core, in seconds.
pub const CPU_SPARE_SECONDS: u64 = 10;
/// The most memory that a process may lock, that is keep from being swapped out, in bytes.
pub const LOCKED_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// The most data waiting in the message queues of a confined user, in bytes.
pub const QUEUED_BYTES_MAX: u64 = 256 * 1024;
/// The number of attempts to remove a control group while its processes end.
pub const GROUP_REMOVALS_MAX: u32 = 40;
/// The wait between two such attempts, in milliseconds.
pub const GROUP_REMOVAL_WAIT_MS: u64 = 5;
/// The oldest Landlock that is relied on: the first that bounds the shortening of files.
pub const LANDLOCK_ABI_MIN: u32 = 3;
/// The number of output lines that are searched for refusals, counted from the end.
pub const DENIAL_LINES_MAX: usize = 200;
/// The number of refused paths that are reported.
pub const DENIALS_MAX: usize = 20;
/// The number of directory entries that one scan for protected files visits.
pub const WALK_ENTRIES_MAX: usize = 100_000_000;
/// The longest scan for protected files, in milliseconds.
pub const WALK_MS_MAX: u64 = 120_000;
/// The deepest directory that a scan follows inside a protected one; each level holds a handle.
pub const WALK_DEPTH_MAX: usize = 128;
/// The number of scan levels with an open handle; deeper directories are closed and reopened.
pub const OPEN_LEVELS_MAX: usize = 100;
/// The total length of paths that one scan records, in bytes; the scan continues after a repair.
pub const NOTED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The longest path of a directory that may contain protected files of the user, in bytes.
pub const NOTED_PATH_BYTES_MAX: usize = 16 * 1024;
/// The number of entries inside protected directories that are watched individually.
pub const WATCHED_ENTRIES_MAX: usize = 20_000;
/// The largest protected file whose content is kept for restoring it, in bytes.
pub const KEPT_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The most content of protected files that is kept in total, in bytes.
pub const KEPT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// The number of entries of one hidden directory that are checked for hard links.
pub const HIDDEN_ENTRIES_MAX: usize = 20_000;
/// The age of a check of a hidden directory for hard links that is still used, in milliseconds.
pub const HARD_LINKS_MS_MAX: u64 = 10_000;
/// The number of violations of one call that are listed; the others are counted.
pub const VIOLATIONS_LISTED_MAX: usize = 1_000;
/// The longest repair of protected files after one call, in milliseconds.
pub const REPAIR_MS_MAX: u64 = 300_000;
/// The shortest pause between two checks of a long-lived program's files, in milliseconds.
pub const CHILD_CHECK_MS_MIN: u64 = 2_000;
/// The shortest pause between two such checks, as a multiple of the duration of the last one.
pub const CHILD_CHECK_PAUSE_FACTOR: u32 = 100;
/// The number of repeated checks when files change between a check and its repair.
pub const REPAIR_RACES_MAX: usize = 1_000;
/// The longest wait for a run that guards the same workspace by other rules, in milliseconds.
pub const GUARD_WAIT_MS_MAX: u64 = 60_000;
/// The interval at which a waiting call checks the other run, in milliseconds.
pub const GUARD_LOOK_MS: u64 = 20;
/// The largest file that is copied into a quarantine on another file system, in bytes.
pub const QUARANTINE_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The most that is copied into a quarantine on another file system for one item, in bytes.
pub const QUARANTINE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The number of entries of one item that is copied into such a quarantine.
pub const QUARANTINE_ENTRIES_MAX: usize = 100_000;
/// The number of items that a quarantine can hold.
pub const QUARANTINE_THINGS_MAX: u32 = 1_000_000;

// Network limits of one sandbox. The proxy bounds the amount that leaves, not the content: an
// allowed host can receive all that the process can read, so the host list is the protection.

/// The longest host name, in bytes.
pub const HOST_BYTES_MAX: usize = 253;
/// The longest part of a host name between two dots, in bytes.
pub const LABEL_BYTES_MAX: usize = 63;
/// The number of simultaneous connections of a sandbox.
pub const EGRESS_CONNECTIONS_AT_ONCE_MAX: usize = 64;
/// The total number of connections of a sandbox.
pub const EGRESS_CONNECTIONS_MAX: usize = 1_000;
/// The most that a sandbox may send in total, and the most it may receive, in bytes.
pub const EGRESS_BYTES_MAX: u64 = 1 << 30;
/// The longest silence on a connection, in milliseconds.
pub const EGRESS_IDLE_MS_MAX: u64 = 60_000;
/// The longest request head, response head or TLS greeting, in bytes.
pub const EGRESS_HEAD_BYTES_MAX: usize = 64 * 1024;
/// The longest time to receive a head or a greeting, in milliseconds.
pub const EGRESS_HEAD_MS_MAX: u64 = 10_000;
/// The number of headers in a head.
pub const EGRESS_HEADERS_MAX: usize = 128;
/// The longest lines around one chunk of a body, in bytes.
pub const EGRESS_CHUNK_LINE_BYTES_MAX: usize = 8 * 1024;
/// The longest time to resolve a name, in milliseconds.
pub const EGRESS_RESOLVE_MS_MAX: u64 = 10_000;
/// The longest wait for one address to accept a connection, in milliseconds.
pub const EGRESS_CONNECT_MS_MAX: u64 = 5_000;
/// The number of addresses of one host that are tried.
pub const EGRESS_TRIES_MAX: usize = 8;
/// The time that a closed connection is still read, so that our last bytes arrive, in milliseconds.
pub const EGRESS_LINGER_MS_MAX: u64 = 2_000;
/// The pause after a failed accept, in milliseconds.
pub const EGRESS_PAUSE_MS: u64 = 100;
/// The buffer that relays one direction of a connection, in bytes.
pub const EGRESS_BUFFER_BYTES: usize = 16 * 1024;
/// The stack of a thread that serves a connection, in bytes.
pub const EGRESS_STACK_BYTES: usize = 512 * 1024;
/// The largest file of the machine that is copied into a sandbox instead of mounted, in bytes.
pub const COPY_BYTES_MAX: u64 = 128 * 1024;
/// The time that the helper has to end by itself, in milliseconds.
pub const HELPER_END_MS_MAX: u64 = 500;
/// The number of idle sandboxes that are kept for another command.
pub const IDLE_SANDBOXES_MAX: usize = 4;
/// The time that an idle sandbox is kept for another command, in milliseconds.
pub const IDLE_MS_MAX: u64 = 60_000;
/// The time that an idle init process waits for a command before it ends itself, in milliseconds.
pub const IDLE_END_MS_MAX: u64 = 90_000;
const _: () =
    assert!(IDLE_MS_MAX + START_MS_MAX < IDLE_END_MS_MAX, "nobody asks who is about to end");
/// The time that an idle sandbox has to report ready before a new one is built, in milliseconds.
pub const READY_MS_MAX: u64 = 1_000;
/// The number of temporary entries removed by a reset; with more, the sandbox is discarded.
pub const EMPTIED_ENTRIES_MAX: usize = 2_000;
/// The number of attempts to create a private directory that is removed at once each time.
pub const PRIVATE_DIRECTORY_TRIES_MAX: usize = 16;
