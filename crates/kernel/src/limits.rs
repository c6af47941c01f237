//! Every limit of this crate, with its unit.
//!
//! Must never: be changed without the page in `docs/errors` that quotes it.

/// How many elements a template may render.
pub const TEMPLATE_STEPS_MAX: u64 = 100_000;
/// The longest text a template may render to.
pub const TEMPLATE_OUTPUT_BYTES_MAX: usize = 256 * 1024;
