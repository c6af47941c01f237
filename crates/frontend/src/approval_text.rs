//! The text about a call that needs approval; identical on all surfaces.
//!
//! Must never: print an invisible character as it is, or hide the length of the call.

use agentry_kernel::legible_text::{folded, payload, to_legible};
use agentry_protocol::ContentHash;
use agentry_protocol::approval::{Approval, PermissionRequest};
use serde_json::Value;

use crate::limits::ASKED_HASH_CHARS;

/// Makes invisible characters of a text visible; cuts nothing.
pub fn legible_text(text: &str) -> String {
    folded(text)
}

/// Returns a line with the length and hash of a call, and a line for each easily missed detail.
pub fn facts(approval: &Approval) -> Vec<String> {
    let found = to_legible(&payload(&approval.call.input));
    let length = format!("{}; hash {}", found.length(), short(&approval.digest));
    let notes = found.notes.into_iter().map(|note| format!("careful: {note}"));
    [length].into_iter().chain(notes).collect()
}

/// Returns the first digits of a hash, enough to compare two by eye.
pub fn short(hash: &ContentHash) -> String {
    let digits = hash.as_str().rsplit(':').next().unwrap_or_default();
    digits.chars().take(ASKED_HASH_CHARS).collect()
}

/// Returns arguments as JSON in one line.
pub fn in_one_line(input: &Value) -> String {
    folded(&input.to_string())
}

/// Returns the facts that a person needs to judge a request: sender, permission, reason, message.
pub fn request_lines(request: &PermissionRequest) -> Vec<String> {
    let who = agentry_kernel::permission_request::name_of(&request.requester);
    let mut lines = vec![
        format!("{who} on {} has no permission for this", request.requester_channel),
        format!("a lasting approval grants: {}", resources(request)),
        format!("reason: {}", request.reason),
    ];
    if !request.original_message.is_empty() {
        lines.push(format!("they wrote: {}", request.original_message));
    }
    lines
}

/// Returns the resources that a request is for.
pub fn resources(request: &PermissionRequest) -> String {
    let all: Vec<String> = request.resources.iter().map(ToString::to_string).collect();
    all.join(", ")
}
