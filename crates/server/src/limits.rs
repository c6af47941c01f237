//! Every limit of this crate, with its unit.
//!
//! Must never: be changed without the guide's page on the server.

use std::time::Duration;

/// The interval at which a client checks if the server is still running.
pub const SERVER_LOOK_TIME: Duration = Duration::from_millis(500);
/// The maximum number of findings of a project in the API.
pub const API_FINDINGS_MAX: usize = 500;
/// The maximum number of models in a list of the API.
pub const API_MODELS_MAX: usize = 500;
/// The default number of commits in the history of an agent.
pub const API_COMMITS_SHOWN: usize = 50;
/// The maximum number of commits in the history of an agent.
pub const API_COMMITS_MAX: usize = 200;
/// The maximum number of commits that are searched for those of an agent.
pub const API_COMMITS_LOOKED_MAX: usize = 20_000;
/// The maximum number of files of a commit in the API.
pub const API_FILES_MAX: usize = 200;
/// The maximum size of a file's diff in the API, in bytes.
pub const API_DIFF_BYTES_MAX: usize = 128 * 1024;
/// The default number of rows in a list of the API.
pub const API_ROWS_SHOWN: usize = 100;
/// The maximum number of rows in a list of the API.
pub const API_ROWS_MAX: usize = 500;
/// The maximum length of an inbound text in a list of the API, in characters.
pub const API_TEXT_CHARS_MAX: usize = 500;
/// The length of the secret part of a server key, in random bytes.
pub const KEY_BYTES: usize = 32;
/// The lifetime of a code that signs a browser in.
pub const CODE_TIME_MAX: Duration = Duration::from_secs(60);
/// The maximum time that a browser stays signed in.
pub const COOKIE_TIME_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// The maximum time that a browser stays signed in without a request.
pub const COOKIE_IDLE_TIME_MAX: Duration = Duration::from_secs(60 * 60);
/// The maximum number of frames that wait for a client; a slower client is disconnected.
pub const STREAM_FRAMES_MAX: usize = 1_024;
/// The maximum bytes of frames that wait for a client; a slower client is disconnected.
pub const STREAM_WAITING_BYTES_MAX: usize = 1024 * 1024;
/// The maximum number of frames on their way to a socket.
pub const STREAM_UNSENT_FRAMES_MAX: usize = 4;
/// The maximum number of open streams.
pub const STREAMS_MAX: usize = 10_000;
/// The maximum number of open streams per key.
pub const STREAMS_PER_KEY_MAX: usize = 200;
/// Entries sent at once to a reconnected client; as many are held for one that does not read.
pub const STREAM_PAGE_ENTRIES: usize = 16;
/// The maximum time without data on a stream; then a comment is sent.
pub const STREAM_QUIET_TIME_MAX: Duration = Duration::from_secs(15);
/// The maximum number of entries that wait for the hub; further ones wait in the ledger.
pub const HUB_ENTRIES_WAITING_MAX: usize = 1_000;
/// The pause of the hub after a failure of the ledger closed all streams.
pub const HUB_RETRY_TIME: Duration = Duration::from_secs(1);
/// The maximum text of an active reply that is kept for late clients, in bytes.
pub const PARTIAL_BYTES_MAX: usize = 256 * 1024;
/// The maximum size of a request body, in bytes.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// The maximum time for reading a request body.
pub const BODY_TIME_MAX: Duration = Duration::from_secs(20);
/// The maximum time for reading the head of a request.
pub const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// The maximum number of headers of a request.
pub const HEADERS_MAX: usize = 64;
/// The maximum size of the head of a request, in bytes.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;
/// The maximum number of open connections.
pub const CONNECTIONS_MAX: usize = 12_000;
/// The maximum time that a peer may leave data unread before its connection is closed.
pub const UNREAD_TIME_MAX: Duration = Duration::from_secs(30);
/// The maximum rate of requests per key over a longer time, per second.
pub const REQUESTS_PER_SECOND: u32 = 200;
/// The maximum number of requests per key at once, after a quiet time.
pub const REQUESTS_BURST: u32 = 1_000;
/// The maximum number of addresses of `X-Forwarded-For` that are read, from the right.
pub const FORWARDED_HOPS_MAX: usize = 32;
/// The maximum rate of wrong keys, per address and per key; further ones are told to wait.
pub const WRONG_KEYS_PER_MINUTE: u32 = 20;
/// The minimum time between two log lines about wrong keys.
pub const WRONG_KEYS_TOLD_TIME_MIN: Duration = Duration::from_secs(60);
/// The maximum number of callers that are counted; older ones are then forgotten.
pub const COUNTED_CALLERS_MAX: usize = 10_000;
/// The maximum number of threads for requests that wait for a disk.
pub const ANSWER_THREADS_MAX: usize = 16;
/// The maximum time that a request may wait for its result.
pub const REQUEST_WAIT_TIME_MAX: Duration = Duration::from_secs(30);
/// The maximum number of rows on a page of a list.
pub const PAGE_ROWS_MAX: usize = 200;
/// The maximum number of entries on a page of the ledger.
pub const PAGE_ENTRIES_MAX: usize = 1_000;
/// The maximum length of an entry's text that the API shows in full, in bytes.
pub const ENTRY_TEXT_BYTES_MAX: usize = 64 * 1024;
/// The time that streams have to end when the server stops.
pub const STREAMS_END_TIME_MAX: Duration = Duration::from_secs(2);
/// The maximum length of a key's name, in characters.
pub const KEY_NAME_CHARS_MAX: usize = 100;
/// The maximum number of sessions that a search reads.
pub const SESSION_SEARCH_MAX: usize = 5_000;
/// The maximum number of turns of a session that are shown at once.
pub const SESSION_TURNS_MAX: usize = 200;
/// The maximum number of entries of a run that a timeline reads.
pub const RUN_ENTRIES_MAX: usize = 20_000;
