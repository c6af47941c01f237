//! Every limit of this crate, with its unit.
//!
//! Must never: limit findings; only their display, and the defaults of a run.

use std::time::Duration;

/// The maximum length of a source line in an excerpt, in bytes.
pub(crate) const EXCERPT_BYTES_MAX: usize = 1024;
/// The maximum length of a line from standard input, in bytes.
pub(crate) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The maximum number of models of a provider in a list.
pub(crate) const SHOWN_MODELS_MAX: usize = 40;
/// The maximum size of an image in a prompt, in bytes.
pub(crate) const IMAGE_BYTES_MAX: u64 = 5 * 1024 * 1024;
/// The maximum length of an argument or outcome in a line of progress, in characters.
pub(crate) const PROGRESS_CHARS_MAX: usize = 120;
/// The maximum number of runs in a list.
pub(crate) const SHOWN_RUNS_MAX: usize = 50;
/// The number of entries that are read from the ledger at once.
pub(crate) const SHOWN_ENTRIES_MAX: usize = 1_000;
/// The maximum length of an entry on one line, in characters.
pub(crate) const SHOWN_LINE_CHARS_MAX: usize = 200;
/// Bytes of a command's output that `sandbox run` keeps for analysis; all of it is shown.
pub(crate) const SANDBOX_OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// The minimum time between progress updates of a download on a terminal, in milliseconds.
pub(crate) const PULL_LINE_MS: u64 = 100;
/// Percent of a download per line of progress, without a terminal.
pub(crate) const PULL_LINE_PERCENT: u64 = 10;
/// The maximum length of a line of code that the chat highlights, in bytes.
pub(crate) const HIGHLIGHT_LINE_BYTES_MAX: usize = 4 * 1024;
/// The maximum number of entries in the chat's prompt history.
pub(crate) const CHAT_HISTORY_ENTRIES_MAX: usize = 1_000;
/// The maximum size of the history file that is read, in bytes.
pub(crate) const CHAT_HISTORY_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The maximum number of workspace files that the chat offers for completion.
pub(crate) const CHAT_FILES_MAX: usize = 20_000;
/// The maximum time for listing these files, in milliseconds.
pub(crate) const CHAT_FILES_MS_MAX: u64 = 150;
/// The maximum number of completions.
pub(crate) const CHAT_OFFERS_MAX: usize = 50;
/// The maximum number of rows of a fully expanded outcome in the chat.
pub(crate) const CHAT_OUTPUT_ROWS_MAX: usize = 400;
/// The time that a question is shown before its keys count, in milliseconds.
pub(crate) const CHAT_QUESTION_WAIT_MS: u64 = 400;
/// The maximum number of sessions and runs that are searched for those of a directory.
pub(crate) const CHAT_SESSIONS_MAX: usize = 1_000;
/// The number of turns that are shown of a continued session.
pub(crate) const CHAT_TAIL_TURNS_MAX: usize = 3;
/// The minimum time between two frames of the chat, in milliseconds.
pub(crate) const CHAT_FRAME_MS: u64 = 30;
/// The time between two steps of the spinner, in milliseconds.
pub(crate) const CHAT_SPINNER_MS: u64 = 100;
/// The maximum number of completions that are visible at once.
pub(crate) const CHAT_MENU_ROWS_MAX: usize = 6;
/// The maximum number of queued prompts that are visible.
pub(crate) const CHAT_QUEUE_ROWS_MAX: usize = 3;
/// The maximum number of sessions in the list of `/resume`.
pub(crate) const CHAT_RESUMABLE_MAX: usize = 20;
/// The maximum number of turns that `/context` counts.
pub(crate) const CHAT_CONTEXT_TURNS_MAX: usize = 1_000;
/// The maximum size of a file that `/undo` stores, in bytes.
pub(crate) const UNDO_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The maximum size of all changed files that `/undo` stores for a turn, in bytes.
pub(crate) const UNDO_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The maximum number of changed files that `/undo` stores for a turn.
pub(crate) const UNDO_FILES_MAX: u32 = 5_000;
/// The maximum number of turns that can be undone one after the other.
pub(crate) const UNDO_TURNS_MAX: u32 = 100;
/// The maximum size of a workspace diff that is shown, in bytes.
pub(crate) const CHAT_DIFF_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a model's thinking that the chat keeps in order to show its end.
pub(crate) const CHAT_THINKING_BYTES_MAX: usize = 4 * 1024;
/// The maximum length of a call's input that a question shows on one line, in bytes.
pub(crate) const CHAT_PAYLOAD_LINE_BYTES_MAX: usize = 60;

/// The maximum time that a server waits for a process that answers one message.
pub(crate) const INTAKE_WAIT_TIME_MAX: Duration = Duration::from_secs(120);
/// The interval at which a waiting server checks if that process has finished.
pub(crate) const INTAKE_LOOK_TIME: Duration = Duration::from_millis(50);
/// The interval at which a client checks if the server is still running.
pub(crate) const SERVER_LOOK_TIME: Duration = Duration::from_millis(500);
/// The time that active runs have to finish when the server stops.
pub(crate) const STOP_TIME_MAX: Duration = Duration::from_secs(10);
/// The maximum length of an entity's name, in characters.
pub(crate) const ENTITY_NAME_CHARS_MAX: usize = 100;
/// The maximum length of an entity's id, relationship or tag, in characters.
pub(crate) const ENTITY_WORD_CHARS_MAX: usize = 64;
/// The maximum number of tags of an entity.
pub(crate) const ENTITY_TAGS_MAX: usize = 64;
/// The maximum size of a program file that is stored for later diffs, in bytes.
pub(crate) const TRUST_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The maximum number of an agent's program files that a review lists.
pub(crate) const TRUST_FILES_SHOWN_MAX: usize = 500;
/// The maximum length of the diffs in a review, in characters.
pub(crate) const TRUST_DIFF_CHARS_MAX: usize = 100_000;
/// The maximum number of findings of a project in the API.
pub(crate) const API_FINDINGS_MAX: usize = 500;
/// The maximum number of models in a list of the API.
pub(crate) const API_MODELS_MAX: usize = 500;
/// The default number of commits in the history of an agent.
pub(crate) const API_COMMITS_SHOWN: usize = 50;
/// The maximum number of commits in the history of an agent.
pub(crate) const API_COMMITS_MAX: usize = 200;
/// The maximum number of commits that are searched for those of an agent.
pub(crate) const API_COMMITS_LOOKED_MAX: usize = 20_000;
/// The maximum number of files of a commit in the API.
pub(crate) const API_FILES_MAX: usize = 200;
/// The maximum size of a file's diff in the API, in bytes.
pub(crate) const API_DIFF_BYTES_MAX: usize = 128 * 1024;
/// The default number of rows in a list of the API.
pub(crate) const API_ROWS_SHOWN: usize = 100;
/// The maximum number of rows in a list of the API.
pub(crate) const API_ROWS_MAX: usize = 500;
/// The maximum length of an inbound text in a list of the API, in characters.
pub(crate) const API_TEXT_CHARS_MAX: usize = 500;
/// The maximum size of an event hook's script, in bytes.
pub(crate) const HOOK_SCRIPT_BYTES_MAX: u64 = 1024 * 1024;
/// The default number of invocations of an event hook in a list.
pub(crate) const SHOWN_INVOCATIONS_MAX: usize = 50;
/// The default number of decisions in a list.
pub(crate) const SHOWN_DECISIONS_MAX: usize = 50;
/// The length of the secret part of a server key, in random bytes.
pub(crate) const KEY_BYTES: usize = 32;
/// The lifetime of a code that signs a browser in.
pub(crate) const CODE_TIME_MAX: Duration = Duration::from_secs(60);
/// The maximum time that a browser stays signed in.
pub(crate) const COOKIE_TIME_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// The maximum time that a browser stays signed in without a request.
pub(crate) const COOKIE_IDLE_TIME_MAX: Duration = Duration::from_secs(60 * 60);
/// The maximum number of frames that wait for a client; a slower client is disconnected.
pub(crate) const STREAM_FRAMES_MAX: usize = 1_024;
/// The maximum bytes of frames that wait for a client; a slower client is disconnected.
pub(crate) const STREAM_WAITING_BYTES_MAX: usize = 1024 * 1024;
/// The maximum number of frames on their way to a socket.
pub(crate) const STREAM_UNSENT_FRAMES_MAX: usize = 4;
/// The maximum number of open streams.
pub(crate) const STREAMS_MAX: usize = 10_000;
/// The maximum number of open streams per key.
pub(crate) const STREAMS_PER_KEY_MAX: usize = 200;
/// Entries sent at once to a reconnected client; as many are held for one that does not read.
pub(crate) const STREAM_PAGE_ENTRIES: usize = 16;
/// The maximum time without data on a stream; then a comment is sent.
pub(crate) const STREAM_QUIET_TIME_MAX: Duration = Duration::from_secs(15);
/// The maximum time that the hub waits for entries before it checks for clients.
pub(crate) const HUB_LOOK_TIME_MAX: Duration = Duration::from_secs(1);
/// The maximum text of an active reply that is kept for late clients, in bytes.
pub(crate) const PARTIAL_BYTES_MAX: usize = 256 * 1024;
/// The maximum size of a request body, in bytes.
pub(crate) const BODY_BYTES_MAX: usize = 1024 * 1024;
/// The maximum time for reading a request body.
pub(crate) const BODY_TIME_MAX: Duration = Duration::from_secs(20);
/// The maximum time for reading the head of a request.
pub(crate) const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// The maximum number of headers of a request.
pub(crate) const HEADERS_MAX: usize = 64;
/// The maximum size of the head of a request, in bytes.
pub(crate) const HEAD_BYTES_MAX: usize = 32 * 1024;
/// The maximum number of open connections.
pub(crate) const CONNECTIONS_MAX: usize = 12_000;
/// The maximum time that a peer may leave data unread before its connection is closed.
pub(crate) const UNREAD_TIME_MAX: Duration = Duration::from_secs(30);
/// The maximum rate of requests per key over a longer time, per second.
pub(crate) const REQUESTS_PER_SECOND: u32 = 200;
/// The maximum number of requests per key at once, after a quiet time.
pub(crate) const REQUESTS_BURST: u32 = 1_000;
/// The maximum number of addresses of `X-Forwarded-For` that are read, from the right.
pub(crate) const FORWARDED_HOPS_MAX: usize = 32;
/// The maximum rate of wrong keys, per address and per key; further ones are told to wait.
pub(crate) const WRONG_KEYS_PER_MINUTE: u32 = 20;
/// The minimum time between two log lines about wrong keys.
pub(crate) const WRONG_KEYS_TOLD_TIME_MIN: Duration = Duration::from_secs(60);
/// The maximum number of callers that are counted; older ones are then forgotten.
pub(crate) const COUNTED_CALLERS_MAX: usize = 10_000;
/// The maximum number of threads for requests that wait for a disk.
pub(crate) const ANSWER_THREADS_MAX: usize = 16;
/// The maximum time that a request may wait for its result.
pub(crate) const REQUEST_WAIT_TIME_MAX: Duration = Duration::from_secs(30);
/// The maximum number of rows on a page of a list.
pub(crate) const PAGE_ROWS_MAX: usize = 200;
/// The maximum number of entries on a page of the ledger.
pub(crate) const PAGE_ENTRIES_MAX: usize = 1_000;
/// The maximum length of an entry's text that the API shows in full, in bytes.
pub(crate) const ENTRY_TEXT_BYTES_MAX: usize = 64 * 1024;
/// The time that streams have to end when the server stops.
pub(crate) const STREAMS_END_TIME_MAX: Duration = Duration::from_secs(2);
/// The maximum length of a key's name, in characters.
pub(crate) const KEY_NAME_CHARS_MAX: usize = 100;
/// The maximum number of sessions that a search reads.
pub(crate) const SESSION_SEARCH_MAX: usize = 5_000;
/// The maximum number of turns of a session that are shown at once.
pub(crate) const SESSION_TURNS_MAX: usize = 200;
/// The maximum number of entries of a run that a timeline reads.
pub(crate) const RUN_ENTRIES_MAX: usize = 20_000;
/// The maximum length of a sequence that sets a color, in bytes.
pub(crate) const STYLE_BYTES_MAX: usize = 24;
/// The length of the hash shown with an approval, in characters.
pub(crate) const ASKED_HASH_CHARS: usize = 12;
/// The maximum depth of a foreign directory that is copied, in directories.
pub(crate) const FOREIGN_TREE_DEPTH_MAX: usize = 16;
