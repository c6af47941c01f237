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
