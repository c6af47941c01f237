//! A tool call on one row, or expanded on request.
//!
//! Must never: hide that a call failed.

use std::time::{Duration, Instant};

use agentry_frontend::call_text::{first_line, hidden, main_argument, mark};
use agentry_protocol::tool_call::{OutcomeStatus, ToolCall, ToolOutcome};
use ratatui::style::Style;

use super::style::{BAD, BOLD, DIM, GOOD, StyledRow, WARN, clean, joined, row, span};
use super::wrap::{chopped, short, width};
use crate::limits::CHAT_OUTPUT_ROWS_MAX;

/// A proposed or running call.
pub(crate) struct ChatCall {
    pub(crate) call: ToolCall,
    /// The start of the call; None before it starts.
    pub(crate) begun: Option<Instant>,
}

/// A finished call.
pub(crate) struct FinishedChatCall {
    pub(crate) call: ToolCall,
    pub(crate) outcome: ToolOutcome,
}

/// Returns the main argument of a call on one line, or else all arguments.
pub(crate) fn subject(call: &ToolCall) -> String {
    clean(&main_argument(&call.input))
}

impl ChatCall {
    /// Returns the row of the call while it is active.
    pub(crate) fn live(&self, columns: usize) -> StyledRow {
        let name = self.call.tool.to_string();
        let time = self.begun.map(|begun| seconds(begun.elapsed())).unwrap_or_default();
        let room = columns.saturating_sub(width(&name) + width(&time) + 5);
        let subject = short(&subject(&self.call), room);
        joined([
            span("● ", WARN),
            span(name, BOLD),
            span(format!(" {subject} "), Style::new()),
            span(time, DIM),
        ])
    }
}

impl FinishedChatCall {
    /// Returns one row: status, tool, main argument, time and the start of the output.
    pub(crate) fn folded(&self, columns: usize) -> StyledRow {
        let status = self.outcome.status;
        let name = self.call.tool.to_string();
        let time = self.outcome.measured.duration_ms.filter(|ms| *ms >= 100);
        let time =
            time.map(|ms| format!(" {}", seconds(Duration::from_millis(ms)))).unwrap_or_default();
        let room = columns.saturating_sub(2 + width(&name) + 1 + width(&time));
        let subject = short(&subject(&self.call), room * 3 / 5);
        let room = room.saturating_sub(width(&subject) + 3);
        let first =
            if room > 8 { format!("  {}", short(&self.first_line(), room)) } else { String::new() };
        joined([
            span(format!("{} ", mark(status)), status_style(status)),
            span(name, BOLD),
            span(format!(" {subject}"), Style::new()),
            span(time, DIM),
            span(first, DIM),
        ])
    }

    fn first_line(&self) -> String {
        let hidden = hidden(&self.outcome).map(|note| format!(" ({note})")).unwrap_or_default();
        format!("{}{hidden}", clean(first_line(&self.outcome)))
    }

    /// Returns the input and output of the call, up to `CHAT_OUTPUT_ROWS_MAX` lines each.
    pub(crate) fn whole(&self, columns: usize) -> Vec<StyledRow> {
        let status = self.outcome.status;
        let mut rows = vec![joined([
            span(format!("{} ", mark(status)), status_style(status)),
            span(self.call.tool.to_string(), BOLD),
        ])];
        let input = serde_json::to_string_pretty(&self.call.input).unwrap_or_default();
        let input = match self.call.input.get("command").and_then(serde_json::Value::as_str) {
            Some(command) => format!("$ {command}"),
            None => input,
        };
        rows.extend(block(&input, DIM, columns));
        rows.extend(block(&self.outcome.text, Style::new(), columns));
        rows
    }
}

/// Returns the indented rows of a text; lines in the middle of a long text are left out.
pub(crate) fn block(text: &str, style: Style, columns: usize) -> Vec<StyledRow> {
    let mut rows = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let left_out = lines.len().saturating_sub(CHAT_OUTPUT_ROWS_MAX);
    for (at, line) in lines.iter().enumerate() {
        if left_out > 0 && at == CHAT_OUTPUT_ROWS_MAX / 2 {
            rows.push(row(format!("  … {left_out} lines are not shown"), DIM));
        }
        if left_out > 0
            && (CHAT_OUTPUT_ROWS_MAX / 2..CHAT_OUTPUT_ROWS_MAX / 2 + left_out).contains(&at)
        {
            continue;
        }
        for piece in chopped(&row(line, style), columns.saturating_sub(2)) {
            rows.push(joined([span("  ", Style::new())].into_iter().chain(piece.spans)));
        }
    }
    rows
}

/// Returns the style of a mark.
pub(crate) fn status_style(status: OutcomeStatus) -> Style {
    match status {
        OutcomeStatus::Done => GOOD,
        OutcomeStatus::Failed | OutcomeStatus::Refused => BAD,
        OutcomeStatus::Stopped | OutcomeStatus::Uncertain => WARN,
    }
}

/// Formats a duration: `0.3s`, `12s`, `3m 05s`.
pub(crate) fn seconds(time: Duration) -> String {
    let whole = time.as_secs();
    match whole {
        0..=9 => format!("{:.1}s", time.as_secs_f64()),
        10..=59 => format!("{whole}s"),
        _ => format!("{}m {:02}s", whole / 60, whole % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentry_protocol::CallId;
    use agentry_protocol::tool::ToolName;

    fn past(command: &str, text: &str) -> FinishedChatCall {
        let call = ToolCall {
            id: CallId::from_number(1),
            tool: ToolName::canonical("bash"),
            input: serde_json::json!({ "command": command }),
        };
        FinishedChatCall { call, outcome: ToolOutcome::failed(text) }
    }

    fn text(row: &StyledRow) -> String {
        row.spans.iter().map(|span| &*span.content).collect()
    }

    #[test]
    fn a_call_is_one_row_at_any_width() {
        let past = past("cargo test --workspace\nsecond line", "\nerror: it broke\nmore");
        assert_eq!(
            text(&past.folded(70)),
            "✗ bash cargo test --workspace second line  error: it broke"
        );
        for columns in 20..100 {
            assert!(width(&text(&past.folded(columns))) <= columns);
        }
    }

    #[test]
    fn long_output_is_cut_in_its_middle() {
        let lines: Vec<String> = (0..CHAT_OUTPUT_ROWS_MAX + 10).map(|n| n.to_string()).collect();
        let rows = block(&lines.join("\n"), Style::new(), 40);
        assert_eq!(rows.len(), CHAT_OUTPUT_ROWS_MAX + 1);
        assert!(rows.iter().any(|row| text(row) == "  … 10 lines are not shown"));
        assert_eq!(text(rows.last().unwrap()), format!("  {}", CHAT_OUTPUT_ROWS_MAX + 9));
    }

    #[test]
    fn time_is_as_exact_as_it_matters() {
        let one = |ms| seconds(Duration::from_millis(ms));
        assert_eq!([one(300), one(12_900), one(185_000)], ["0.3s", "12s", "3m 05s"]);
    }
}
