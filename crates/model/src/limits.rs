//! How much a model may say.
//!
//! Must never: be read from a file; these hold for everybody.

/// The longest script.
pub const SCRIPT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The longest time that a line of a script may wait.
pub const SCRIPT_DELAY_MS_MAX: u64 = 600_000;
