//! Notes about the outcome of a call; identical on all surfaces.
//!
//! Must never: show a redacted value.

use agentry_protocol::tool_call::ToolOutcome;

/// Returns a note with the number of secrets redacted from an outcome; None if there were none.
pub fn hidden(outcome: &ToolOutcome) -> Option<String> {
    match outcome.measured.redacted {
        0 => None,
        1 => Some("1 secret hidden".to_owned()),
        count => Some(format!("{count} secrets hidden")),
    }
}
