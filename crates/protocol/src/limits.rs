//! Every limit of this crate, with its unit.
//!
//! Must never: be changed without a check of existing records; old records must stay readable.

/// The longest name of a channel, in bytes.
pub const CHANNEL_BYTES_MAX: usize = 64;
/// The longest id of a message, sender, peer or account on a channel, in bytes.
pub const CHANNEL_ID_BYTES_MAX: usize = 256;
/// The longest resource of a grant, in bytes.
pub const RESOURCE_BYTES_MAX: usize = 256;
