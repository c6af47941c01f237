//! How much a model may say.
//!
//! Must never: be read from a file; these hold for everybody.

/// The longest script.
pub const SCRIPT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The longest time that a line of a script may wait.
pub const SCRIPT_DELAY_MS_MAX: u64 = 600_000;
/// The longest name of a tool that every provider takes.
pub const TOOL_NAME_BYTES_MAX: usize = 64;
/// How much of an error body that is no JSON is shown.
pub const ERROR_BODY_CHARS_MAX: usize = 300;
/// How much of a provider's own words about an error is shown.
pub const ERROR_MESSAGE_CHARS_MAX: usize = 2000;
