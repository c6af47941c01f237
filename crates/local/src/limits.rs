//! Every limit of this crate, with its unit.
//!
//! Must never: let a model or a file use memory or time without a bound.

/// Largest context that is chosen by default, in tokens.
pub const CONTEXT_TOKENS_MAX: u32 = 32 * 1024;
/// Smallest context with which a model is opened, in tokens.
pub const CONTEXT_TOKENS_MIN: u32 = 512;
/// Step of the context's size, in tokens.
pub const CONTEXT_TOKENS_STEP: u32 = 256;
/// Maximum of conversations in one context.
pub const SESSIONS_MAX: u32 = 16;
/// Memory that must stay free beside weights and context, in bytes.
pub const MEMORY_SPARE_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum of computing threads on any machine.
pub const THREADS_MAX: u32 = 64;

/// Maximum of prompt tokens that are evaluated between two checks for an interrupt.
pub const BATCH_TOKENS_MAX: usize = 256;
/// Longest answer if the request has no limit, in tokens.
pub const ANSWER_TOKENS_MAX: usize = 4096;
/// Space that a prompt must leave for an answer, in tokens.
pub const ANSWER_TOKENS_MIN: usize = 16;
/// Maximum of calls in one answer.
pub const CALLS_MAX: usize = 8;
/// Longest time between two checks if a waiting caller wants to go on, in milliseconds.
pub const WAIT_MS_MAX: u64 = 50;

/// Longest string argument if the schema has no limit, in characters.
pub const ARGUMENT_CHARS_MAX: u64 = 8192;
/// Longest list argument if the schema has no limit, in items.
pub const ARGUMENT_ITEMS_MAX: u64 = 64;
/// Deepest nesting of a schema.
pub const SCHEMA_DEPTH_MAX: usize = 32;
/// Number of toolsets whose grammars are cached.
pub const TOOLSETS_MAX: usize = 4;
/// Longest request that is classified before it is answered, in characters.
pub const SORTED_CHARS_MAX: usize = 400;
/// Probability of a call's opening from which a call is made.
pub const CALL_PROBABILITY_MIN: f32 = 0.05;
/// Probability of a call's opening from which a call is made directly after an outcome.
pub const CALL_AGAIN_PROBABILITY_MIN: f32 = 0.5;

/// Longest repeated piece that is detected, in tokens.
pub const REPEAT_PERIOD_TOKENS_MAX: usize = 48;
/// Length of repeated text from which the answer ends, in tokens.
pub const REPEAT_TOKENS_MAX: usize = 64;
/// Number of repetitions of a piece from which the answer ends.
pub const REPEAT_TIMES_MAX: usize = 4;

/// Longest header of a model file, in bytes; a vocabulary of a million words fits.
pub const HEADER_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Maximum of entries of one kind in the header of a model file.
pub const HEADER_ENTRIES_MAX: u64 = 16 * 1024 * 1024;
/// Number of lines of the engine's log that an error quotes.
pub const LOG_LINES_MAX: usize = 6;

/// Longest text for one vector, in tokens; the rest is cut off.
pub const EMBED_TOKENS_MAX: usize = 256;
/// Maximum of texts that are embedded at once.
pub const EMBED_TEXTS_MAX: usize = 8;
/// Largest file that is converted, in bytes.
pub const CONVERT_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
