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
/// The longest message that stands in a packet; longer ones go in a file in memory, in bytes.
pub const MESSAGE_INLINE_BYTES_MAX: usize = 64 * 1024;
/// The longest message, in bytes.
pub const MESSAGE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How many descriptors come with a message.
pub const MESSAGE_DESCRIPTORS_MAX: usize = 8;
/// What fits into the root of a sandbox itself, in bytes.
pub const ROOT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// What fits into shared memory, in bytes.
pub const SHARED_MEMORY_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How often the memory of a sandbox is looked at where the kernel does not bound it, in milliseconds.
pub const MEMORY_LOOK_MS: u64 = 100;
/// The port of the proxy inside of a sandbox.
pub const PROXY_PORT: u16 = 3128;
/// How long the processes of a sandbox may take to end on request before they are killed, in milliseconds.
pub const END_GRACE_MS_MAX: u64 = 50;
/// How long the last word of a first process is waited for after its end, in milliseconds.
pub const LAST_WORD_MS_MAX: u64 = 200;
/// How long the first process of a sandbox may take to end all others before it is killed, in milliseconds.
pub const END_MS_MAX: u64 = 2_000;
/// How many paths can be hidden in a sandbox.
pub const MASKS_MAX: usize = 4096;
/// The first of the users that root runs sandboxes as; the machine's own are far below.
pub const USER_FIRST: u32 = 1_879_048_192;
/// How many of them there are.
pub const USERS: u32 = 65_536;
/// How much of what was said about a sandbox that is broken is repeated, in characters.
pub const TROUBLE_CHARS_MAX: usize = 400;
/// How long trying a level may take, in milliseconds.
pub const ATTEST_MS_MAX: u64 = 10_000;
/// How much the trial of a level may say, in bytes.
pub const ATTEST_OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// How long a sandbox may take to be built, in milliseconds.
pub const START_MS_MAX: u64 = 10_000;
/// How long a part of ourselves may live in a sandbox, in milliseconds.
pub const SERVED_TIMEOUT_MS: u64 = 30 * 24 * 3_600_000;
/// The longest answer of a part of ourselves in a sandbox, in bytes.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
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
/// The oldest Landlock that is relied on: the first that bounds the shortening of files.
pub const LANDLOCK_ABI_MIN: u32 = 3;
/// How many lines of an output are read for refusals, from its end.
pub const DENIAL_LINES_MAX: usize = 200;
/// How many refused paths are named.
pub const DENIALS_MAX: usize = 20;
/// How many entries of directories one look for protected files visits.
pub const WALK_ENTRIES_MAX: usize = 100_000_000;
/// How long one look for protected files may take, in milliseconds.
pub const WALK_MS_MAX: u64 = 120_000;
/// The deepest nesting of directories that a scan follows inside a protected one; each level holds one open handle.
pub const WALK_DEPTH_MAX: usize = 128;
/// The number of levels of a scan that hold an open handle; deeper directories are closed and reopened.
pub const OPEN_LEVELS_MAX: usize = 100;
/// The total length of paths that one scan records, in bytes; the scan continues after a repair.
pub const NOTED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The longest path of a directory that may hold something protected of the person's, in bytes.
pub const NOTED_PATH_BYTES_MAX: usize = 16 * 1024;
/// How many entries inside protected directories are watched one by one.
pub const WATCHED_ENTRIES_MAX: usize = 20_000;
/// The largest protected file whose content is kept to be put back, in bytes.
pub const KEPT_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How much content of protected files is kept together, in bytes.
pub const KEPT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// The number of entries of one hidden directory that are checked for hard links.
pub const HIDDEN_ENTRIES_MAX: usize = 20_000;
/// The age of a check of a hidden directory for hard links that is still used, in milliseconds.
pub const HARD_LINKS_MS_MAX: u64 = 10_000;
/// The number of violations of one call that are listed; the others are counted.
pub const VIOLATIONS_LISTED_MAX: usize = 1_000;
/// The longest repair of protected files after one call, in milliseconds.
pub const REPAIR_MS_MAX: u64 = 300_000;
/// The number of times that one check looks again because something moved between a look and its repair.
pub const REPAIR_RACES_MAX: usize = 1_000;
/// The longest wait of a call for another run that guards the same workspace by other rules, in milliseconds.
pub const GUARD_WAIT_MS_MAX: u64 = 60_000;
/// The interval at which a waiting call checks the other run, in milliseconds.
pub const GUARD_LOOK_MS: u64 = 20;
/// The largest file that is copied into a quarantine on another file system, in bytes.
pub const QUARANTINE_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How much is copied into a quarantine on another file system for one thing, in bytes.
pub const QUARANTINE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How many entries one thing in a quarantine may have to be copied there.
pub const QUARANTINE_ENTRIES_MAX: usize = 100_000;
/// How many things a quarantine can hold.
pub const QUARANTINE_THINGS_MAX: u32 = 1_000_000;

// What one sandbox may do on the network. The proxy bounds how much leaves, not what: an allowed
// host is by nature a way out for whatever the process can read, so the list is the protection.

/// The longest host name, in bytes.
pub const HOST_BYTES_MAX: usize = 253;
/// The longest part of a host name between two dots, in bytes.
pub const LABEL_BYTES_MAX: usize = 63;
/// How many connections a sandbox may have at a time.
pub const EGRESS_CONNECTIONS_AT_ONCE_MAX: usize = 64;
/// How many connections a sandbox may have in all.
pub const EGRESS_CONNECTIONS_MAX: usize = 1_000;
/// How much a sandbox may send in all, and how much it may receive, in bytes.
pub const EGRESS_BYTES_MAX: u64 = 1 << 30;
/// How long a connection may be silent, in milliseconds.
pub const EGRESS_IDLE_MS_MAX: u64 = 60_000;
/// The longest head of a request, of an answer, or greeting of TLS, in bytes.
pub const EGRESS_HEAD_BYTES_MAX: usize = 64 * 1024;
/// How long a head or a greeting may take, in milliseconds.
pub const EGRESS_HEAD_MS_MAX: u64 = 10_000;
/// How many headers a head may have.
pub const EGRESS_HEADERS_MAX: usize = 128;
/// How long the lines around one chunk of a body may be, in bytes.
pub const EGRESS_CHUNK_LINE_BYTES_MAX: usize = 8 * 1024;
/// How long a name may take to be resolved, in milliseconds.
pub const EGRESS_RESOLVE_MS_MAX: u64 = 10_000;
/// How long one address may take to answer, in milliseconds.
pub const EGRESS_CONNECT_MS_MAX: u64 = 5_000;
/// How many addresses of one host are tried.
pub const EGRESS_TRIES_MAX: usize = 8;
/// How long a closed connection is read on, so that our last words arrive, in milliseconds.
pub const EGRESS_LINGER_MS_MAX: u64 = 2_000;
/// How long accepting pauses after it failed, in milliseconds.
pub const EGRESS_PAUSE_MS: u64 = 100;
/// How much is carried at once in one direction, in bytes.
pub const EGRESS_BUFFER_BYTES: usize = 16 * 1024;
/// The stack of a thread that serves a connection, in bytes.
pub const EGRESS_STACK_BYTES: usize = 512 * 1024;
/// The largest file of the machine that is written anew in a sandbox instead of being mounted, in bytes.
pub const COPY_BYTES_MAX: u64 = 128 * 1024;
/// How long the helper may take to end by itself, in milliseconds.
pub const HELPER_END_MS_MAX: u64 = 500;
/// How many sandboxes wait for another command.
pub const IDLE_SANDBOXES_MAX: usize = 4;
/// How long a sandbox is kept for another command, in milliseconds.
pub const IDLE_MS_MAX: u64 = 60_000;
/// How long a first process waits for another command before it ends by itself, in milliseconds.
pub const IDLE_END_MS_MAX: u64 = 90_000;
const _: () =
    assert!(IDLE_MS_MAX + START_MS_MAX < IDLE_END_MS_MAX, "nobody asks who is about to end");
/// How long a sandbox may take to be ready for another command before a new one is built, in milliseconds.
pub const READY_MS_MAX: u64 = 1_000;
/// How many entries of temporary directories are removed before another command; more go with the sandbox.
pub const EMPTIED_ENTRIES_MAX: usize = 2_000;
/// How often a private directory is made anew because somebody removed it at once.
pub const PRIVATE_DIRECTORY_TRIES_MAX: usize = 16;
