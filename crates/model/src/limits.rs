//! How much a model may say.
//!
//! Must never: be read from a file; these hold for everybody.

/// The longest script.
pub const SCRIPT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The longest time that a line of a script may wait.
pub const SCRIPT_DELAY_MS_MAX: u64 = 600_000;
/// The longest table of prices.
pub const PRICES_BYTES_MAX: usize = 1024 * 1024;
/// How many entries a table of prices may have.
pub const PRICED_MODELS_MAX: usize = 10_000;
/// The highest price for a million tokens, in dollars.
pub const PRICE_USD_MAX: f64 = 1_000_000.0;
