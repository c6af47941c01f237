//! Limits of models, providers, recordings and downloads, with their units.
//!
//! Must never: be read from a file; these limits are the same for every user.

/// The longest script, in bytes.
pub const SCRIPT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The longest wait of a line of a script, in milliseconds.
pub const SCRIPT_DELAY_MS_MAX: u64 = 600_000;

/// The longest answer of a provider, in bytes.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The longest single event in the stream of an answer, in bytes.
pub const FRAME_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The longest part read of an error answer, in bytes.
pub const ERROR_BYTES_MAX: usize = 64 * 1024;
/// The longest part of a server's text that a message shows, in characters.
pub const SHOWN_CHARS_MAX: usize = 600;
/// The longest list of a provider's models, in bytes.
pub const MODELS_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The time limit of a connection attempt, in milliseconds.
pub const CONNECT_MS: u64 = 15_000;
/// The time limit from the request to the first byte; a local server may first read for minutes.
pub const FIRST_BYTE_MS: u64 = 600_000;
/// The longest silence of a server during an answer, in milliseconds.
pub const IDLE_MS: u64 = 300_000;
/// The interval of checks whether the answer is still wanted, in milliseconds.
pub const INTERRUPT_MS: u64 = 50;
/// The longest wait for the end of a stream after the answer; then the connection can be reused.
pub const STREAM_END_MS: u64 = 100;
/// The largest number of host names that are resolved at once.
pub const LOOKUP_THREADS_MAX: usize = 2;

/// The largest number of attempts per model.
pub const TRIES_MAX: u32 = 5;
/// The wait before the second attempt; each next wait is twice as long.
pub const RETRY_WAIT_FIRST_MS: u64 = 1_000;
/// The longest wait between two attempts, even if the provider requests more.
pub const RETRY_WAIT_MS_MAX: u64 = 60_000;
/// The longest sum of the waits between the attempts of one query.
pub const RETRY_TOTAL_MS_MAX: u64 = 300_000;

/// The default length limit of an answer, for a protocol that requires one.
pub const ANSWER_TOKENS_DEFAULT: u64 = 32_000;
/// The longest name of a tool on the wire, in characters.
pub const WIRE_NAME_CHARS_MAX: usize = 64;

/// The longest recording that is replayed, in bytes.
pub const TAPE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The longest name of a tool that every provider accepts, in bytes.
pub const TOOL_NAME_BYTES_MAX: usize = 64;
/// The longest part shown of an error body that is no JSON.
pub const ERROR_BODY_CHARS_MAX: usize = 300;
/// The longest part shown of a provider's error message.
pub const ERROR_MESSAGE_CHARS_MAX: usize = 2000;
/// The time limit of a connection attempt for weights.
pub const PULL_CONNECT_MS_MAX: u64 = 5_000;
/// The longest silence of a host during a download of weights.
pub const PULL_IDLE_MS_MAX: u64 = 30_000;
/// The largest number of redirects of one request for weights.
pub const PULL_REDIRECTS_MAX: usize = 5;
/// The largest number of requests for a file without progress.
pub const PULL_TRIES_MAX: u32 = 4;
/// The wait before a host without progress is asked again; it doubles each time.
pub const PULL_PAUSE_MS: u64 = 1_000;
/// The interval of checks whether another pull of the same model has ended.
pub const PULL_LOCK_LOOK_MS: u64 = 100;
/// The size of a read when weights are pulled, in bytes.
pub const PULL_CHUNK_BYTES: usize = 128 * 1024;
/// The space that must stay free on the disk after a pull, in bytes.
pub const PULL_SPACE_LEFT_BYTES_MIN: u64 = 64 * 1024 * 1024;
/// The largest page of a package index, in bytes.
pub const INDEX_PAGE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The largest settings file of the package index, in bytes.
pub const INDEX_SETTINGS_BYTES_MAX: u64 = 1024 * 1024;
/// The largest file of extra certificates, in bytes.
pub const CERTIFICATES_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The largest record beside weights, in bytes.
pub const MODEL_RECORD_BYTES_MAX: u64 = 64 * 1024;
/// The longest name of imported weights, in characters.
pub const MODEL_NAME_CHARS_MAX: usize = 64;
/// The longest table of prices, in bytes.
pub const PRICES_BYTES_MAX: usize = 1024 * 1024;
/// The largest number of entries of a table of prices.
pub const PRICED_MODELS_MAX: usize = 10_000;
/// The highest price for a million tokens, in dollars.
pub const PRICE_USD_MAX: f64 = 1_000_000.0;
/// The largest cost, in billionths of a dollar; the ledger's database holds no larger number.
pub const COST_NANO_USD_MAX: u64 = i64::MAX.cast_unsigned();
