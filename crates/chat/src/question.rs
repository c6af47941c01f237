//! The approval question: call, exact input, reason and diff, and the keys that answer it.
//!
//! Keys count only after a delay, so that a key meant for the prompt does not answer the question.
//!
//! Must never: show less of a call than would run, or accept a key not meant for the question.

use std::time::{Duration, Instant};

use agentry_frontend::approval_text;
use agentry_protocol::approval::{Approval, ApprovalAnswer, ApprovalScope};
use agentry_protocol::tool::ToolName;
use agentry_runtime::Host;
use agentry_runtime::definitions::plan::CallScope;
use agentry_runtime::redact::TextEdges;
use agentry_tools::Workspace;
use agentry_tools::limits::PREVIEW_CHARS_MAX;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::Style;

use super::style::{BAD, BOLD, DIM, GOOD, StyledRow, WARN, joined, row, span};
use super::wrap::{chopped, wrapped};
use crate::limits::{CHAT_PAYLOAD_LINE_BYTES_MAX, CHAT_QUESTION_WAIT_MS};

/// A waiting approval.
pub(crate) struct ApprovalQuestion {
    /// The approval to answer.
    pub(crate) approval: Approval,
    /// The time since which it is visible.
    shown: Option<Instant>,
}

/// Meaning of a key for a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalKeyAction {
    /// The key gives this answer.
    Answer(ApprovalAnswer),
    /// The key denies the call; the user then types the reason.
    Reason,
    /// The key has no meaning for the question.
    Nothing,
}

impl ApprovalQuestion {
    pub(crate) fn new(approval: Approval) -> Self {
        Self { approval, shown: None }
    }

    /// Marks the question as shown. Returns true on the first call.
    pub(crate) fn show(&mut self) -> bool {
        let first = self.shown.is_none();
        self.shown.get_or_insert_with(Instant::now);
        first
    }

    /// Returns true if its keys count: it was visible for `CHAT_QUESTION_WAIT_MS`.
    pub(crate) fn is_open(&self) -> bool {
        let wait = Duration::from_millis(CHAT_QUESTION_WAIT_MS);
        self.shown.is_some_and(|shown| shown.elapsed() >= wait)
    }

    /// Returns the rows of the question, with all facts needed to judge the call.
    pub(crate) fn rows(&self, diff: Option<&str>, input: &str, columns: usize) -> Vec<StyledRow> {
        let approval = &self.approval;
        let mut rows = vec![joined([
            span("? ", WARN),
            span(format!("Allow the call of {}?", approval.call.tool), BOLD),
            span(format!("  {}", approval.id), DIM),
        ])];
        if let Some(request) = approval.request() {
            for line in approval_text::request_lines(request) {
                let line = row(format!("  {}", approval_text::legible_text(&line)), Style::new());
                rows.extend(wrapped(&line, columns, 4));
            }
        }
        for line in approval_text::legible_text(input).lines() {
            rows.extend(indented(&row(line, Style::new()), columns));
        }
        for line in approval_text::facts(approval) {
            rows.extend(wrapped(&row(format!("  {line}"), DIM), columns, 4));
        }
        if let Some(finding) = approval.ruling.deciding() {
            let rule = finding.rule.as_deref().unwrap_or("built-in");
            let why =
                row(format!("  why: {} ({rule})", approval_text::legible_text(&finding.why)), DIM);
            rows.extend(wrapped(&why, columns, 4));
        }
        for line in approval_text::legible_text(diff.unwrap_or_default()).lines() {
            rows.extend(indented(&row(line, diff_style(line)), columns));
        }
        rows
    }

    /// Returns the row with the keys of the question.
    pub(crate) fn keys(&self, typed: bool) -> StyledRow {
        let key = |key: &str, means: &str| {
            [span(format!("[{key}]"), BOLD), span(format!(" {means}  "), Style::new())]
        };
        match (typed, self.is_open()) {
            (true, _) => row("An approval waits: send or clear your text, then answer", WARN),
            (false, false) => row("…", DIM),
            (false, true) => {
                let lasting = match self.approval.request() {
                    Some(_) => vec![key("d", "for a day"), key("a", "always")],
                    None => vec![key("s", "this session")],
                };
                let no = [key("n", "no, with reason"), key("Esc", "no")];
                let all = [key("y", "once")].into_iter().chain(lasting).chain(no);
                joined(all.flatten())
            }
        }
    }
}

/// Returns the meaning of a key for an open question.
pub(crate) fn said(key: KeyEvent, permission: bool) -> ApprovalKeyAction {
    let yes = |reach| ApprovalKeyAction::Answer(ApprovalAnswer::approved(reach));
    if !key.modifiers.difference(ratatui::crossterm::event::KeyModifiers::SHIFT).is_empty() {
        return ApprovalKeyAction::Nothing;
    }
    match key.code {
        KeyCode::Char('y' | 'Y') => yes(ApprovalScope::Once),
        KeyCode::Char('a' | 'A') if permission => yes(ApprovalScope::Always),
        KeyCode::Char('d' | 'D') if permission => yes(ApprovalScope::Day),
        KeyCode::Char('s' | 'S' | 'a' | 'A') if !permission => yes(ApprovalScope::Session),
        KeyCode::Char('n' | 'N') => ApprovalKeyAction::Reason,
        KeyCode::Esc => ApprovalKeyAction::Answer(ApprovalAnswer::declined(None)),
        _ => ApprovalKeyAction::Nothing,
    }
}

/// Returns the row with the answer, for the scrollback.
pub(crate) fn answered(tool: &ToolName, answer: &ApprovalAnswer) -> StyledRow {
    match (answer.allow, answer.reach, &answer.reason) {
        (true, ApprovalScope::Once, _) => row(format!("  yes to {tool}, once"), GOOD),
        (true, ApprovalScope::Session, _) => {
            row(format!("  yes to {tool}, for the same call in this session"), GOOD)
        }
        (true, ApprovalScope::Day, _) => row(format!("  yes to {tool}, for a day"), GOOD),
        (true, ApprovalScope::Always, _) => row(format!("  yes to {tool}, always"), GOOD),
        (false, _, Some(reason)) => row(format!("  no to {tool}: {reason}"), BAD),
        (false, _, None) => row(format!("  no to {tool}"), BAD),
    }
}

/// Returns a diff of the call's effect on the workspace, with secrets redacted.
pub(crate) fn diff(
    parts: &Host,
    approval: &Approval,
    scope: Option<&CallScope>,
    workspace: Option<&Workspace>,
) -> Option<String> {
    let preview = || {
        let preview = parts.preview(&approval.call, scope?, workspace?)?;
        Some(parts.redactor.text(&preview, TextEdges::Cut).text)
    };
    let shown: Vec<String> = approval.facts.change_summary().into_iter().chain(preview()).collect();
    Some(shown.join("\n")).filter(|text| !text.is_empty())
}

/// Returns the exact input of a call; a command as its command line, other input as JSON. Leaves
/// out fields that a complete diff shows.
pub(crate) fn payload(parts: &Host, approval: &Approval, diff: Option<&str>) -> String {
    let mut input = approval.call.input.clone();
    let whole = diff.is_some_and(|diff| diff.starts_with("---") && diff.len() < PREVIEW_CHARS_MAX);
    if let Some(fields) = input.as_object_mut().filter(|_| whole) {
        fields.retain(|name, _| {
            !["path", "content", "old_string", "new_string"].contains(&name.as_str())
        });
        if fields.is_empty() {
            return String::new();
        }
    }
    let input = &input;
    let alone = input.as_object().filter(|fields| fields.len() == 1);
    let command = alone.and_then(|fields| fields.get("command")?.as_str());
    let text = match command {
        Some(command) => format!("$ {command}"),
        None => match input.to_string() {
            line if line.len() <= CHAT_PAYLOAD_LINE_BYTES_MAX => line,
            _ => serde_json::to_string_pretty(input).unwrap_or_default(),
        },
    };
    parts.redactor.hide(&text)
}

/// Returns the style of a line of a diff.
pub(crate) fn diff_style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => GOOD,
        Some(b'-') => BAD,
        Some(b'@') => Style::new().fg(ratatui::style::Color::Cyan),
        Some(_) | None => Style::new(),
    }
}

fn indented(line: &StyledRow, columns: usize) -> Vec<StyledRow> {
    let pieces = chopped(line, columns.saturating_sub(2));
    let lead = |row: StyledRow| joined([span("  ", Style::new())].into_iter().chain(row.spans));
    pieces.into_iter().map(lead).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::crossterm::event::KeyModifiers;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> ApprovalKeyAction {
        said(KeyEvent::new(code, modifiers), false)
    }

    #[test]
    fn only_plain_keys_answer() {
        let yes = ApprovalAnswer::approved(ApprovalScope::Once);
        assert_eq!(key(KeyCode::Char('y'), KeyModifiers::NONE), ApprovalKeyAction::Answer(yes));
        assert_eq!(key(KeyCode::Char('y'), KeyModifiers::CONTROL), ApprovalKeyAction::Nothing);
        assert_eq!(key(KeyCode::Char('y'), KeyModifiers::ALT), ApprovalKeyAction::Nothing);
        assert_eq!(key(KeyCode::Enter, KeyModifiers::NONE), ApprovalKeyAction::Nothing);
        assert_eq!(key(KeyCode::Char('n'), KeyModifiers::NONE), ApprovalKeyAction::Reason);
        assert_eq!(
            key(KeyCode::Esc, KeyModifiers::NONE),
            ApprovalKeyAction::Answer(ApprovalAnswer::declined(None))
        );
    }

    #[test]
    fn a_request_for_permission_is_answered_for_a_day_or_always_and_not_for_the_session() {
        let key = |letter, permission| {
            said(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE), permission)
        };
        assert_eq!(
            key('d', true),
            ApprovalKeyAction::Answer(ApprovalAnswer::approved(ApprovalScope::Day))
        );
        assert_eq!(
            key('a', true),
            ApprovalKeyAction::Answer(ApprovalAnswer::approved(ApprovalScope::Always))
        );
        assert_eq!(key('s', true), ApprovalKeyAction::Nothing);
        assert_eq!(key('d', false), ApprovalKeyAction::Nothing);
        assert_eq!(
            key('a', false),
            ApprovalKeyAction::Answer(ApprovalAnswer::approved(ApprovalScope::Session))
        );
    }
}
