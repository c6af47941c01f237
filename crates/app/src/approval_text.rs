//! What a person is told of a call that waits for an answer, the same wherever the question is shown.
//!
//! Must never: show a character that cannot be seen, or hide how long the call is.

use agentry_kernel::legible_text::{folded, payload, to_legible};
use agentry_protocol::ContentHash;
use agentry_protocol::approval::Approval;
use serde_json::Value;

use crate::limits::ASKED_HASH_CHARS;

/// A text that is shown beside a question: everything in it can be seen, and nothing is cut.
pub(crate) fn legible_text(text: &str) -> String {
    folded(text)
}

/// How long a call is, the beginning of its hash, and what is easily overlooked in it: a line each.
pub(crate) fn facts(approval: &Approval) -> Vec<String> {
    let found = to_legible(&payload(&approval.call.input));
    let length = format!("{}; hash {}", found.length(), short(&approval.digest));
    let notes = found.notes.into_iter().map(|note| format!("careful: {note}"));
    [length].into_iter().chain(notes).collect()
}

/// The beginning of a hash, long enough to compare two by eye.
pub(crate) fn short(hash: &ContentHash) -> String {
    let digits = hash.as_str().rsplit(':').next().unwrap_or_default();
    digits.chars().take(ASKED_HASH_CHARS).collect()
}

/// Arguments in one line.
pub(crate) fn in_one_line(input: &Value) -> String {
    folded(&input.to_string())
}
