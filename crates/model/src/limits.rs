//! How much a model may say.
//!
//! Must never: be read from a file; these hold for everybody.

/// The longest script.
pub const SCRIPT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The longest time that a line of a script may wait.
pub const SCRIPT_DELAY_MS_MAX: u64 = 600_000;

/// The longest answer of a provider.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The longest single event in the stream of an answer.
pub const FRAME_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How much is read of an answer that says what went wrong.
pub const ERROR_BYTES_MAX: usize = 64 * 1024;
/// How much of what a server said is shown in a message.
pub const SHOWN_CHARS_MAX: usize = 600;
/// The longest list of a provider's models.
pub const MODELS_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How long it may take until a connection is there.
pub const CONNECT_MS: u64 = 15_000;
/// How long it may take from the request to the first byte of the answer; a server at home may first read for minutes.
pub const FIRST_BYTE_MS: u64 = 600_000;
/// How long a server may be silent in the middle of an answer.
pub const IDLE_MS: u64 = 300_000;
/// How soon it is noticed that nobody wants the answer any more.
pub const INTERRUPT_MS: u64 = 50;
/// How long it is waited for the end of a stream after the end of the answer, so that the connection can be used again.
pub const STREAM_END_MS: u64 = 100;
/// How many host names are looked up at once.
pub const LOOKUP_THREADS_MAX: usize = 2;

/// How often one model is asked.
pub const TRIES_MAX: u32 = 5;
/// The wait before the second try; each next wait is twice as long.
pub const RETRY_WAIT_FIRST_MS: u64 = 1_000;
/// The longest wait between two tries, also when the provider asks for more.
pub const RETRY_WAIT_MS_MAX: u64 = 60_000;
/// The longest time that may be spent on waits between the tries of one question.
pub const RETRY_TOTAL_MS_MAX: u64 = 300_000;

/// The longest answer of a model whose protocol must be told one, when nobody says how long.
pub const ANSWER_TOKENS_DEFAULT: u64 = 32_000;
/// The longest name of a tool on the wire.
pub const WIRE_NAME_CHARS_MAX: usize = 64;

/// The longest tape that is played.
pub const TAPE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The longest name of a tool that every provider takes.
pub const TOOL_NAME_BYTES_MAX: usize = 64;
/// How much of an error body that is no JSON is shown.
pub const ERROR_BODY_CHARS_MAX: usize = 300;
/// How much of a provider's own words about an error is shown.
pub const ERROR_MESSAGE_CHARS_MAX: usize = 2000;
/// How long a host may take until it is connected when weights are pulled.
pub const PULL_CONNECT_MS_MAX: u64 = 5_000;
/// How long a host may be silent when weights are pulled.
pub const PULL_IDLE_MS_MAX: u64 = 30_000;
/// How often one request for weights may be sent on to another address.
pub const PULL_REDIRECTS_MAX: usize = 5;
/// How often a piece is asked for without getting further.
pub const PULL_TRIES_MAX: u32 = 4;
/// The pause before a host is asked again that gave nothing; it doubles each time.
pub const PULL_PAUSE_MS: u64 = 1_000;
/// How often it is looked whether another pull of the same model has ended.
pub const PULL_LOCK_LOOK_MS: u64 = 100;
/// How much is read at once when weights are pulled, in bytes.
pub const PULL_CHUNK_BYTES: usize = 128 * 1024;
/// What must stay free on the disk after a pull, in bytes.
pub const PULL_SPACE_LEFT_BYTES_MIN: u64 = 64 * 1024 * 1024;
/// The largest page of a package index.
pub const INDEX_PAGE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The largest settings file of the package index.
pub const INDEX_SETTINGS_BYTES_MAX: u64 = 1024 * 1024;
/// The largest file of extra certificates.
pub const CERTIFICATES_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The largest record that lies beside weights.
pub const MODEL_RECORD_BYTES_MAX: u64 = 64 * 1024;
/// The longest name of somebody's own weights.
pub const MODEL_NAME_CHARS_MAX: usize = 64;
/// The longest table of prices.
pub const PRICES_BYTES_MAX: usize = 1024 * 1024;
/// How many entries a table of prices may have.
pub const PRICED_MODELS_MAX: usize = 10_000;
/// The highest price for a million tokens, in dollars.
pub const PRICE_USD_MAX: f64 = 1_000_000.0;
/// The largest cost, in billionths of a dollar; the ledger's database has no larger number.
pub const COST_NANO_USD_MAX: u64 = i64::MAX.cast_unsigned();
