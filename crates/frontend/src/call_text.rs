//! The words about a call and its outcome; identical on all surfaces.
//!
//! Must never: show a redacted value.

use agentry_protocol::tool_call::{OutcomeStatus, ToolOutcome};
use serde_json::Value;

/// Arguments that say the most about a call, the best first.
const MAIN_ARGUMENTS: [&str; 6] = ["command", "path", "pattern", "url", "name", "query"];

/// Returns the main argument of a call, or else all arguments as JSON; empty without arguments.
pub fn main_argument(input: &Value) -> String {
    let fields = input.as_object();
    let main = fields
        .and_then(|fields| MAIN_ARGUMENTS.iter().find_map(|name| fields.get(*name)?.as_str()));
    match (main, fields) {
        (Some(text), _) => text.trim().to_owned(),
        (None, Some(fields)) if fields.is_empty() => String::new(),
        (None, _) => input.to_string(),
    }
}

/// Returns the mark of a status, one column wide.
pub fn mark(status: OutcomeStatus) -> &'static str {
    match status {
        OutcomeStatus::Done => "✓",
        OutcomeStatus::Failed | OutcomeStatus::Refused => "✗",
        OutcomeStatus::Stopped => "■",
        OutcomeStatus::Uncertain => "?",
    }
}

/// Returns the word for a status.
pub fn status_word(status: OutcomeStatus) -> &'static str {
    match status {
        OutcomeStatus::Done => "done",
        OutcomeStatus::Failed => "failed",
        OutcomeStatus::Refused => "refused",
        OutcomeStatus::Stopped => "stopped",
        OutcomeStatus::Uncertain => "uncertain",
    }
}

/// Returns the first line of an outcome that is not blank and not the exit code of a success.
pub fn first_line(outcome: &ToolOutcome) -> &str {
    let tells = |line: &&str| !line.trim().is_empty() && !line.starts_with("[exit code 0");
    outcome.text.lines().find(tells).unwrap_or_default().trim()
}

/// Returns a note with the number of secrets redacted from an outcome; None if there were none.
pub fn hidden(outcome: &ToolOutcome) -> Option<String> {
    match outcome.measured.redacted {
        0 => None,
        1 => Some("1 secret hidden".to_owned()),
        count => Some(format!("{count} secrets hidden")),
    }
}
