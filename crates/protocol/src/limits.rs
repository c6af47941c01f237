//! Every limit of this crate, with its unit.
//!
//! Must never: be changed without a thought for what is recorded already; old records must be read.

/// The longest name of a channel.
pub const CHANNEL_BYTES_MAX: usize = 64;
/// The longest id that a channel gives a message, a sender, a place or an account.
pub const CHANNEL_ID_BYTES_MAX: usize = 256;
/// The longest resource of a grant.
pub const RESOURCE_BYTES_MAX: usize = 256;
