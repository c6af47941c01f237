//! Every limit of this crate, with its unit.
//!
//! Must never: bound what is found; only what is shown of it, and what a run gets when nothing is said.

use std::time::Duration;

/// How much of one line an excerpt takes.
pub(crate) const EXCERPT_BYTES_MAX: usize = 1024;
/// Requests to the model in one turn, unless the settings say otherwise.
pub(crate) const STEPS_MAX: u32 = 250;
/// Tool calls in one turn, unless the settings say otherwise.
pub(crate) const CALLS_MAX: u32 = 1_000;
/// Iterations of autonomous work, unless somebody says otherwise.
pub(crate) const ITERATIONS_MAX: u32 = 100;
/// The longest line that is taken from standard input.
pub(crate) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many models of one provider a list shows.
pub(crate) const SHOWN_MODELS_MAX: usize = 40;
/// How long it is waited for a server of models on this machine.
pub(crate) const OLLAMA_LOOK_MS_MAX: u64 = 200;
/// The largest picture that goes with a prompt.
pub(crate) const IMAGE_BYTES_MAX: u64 = 5 * 1024 * 1024;
/// How much of an argument or an outcome one line of progress shows.
pub(crate) const PROGRESS_CHARS_MAX: usize = 120;
/// How many runs a list shows.
pub(crate) const SHOWN_RUNS_MAX: usize = 50;
/// How many entries are read from the ledger at once.
pub(crate) const SHOWN_ENTRIES_MAX: usize = 1_000;
/// The largest file of secrets.
pub(crate) const SECRETS_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The longest name of a secret.
pub(crate) const SECRET_NAME_CHARS_MAX: usize = 64;
/// How much of an entry one line shows.
pub(crate) const SHOWN_LINE_CHARS_MAX: usize = 200;
/// How much of a command's output `sandbox run` keeps to look at, in bytes; all of it is shown.
pub(crate) const SANDBOX_OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// How often the line about a pull is written anew on a terminal.
pub(crate) const PULL_LINE_MS: u64 = 100;
/// Without a terminal, one line is written for so many percent of a pull.
pub(crate) const PULL_LINE_PERCENT: u64 = 10;
/// The longest line of code that the chat colors.
pub(crate) const HIGHLIGHT_LINE_BYTES_MAX: usize = 4 * 1024;
/// How many entries the history of the chat keeps.
pub(crate) const CHAT_HISTORY_ENTRIES_MAX: usize = 1_000;
/// The largest file of that history that is read.
pub(crate) const CHAT_HISTORY_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How many files of the workspace the chat offers to complete.
pub(crate) const CHAT_FILES_MAX: usize = 20_000;
/// How long it looks for them.
pub(crate) const CHAT_FILES_MS_MAX: u64 = 150;
/// How many possibilities a completion has.
pub(crate) const CHAT_OFFERS_MAX: usize = 50;
/// How many rows of an outcome the chat shows when asked for all.
pub(crate) const CHAT_OUTPUT_ROWS_MAX: usize = 400;
/// How long a question is shown before its keys count, in milliseconds.
pub(crate) const CHAT_QUESTION_WAIT_MS: u64 = 400;
/// How many sessions and runs the chat looks through for those of a directory.
pub(crate) const CHAT_SESSIONS_MAX: usize = 1_000;
/// How many turns are shown of a session that is gone on with.
pub(crate) const CHAT_TAIL_TURNS_MAX: usize = 3;
/// The shortest time between two pictures of the chat, in milliseconds.
pub(crate) const CHAT_FRAME_MS: u64 = 30;
/// How often the spinner moves while something is under way, in milliseconds.
pub(crate) const CHAT_SPINNER_MS: u64 = 100;
/// How many possibilities of a completion are shown at once.
pub(crate) const CHAT_MENU_ROWS_MAX: usize = 6;
/// How many prompts that wait are shown.
pub(crate) const CHAT_QUEUE_ROWS_MAX: usize = 3;
/// How many sessions the chat lists to go on with.
pub(crate) const CHAT_RESUMABLE_MAX: usize = 20;
/// How many turns `/context` counts.
pub(crate) const CHAT_CONTEXT_TURNS_MAX: usize = 1_000;
/// The largest file that `/undo` keeps.
pub(crate) const UNDO_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How much of changed files it keeps for one turn.
pub(crate) const UNDO_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How many changed files it keeps for one turn.
pub(crate) const UNDO_FILES_MAX: u32 = 5_000;
/// How many turns can be taken back one after the other.
pub(crate) const UNDO_TURNS_MAX: u32 = 100;
/// How much of the diff of a workspace is shown.
pub(crate) const CHAT_DIFF_BYTES_MAX: usize = 256 * 1024;
/// How much of what a model thinks the chat keeps to show its end.
pub(crate) const CHAT_THINKING_BYTES_MAX: usize = 4 * 1024;
/// The longest payload of a call that a question shows on one line.
pub(crate) const CHAT_PAYLOAD_LINE_BYTES_MAX: usize = 60;

/// How long definitions are taken to be what they were when they were last looked at.
pub(crate) const RELOAD_TIME_MIN: Duration = Duration::from_secs(1);
/// How old they may be for somebody who comes while somebody else looks whether they changed.
pub(crate) const RELOAD_TIME_MAX: Duration = Duration::from_secs(2);
/// How long a server waits for a process that answers one message.
pub(crate) const INTAKE_WAIT_TIME_MAX: Duration = Duration::from_secs(120);
/// How often a server that waits looks whether that process is through.
pub(crate) const INTAKE_LOOK_TIME: Duration = Duration::from_millis(50);
/// How often a client looks whether the server is still there.
pub(crate) const SERVER_LOOK_TIME: Duration = Duration::from_millis(500);
/// How long what runs may take to come to its end when the server stops.
pub(crate) const STOP_TIME_MAX: Duration = Duration::from_secs(10);
/// The longest name of somebody who is known.
pub(crate) const ENTITY_NAME_CHARS_MAX: usize = 100;
/// The longest id, relationship or tag of somebody who is known.
pub(crate) const ENTITY_WORD_CHARS_MAX: usize = 64;
/// How many tags somebody has.
pub(crate) const ENTITY_TAGS_MAX: usize = 64;
/// The largest file of an agent's programs of which the text is kept, to show later what changed.
pub(crate) const TRUST_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How many files of an agent's programs are named to who looks at them.
pub(crate) const TRUST_FILES_SHOWN_MAX: usize = 500;
/// How much of what changed in them is shown.
pub(crate) const TRUST_DIFF_CHARS_MAX: usize = 100_000;
/// How many findings of a project the API shows.
pub(crate) const API_FINDINGS_MAX: usize = 500;
/// How much of a definition the API looks into for one line, in bytes.
pub(crate) const API_SOURCE_BYTES_MAX: u64 = 1024 * 1024;
/// How many models the API lists.
pub(crate) const API_MODELS_MAX: usize = 500;
/// How many commits of an agent's folder are shown, unless somebody says otherwise.
pub(crate) const API_COMMITS_SHOWN: usize = 50;
/// How many commits of an agent's folder are shown at most.
pub(crate) const API_COMMITS_MAX: usize = 200;
/// How many commits are looked through for those of an agent's folder.
pub(crate) const API_COMMITS_LOOKED_MAX: usize = 20_000;
/// How many files of a commit the API shows.
pub(crate) const API_FILES_MAX: usize = 200;
/// How much of the diff of a file the API shows, in bytes.
pub(crate) const API_DIFF_BYTES_MAX: usize = 128 * 1024;
/// How many rows a list of the API has, unless somebody says otherwise.
pub(crate) const API_ROWS_SHOWN: usize = 100;
/// How many rows a list of the API has at most.
pub(crate) const API_ROWS_MAX: usize = 500;
/// How much of a text that came in a list of the API shows, in characters.
pub(crate) const API_TEXT_CHARS_MAX: usize = 500;
/// How far back counts by time go, in hours.
pub(crate) const STATS_HOURS_MAX: u64 = 90 * 24;
/// How many entries of a turn are looked through for what had a say in a call.
pub(crate) const WHY_ENTRIES_MAX: usize = 2_000;
/// How many causes of an entry are told beside the decisions.
pub(crate) const WHY_CAUSES_MAX: usize = 8;
/// How many things that came in are told of one run.
pub(crate) const WHY_INBOUNDS_MAX: usize = 8;
/// The largest script of an event hook.
pub(crate) const HOOK_SCRIPT_BYTES_MAX: u64 = 1024 * 1024;
/// How many runnings of an event hook a list shows, unless somebody says otherwise.
pub(crate) const SHOWN_INVOCATIONS_MAX: usize = 50;
/// How many decisions a list shows, unless somebody says otherwise.
pub(crate) const SHOWN_DECISIONS_MAX: usize = 50;
/// How many past decisions are handed from the reader to who decides again at once.
pub(crate) const REPLAY_BATCH_MAX: usize = 256;
/// How many such batches wait.
pub(crate) const REPLAY_BATCHES_MAX: usize = 8;
/// How long the secret part of a key to the server is, in random bytes.
pub(crate) const KEY_BYTES: usize = 32;
/// How long a code that signs a browser in can be used.
pub(crate) const CODE_TIME_MAX: Duration = Duration::from_secs(60);
/// How long a browser stays signed in.
pub(crate) const COOKIE_TIME_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// How long a browser stays signed in without asking for anything.
pub(crate) const COOKIE_IDLE_TIME_MAX: Duration = Duration::from_secs(60 * 60);
/// How many frames wait for one who listens; who is slower is let go, and can come again.
pub(crate) const STREAM_FRAMES_MAX: usize = 1_024;
/// How many bytes of frames wait for one who listens; who is slower is let go, and can come again.
pub(crate) const STREAM_WAITING_BYTES_MAX: usize = 1024 * 1024;
/// How many frames are on their way to one socket.
pub(crate) const STREAM_UNSENT_FRAMES_MAX: usize = 4;
/// How many may listen at once.
pub(crate) const STREAMS_MAX: usize = 10_000;
/// How many may listen at once with one key.
pub(crate) const STREAMS_PER_KEY_MAX: usize = 200;
/// How many entries a listener who was away is sent at once; so many are held for one who does not read.
pub(crate) const STREAM_PAGE_ENTRIES: usize = 16;
/// How long a stream may be quiet; then a comment is sent.
pub(crate) const STREAM_QUIET_TIME_MAX: Duration = Duration::from_secs(15);
/// How long the hub waits for entries before it looks whether anybody listens.
pub(crate) const HUB_LOOK_TIME_MAX: Duration = Duration::from_secs(1);
/// How much text of a reply under way is kept for who comes late, in bytes.
pub(crate) const PARTIAL_BYTES_MAX: usize = 256 * 1024;
/// The largest body of a request.
pub(crate) const BODY_BYTES_MAX: usize = 1024 * 1024;
/// How long a request may take to be read.
pub(crate) const BODY_TIME_MAX: Duration = Duration::from_secs(20);
/// How long the head of a request may take to be read.
pub(crate) const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// How many headers a request may have.
pub(crate) const HEADERS_MAX: usize = 64;
/// How long the head of a request may be, in bytes.
pub(crate) const HEAD_BYTES_MAX: usize = 32 * 1024;
/// How many connections there may be at once.
pub(crate) const CONNECTIONS_MAX: usize = 12_000;
/// How long a peer may leave what it was sent unread before its connection is closed.
pub(crate) const UNREAD_TIME_MAX: Duration = Duration::from_secs(30);
/// How many requests a key may make in a second, over a longer time.
pub(crate) const REQUESTS_PER_SECOND: u32 = 200;
/// How many requests a key may make at once after a quiet time.
pub(crate) const REQUESTS_BURST: u32 = 1_000;
/// How many addresses of `X-Forwarded-For` are looked at, from the right.
pub(crate) const FORWARDED_HOPS_MAX: usize = 32;
/// How many wrong keys an address may show in a minute, and how many may be shown for one key, before the answer is to wait.
pub(crate) const WRONG_KEYS_PER_MINUTE: u32 = 20;
/// How long the operator is not told again of wrong keys.
pub(crate) const WRONG_KEYS_TOLD_TIME_MIN: Duration = Duration::from_secs(60);
/// How many callers are counted before old ones are forgotten.
pub(crate) const COUNTED_CALLERS_MAX: usize = 10_000;
/// How many threads answer requests that wait for a disk.
pub(crate) const ANSWER_THREADS_MAX: usize = 16;
/// How long a request may wait for what it asks for.
pub(crate) const REQUEST_WAIT_TIME_MAX: Duration = Duration::from_secs(30);
/// How many rows a page of a list has at most.
pub(crate) const PAGE_ROWS_MAX: usize = 200;
/// How many entries a page of the record has at most.
pub(crate) const PAGE_ENTRIES_MAX: usize = 1_000;
/// The longest text of an entry that the API shows whole, in bytes.
pub(crate) const ENTRY_TEXT_BYTES_MAX: usize = 64 * 1024;
/// How long streams have to end when the server stops.
pub(crate) const STREAMS_END_TIME_MAX: Duration = Duration::from_secs(2);
/// The longest name of a key.
pub(crate) const KEY_NAME_CHARS_MAX: usize = 100;
/// How many sessions a search looks at.
pub(crate) const SESSION_SEARCH_MAX: usize = 5_000;
/// How many turns of a session are shown at once.
pub(crate) const SESSION_TURNS_MAX: usize = 200;
/// How many entries of a run are looked at for what took time.
pub(crate) const RUN_ENTRIES_MAX: usize = 20_000;
/// The longest sequence that sets a color, in bytes.
pub(crate) const STYLE_BYTES_MAX: usize = 24;
/// How much of a call's hash is shown with the question about it, in characters.
pub(crate) const ASKED_HASH_CHARS: usize = 12;
/// How deep a directory of somebody else may nest to be copied, in directories.
pub(crate) const FOREIGN_TREE_DEPTH_MAX: usize = 16;
/// How many changed definitions are named.
pub(crate) const DEFINITIONS_SHOWN_MAX: usize = 20;
