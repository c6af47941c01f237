//! The live rows: the reply, calls, questions, the spinner, the typed text, the footer.
//!
//! Must never: draw more rows than the terminal has.

use std::io;

use agentry_tools::Workspace;
use ratatui::style::Style;

use super::call::seconds;
use super::question;
use super::screen::{CursorPosition, TerminalSize};
use super::scroll::Kind;
use super::style::{BOLD, DIM, StyledRow, WARN, YOU, joined, row, span};
use super::wrap::{cut, row_width, short, width};
use super::{InputMode, MOMENT, TerminalChat};
use crate::limits::{CHAT_MENU_ROWS_MAX, CHAT_QUEUE_ROWS_MAX, CHAT_SPINNER_MS};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

impl TerminalChat<'_> {
    /// Draws the finished rows and the live rows.
    pub(super) fn draw(&mut self) -> io::Result<()> {
        if let Ok(size) = TerminalSize::now() {
            self.screen.resized(size)?;
        }
        let columns = self.screen.width();
        if let Some(turn) = &mut self.turn {
            turn.settle_stream(&mut self.scroll, columns);
        }
        self.show_question(columns);
        if self.backlog.hint.as_ref().is_some_and(|(_, since)| since.elapsed() >= MOMENT) {
            self.backlog.hint = None;
        }
        let finished = self.scroll.take();
        if self.leave.is_some() {
            return self.screen.draw(&finished, &[], CursorPosition::default());
        }
        let above = self.above(columns);
        let (typed, spot) = self.typed_rows(columns);
        let below = self.below(columns);
        let (rows, cursor) = fitted(above, typed, spot, below, self.screen.height());
        let rows: Vec<StyledRow> = rows.iter().map(|row| cut(row, columns)).collect();
        self.screen.draw(&finished, &rows, cursor)
    }

    /// Adds the first question to the scrollback, with all facts needed to judge it.
    fn show_question(&mut self, columns: usize) {
        let Some(turn) = &mut self.turn else { return };
        let scope = turn.call_scope().cloned();
        let Some(question) = turn.questions.front_mut() else { return };
        if !question.show() {
            return;
        }
        let parts = &self.talk.engine.parts;
        let workspace = Workspace::open(&self.talk.engine.definitions.workspace).ok();
        let diff = question::diff(parts, &question.approval, scope.as_ref(), workspace.as_ref());
        let payload = question::payload(parts, &question.approval, diff.as_deref());
        let rows = question.rows(diff.as_deref(), &payload, columns);
        self.scroll.add(Kind::Page, rows, columns);
    }

    fn above(&mut self, columns: usize) -> Vec<StyledRow> {
        let mut rows = Vec::new();
        if let Some(turn) = &mut self.turn {
            let live = turn.live(columns);
            let kind = if turn.is_streaming() { Kind::Answer } else { Kind::Call };
            if !live.is_empty() && self.scroll.parts(kind) {
                rows.push(StyledRow::default());
            }
            rows.extend(live);
        }
        rows.push(StyledRow::default());
        let waiting = self.backlog.queue.len();
        for text in self.backlog.queue.iter().take(CHAT_QUEUE_ROWS_MAX) {
            let text = short(&super::style::clean(text), columns.saturating_sub(10));
            rows.push(joined([span("  queued: ", DIM), span(text, Style::new())]));
        }
        if waiting > CHAT_QUEUE_ROWS_MAX {
            rows.push(row(format!("  and {} more", waiting - CHAT_QUEUE_ROWS_MAX), DIM));
        }
        rows.extend(self.spinner(columns));
        rows
    }

    fn spinner(&self, columns: usize) -> Option<StyledRow> {
        let turn = match (&self.turn, &self.shell) {
            (Some(turn), _) => turn,
            (None, Some((command, since, _))) => {
                let what = short(&super::style::clean(command), columns.saturating_sub(30));
                let time = seconds(since.elapsed());
                let text = format!(" {time}  ! {what}  Esc stops it");
                return Some(joined([span(spin(since.elapsed()), WARN), span(text, DIM)]));
            }
            (None, None) => return None,
        };
        if let Some(question) = turn.questions.front() {
            let more = turn.questions.len() - 1;
            let more = if more > 0 { format!("({more} more)") } else { String::new() };
            let mut keys = match self.typed.typing {
                InputMode::Reason => {
                    row("Reason? Enter sends it to the agent, Esc denies without one", WARN)
                }
                InputMode::Prompt | InputMode::Search(..) => {
                    question.keys(!self.typed.edit.is_empty())
                }
            };
            keys.push_span(span(more, DIM));
            return Some(keys);
        }
        let time = turn.began.elapsed();
        let usage = turn.usage;
        let mut text = format!(" {}", seconds_whole(time));
        if usage.input_tokens + usage.output_tokens > 0 {
            let (read, written) = (count(usage.input_tokens), count(usage.output_tokens));
            text.push_str(&format!("  {read} in  {written} out"));
        }
        let hint = if turn.cancelled { "  cancelling …" } else { "  Esc interrupts" };
        Some(joined([span(spin(time), WARN), span(text, Style::new()), span(hint, DIM)]))
    }

    fn typed_rows(&self, columns: usize) -> (Vec<StyledRow>, CursorPosition) {
        match &self.typed.typing {
            InputMode::Prompt => self.typed.edit.rows("› ", columns, YOU),
            InputMode::Reason => self.typed.edit.rows("no: ", columns, WARN),
            InputMode::Search(part, skip) => {
                let found = self.typed.history.find(part, *skip).unwrap_or("");
                let head = format!("(history) {part}: ");
                let spot = CursorPosition { row: 0, column: width(&head).min(columns) };
                let text = short(&super::style::clean(found), columns.saturating_sub(width(&head)));
                (vec![joined([span(head, DIM), span(text, BOLD)])], spot)
            }
        }
    }

    fn below(&self, columns: usize) -> Vec<StyledRow> {
        if let Some((hint, _)) = &self.backlog.hint {
            return vec![row(format!("  {hint}"), WARN)];
        }
        let offers = &self.typed.offers.all;
        if !offers.is_empty() {
            return self.menu(columns);
        }
        vec![self.footer(columns)]
    }

    fn menu(&self, columns: usize) -> Vec<StyledRow> {
        let offers = &self.typed.offers.all;
        let chosen = self.typed.chosen.unwrap_or(0);
        let from = (chosen + 1).saturating_sub(CHAT_MENU_ROWS_MAX);
        let shown = offers.iter().enumerate().skip(from).take(CHAT_MENU_ROWS_MAX);
        let wide =
            offers.iter().map(|offer| width(&offer.text)).max().unwrap_or(0).min(columns / 2);
        let mut rows: Vec<StyledRow> = shown
            .map(|(at, offer)| {
                let style = if self.typed.chosen == Some(at) { BOLD } else { Style::new() };
                let text = short(&super::style::clean(&offer.text), columns.saturating_sub(4));
                let pad = " ".repeat(wide.saturating_sub(width(&text)) + 2);
                joined([
                    span("  ", DIM),
                    span(text, style),
                    span(format!("{pad}{}", offer.about), DIM),
                ])
            })
            .collect();
        let more = offers.len().saturating_sub(from + CHAT_MENU_ROWS_MAX);
        if more > 0 {
            rows.push(row(format!("  and {more} more"), DIM));
        }
        rows
    }

    /// Returns the footer: model, mode, persona and session, as far as they fit.
    fn footer(&self, columns: usize) -> StyledRow {
        let model = self.talk.terms.model.rsplit('/').next().unwrap_or_default().to_owned();
        let model = match self.talk.terms.model.strip_prefix("scripted:") {
            Some(_) => format!("scripted:{model}"),
            None => model,
        };
        let mut parts = vec![model, self.talk.terms.mode.as_str().to_owned()];
        if let Some(persona) = self.talk.persona() {
            parts.push(format!("as {persona}"));
        }
        if !self.backlog.context.is_empty() {
            parts.push(format!("{} for the next prompt", plural(self.backlog.context.len())));
        }
        parts.push(self.talk.short_key());
        let mut footer = row("  ", DIM);
        for (at, part) in parts.iter().enumerate() {
            let text = if at == 0 { part.clone() } else { format!(" · {part}") };
            if row_width(&footer) + width(&text) <= columns || at == 0 {
                footer.push_span(span(text, DIM));
            }
        }
        footer
    }
}

fn plural(count: usize) -> String {
    agentry_frontend::diagnostics::plural(count, "note")
}

/// Returns the live rows that fit the height: the end of the rows above, and the typed rows around
/// the cursor.
fn fitted(
    above: Vec<StyledRow>,
    typed: Vec<StyledRow>,
    spot: CursorPosition,
    below: Vec<StyledRow>,
    height: usize,
) -> (Vec<StyledRow>, CursorPosition) {
    let below: Vec<StyledRow> = below.into_iter().take(height.saturating_sub(2)).collect();
    let room = height.saturating_sub(below.len()).max(1);
    let from = (spot.row + 1).saturating_sub(room.min(typed.len()));
    let typed: Vec<StyledRow> = typed.into_iter().skip(from).take(room).collect();
    let room = room.saturating_sub(typed.len());
    let skip = above.len().saturating_sub(room);
    let mut rows: Vec<StyledRow> = above.into_iter().skip(skip).collect();
    let cursor = CursorPosition { row: rows.len() + spot.row - from, column: spot.column };
    rows.extend(typed);
    rows.extend(below);
    (rows, cursor)
}

fn spin(time: std::time::Duration) -> &'static str {
    let at = time.as_millis() / u128::from(CHAT_SPINNER_MS);
    SPINNER[usize::try_from(at % SPINNER.len() as u128).unwrap_or(0)]
}

fn seconds_whole(time: std::time::Duration) -> String {
    match time.as_secs() {
        whole @ 0..=59 => format!("{whole}s"),
        whole => format!("{}m {:02}s", whole / 60, whole % 60),
    }
}

/// Formats a number: `950`, `1.2k`, `31k`, `1.2M`.
pub(super) fn count(number: u64) -> String {
    match number {
        0..=999 => number.to_string(),
        1_000..=9_999 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        10_000..=999_999 => format!("{}k", number / 1_000),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize, name: &str) -> Vec<StyledRow> {
        (0..count).map(|number| StyledRow::from(format!("{name}{number}"))).collect()
    }

    #[test]
    fn there_are_never_more_rows_than_fit() {
        for height in 4..30 {
            for typed in [1, 3, 40] {
                let spot = CursorPosition { row: typed - 1, column: 1 };
                let (all, cursor) =
                    fitted(rows(30, "a"), rows(typed, "t"), spot, rows(7, "b"), height);
                assert!(all.len() <= height, "{} rows in {height}", all.len());
                let here = all[cursor.row].to_string();
                assert_eq!(here, format!("t{}", typed - 1));
            }
        }
    }

    #[test]
    fn of_what_streams_the_end_is_shown() {
        let (all, _) =
            fitted(rows(10, "a"), rows(1, "t"), CursorPosition::default(), rows(1, "b"), 4);
        let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["a8", "a9", "t0", "b0"]);
    }

    #[test]
    fn large_counts_are_short() {
        assert_eq!(
            [count(950), count(1_250), count(31_900), count(1_250_000)],
            ["950", "1.2k", "31k", "1.2M"]
        );
    }
}
