//! Every limit of this crate, with its unit.
//!
//! Must never: let a model or a file spend memory or time that nobody bounded.

/// The largest context that is chosen without being asked for, in tokens.
pub const CONTEXT_TOKENS_MAX: u32 = 32 * 1024;
/// The smallest context that is worth opening a model for, in tokens.
pub const CONTEXT_TOKENS_MIN: u32 = 512;
/// The context is a multiple of this, in tokens.
pub const CONTEXT_TOKENS_STEP: u32 = 256;
/// The most conversations that are kept in one context.
pub const SESSIONS_MAX: u32 = 16;
/// The memory that must stay free beside weights and context, in bytes.
pub const MEMORY_SPARE_BYTES: u64 = 256 * 1024 * 1024;
/// The most threads that compute, whatever the machine has.
pub const THREADS_MAX: u32 = 64;

/// The most tokens of a prompt that are evaluated before anybody may interrupt.
pub const BATCH_TOKENS_MAX: usize = 256;
/// The longest answer when the request does not say, in tokens.
pub const ANSWER_TOKENS_MAX: usize = 4096;
/// The room that a prompt must leave for an answer, in tokens.
pub const ANSWER_TOKENS_MIN: usize = 16;
/// The most calls in one answer.
pub const CALLS_MAX: usize = 8;
/// How often a caller that waits is asked whether to go on, in milliseconds.
pub const WAIT_MS_MAX: u64 = 50;

/// The longest string argument when the schema does not say, in characters.
pub const ARGUMENT_CHARS_MAX: u64 = 8192;
/// The longest list argument when the schema does not say, in items.
pub const ARGUMENT_ITEMS_MAX: u64 = 64;
/// How deep a schema may be nested.
pub const SCHEMA_DEPTH_MAX: usize = 32;
/// How many sets of offered tools keep their grammar.
pub const TOOLSETS_MAX: usize = 4;
/// The longest request that is sorted before it is answered.
pub const SORTED_CHARS_MAX: usize = 400;
/// How probable the opening mark of a call must be for a call to be made.
pub const CALL_PROBABILITY_MIN: f32 = 0.05;
/// The same where the outcome of a call is the last thing that was said.
pub const CALL_AGAIN_PROBABILITY_MIN: f32 = 0.5;

/// The longest piece of which a model may repeat copies, in tokens.
pub const REPEAT_PERIOD_TOKENS_MAX: usize = 48;
/// How many tokens may repeat themselves, in tokens.
pub const REPEAT_TOKENS_MAX: usize = 64;
/// How often a piece may follow itself.
pub const REPEAT_TIMES_MAX: usize = 4;

/// The longest header of a model file, in bytes; a vocabulary of a million words fits.
pub const HEADER_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The most entries of one kind in the header of a model file.
pub const HEADER_ENTRIES_MAX: u64 = 16 * 1024 * 1024;
/// The lines of the engine's log that an error quotes.
pub const LOG_LINES_MAX: usize = 6;

/// The longest text of which a vector is made, in tokens; what is longer is cut.
pub const EMBED_TOKENS_MAX: usize = 256;
/// The most texts that are computed at once.
pub const EMBED_TEXTS_MAX: usize = 8;
/// The largest file that is converted, in bytes.
pub const CONVERT_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
