//! How much a model may say.
//!
//! Must never: be read from a file; these hold for everybody.

/// The longest script.
pub const SCRIPT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The longest time that a line of a script may wait.
pub const SCRIPT_DELAY_MS_MAX: u64 = 600_000;
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
