//! Every limit of this crate, with its unit.
//!
//! Must never: bound what is found; only what is shown of it.

/// How much of one line an excerpt takes.
pub(crate) const EXCERPT_BYTES_MAX: usize = 1024;
