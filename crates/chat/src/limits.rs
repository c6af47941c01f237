//! Every limit of this crate, with its unit.
//!
//! Must never: limit what is recorded; only its display.

/// The maximum length of a line of code that the chat highlights, in bytes.
pub const HIGHLIGHT_LINE_BYTES_MAX: usize = 4 * 1024;
/// The maximum number of entries in the chat's prompt history.
pub const CHAT_HISTORY_ENTRIES_MAX: usize = 1_000;
/// The maximum size of the history file that is read, in bytes.
pub const CHAT_HISTORY_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The maximum number of workspace files that the chat offers for completion.
pub const CHAT_FILES_MAX: usize = 20_000;
/// The maximum time for listing these files, in milliseconds.
pub const CHAT_FILES_MS_MAX: u64 = 150;
/// The maximum number of completions.
pub const CHAT_OFFERS_MAX: usize = 50;
/// The maximum number of rows of a fully expanded outcome in the chat.
pub const CHAT_OUTPUT_ROWS_MAX: usize = 400;
/// The time that a question is shown before its keys count, in milliseconds.
pub const CHAT_QUESTION_WAIT_MS: u64 = 400;
/// The maximum number of sessions and runs that are searched for those of a directory.
pub const CHAT_SESSIONS_MAX: usize = 1_000;
/// The number of turns that are shown of a continued session.
pub const CHAT_TAIL_TURNS_MAX: usize = 3;
/// The minimum time between two frames of the chat, in milliseconds.
pub const CHAT_FRAME_MS: u64 = 30;
/// The time between two steps of the spinner, in milliseconds.
pub const CHAT_SPINNER_MS: u64 = 100;
/// The maximum number of completions that are visible at once.
pub const CHAT_MENU_ROWS_MAX: usize = 6;
/// The maximum number of queued prompts that are visible.
pub const CHAT_QUEUE_ROWS_MAX: usize = 3;
/// The maximum number of sessions in the list of `/resume`.
pub const CHAT_RESUMABLE_MAX: usize = 20;
/// The maximum number of turns that `/context` counts.
pub const CHAT_CONTEXT_TURNS_MAX: usize = 1_000;
/// The maximum size of a file that `/undo` stores, in bytes.
pub const UNDO_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The maximum size of all changed files that `/undo` stores for a turn, in bytes.
pub const UNDO_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The maximum number of changed files that `/undo` stores for a turn.
pub const UNDO_FILES_MAX: u32 = 5_000;
/// The maximum number of turns that can be undone one after the other.
pub const UNDO_TURNS_MAX: u32 = 100;
/// The maximum size of a workspace diff that is shown, in bytes.
pub const CHAT_DIFF_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a model's thinking that the chat keeps in order to show its end.
pub const CHAT_THINKING_BYTES_MAX: usize = 4 * 1024;
/// The maximum length of a call's input that a question shows on one line, in bytes.
pub const CHAT_PAYLOAD_LINE_BYTES_MAX: usize = 60;
