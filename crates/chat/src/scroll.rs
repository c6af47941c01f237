//! Rows for the scrollback, with an empty row between kinds.
//!
//! Must never: hold back a row that is final.

use ratatui::style::Style;

use super::style::{StyledRow, row};
use super::wrap::{chopped, row_width, wrapped};

/// Kind of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text of the user.
    User,
    /// Text of the agent.
    Answer,
    /// A call of the agent.
    Call,
    /// A note of the chat.
    Note,
    /// A requested page.
    Page,
}

/// Buffer of rows for the scrollback.
#[derive(Default)]
pub(crate) struct ScrollbackBuffer {
    rows: Vec<StyledRow>,
    last: Option<Kind>,
}

impl ScrollbackBuffer {
    /// Adds rows; breaks those that are wider than `columns`.
    pub(crate) fn add(
        &mut self,
        kind: Kind,
        rows: impl IntoIterator<Item = StyledRow>,
        columns: usize,
    ) {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return;
        }
        if self.parts(kind) {
            self.rows.push(StyledRow::default());
        }
        self.last = Some(kind);
        for row in rows {
            if row_width(&row) <= columns {
                self.rows.push(row)
            } else {
                self.rows.extend(chopped(&row, columns))
            }
        }
    }

    /// Adds a row to the last page, without an empty row between.
    pub(crate) fn attach(&mut self, row: StyledRow, columns: usize) {
        self.last = self.last.filter(|last| *last != Kind::Page);
        self.add(Kind::Page, [row], columns);
    }

    /// Adds a note of the chat, wrapped at words.
    pub(crate) fn note(&mut self, text: &str, style: Style, columns: usize) {
        let lines = text.lines().flat_map(|line| wrapped(&row(line, style), columns, 2));
        self.add(Kind::Note, lines.collect::<Vec<_>>(), columns);
    }

    /// Returns true if an empty row precedes rows of this kind.
    pub(crate) fn parts(&self, kind: Kind) -> bool {
        self.last.is_some_and(|last| last != kind || kind == Kind::Page || kind == Kind::User)
    }

    /// Ends the answer, so that an empty row precedes the next one.
    pub(crate) fn end_answer(&mut self) {
        if self.last == Some(Kind::Answer) {
            self.last = Some(Kind::Page);
        }
    }

    /// Returns the rows and empties the buffer.
    pub(crate) fn take(&mut self) -> Vec<StyledRow> {
        std::mem::take(&mut self.rows)
    }
}
