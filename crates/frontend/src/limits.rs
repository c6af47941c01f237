//! Every limit of this crate, with its unit.
//!
//! Must never: limit findings; only their display.

/// The maximum length of a source line in an excerpt, in bytes.
pub(crate) const EXCERPT_BYTES_MAX: usize = 1024;
/// The maximum size of an image in a prompt, in bytes.
pub(crate) const IMAGE_BYTES_MAX: u64 = 5 * 1024 * 1024;
/// The maximum length of a sequence that sets a color, in bytes.
pub(crate) const STYLE_BYTES_MAX: usize = 24;
/// The length of the hash shown with an approval, in characters.
pub(crate) const ASKED_HASH_CHARS: usize = 12;
/// The maximum length of an entry of the record on one line, in characters.
pub(crate) const RECORD_LINE_CHARS_MAX: usize = 200;
/// The maximum length of an argument or outcome in a notice, in characters.
pub(crate) const NOTICE_CHARS_MAX: usize = 120;
/// The maximum length of the argument that tells a call from others of its tool, in characters.
pub(crate) const CALL_LABEL_CHARS_MAX: usize = 40;
