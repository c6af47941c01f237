//! What goes into the scrollback: kinds of rows, with an empty row between kinds.
//!
//! Must never: hold back a row that is final.

use super::style::{StyledRow, row};
use super::wrap::{chopped, row_width, wrapped};
use ratatui::style::Style;

/// What a row is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the person said.
    User,
    /// What the agent says.
    Answer,
    /// What the agent does.
    Call,
    /// What the chat says.
    Note,
    /// A page that was asked for.
    Page,
}

/// Rows on their way up.
#[derive(Default)]
pub(crate) struct ScrollbackBuffer {
    rows: Vec<StyledRow>,
    last: Option<Kind>,
}

impl ScrollbackBuffer {
    /// Adds rows that fit the width already.
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
            match row_width(&row) <= columns {
                true => self.rows.push(row),
                false => self.rows.extend(chopped(&row, columns)),
            }
        }
    }

    /// Adds a row to what was added last, if that is a page.
    pub(crate) fn attach(&mut self, row: StyledRow, columns: usize) {
        self.last = self.last.filter(|last| *last != Kind::Page);
        self.add(Kind::Page, [row], columns);
    }

    /// Adds a text of the chat, broken at words.
    pub(crate) fn note(&mut self, text: &str, style: Style, columns: usize) {
        let lines = text.lines().flat_map(|line| wrapped(&row(line, style), columns, 2));
        self.add(Kind::Note, lines.collect::<Vec<_>>(), columns);
    }

    /// Whether an empty row comes before rows of this kind.
    pub(crate) fn parts(&self, kind: Kind) -> bool {
        self.last.is_some_and(|last| last != kind || kind == Kind::Page || kind == Kind::User)
    }

    /// The next answer is another one.
    pub(crate) fn end_answer(&mut self) {
        if self.last == Some(Kind::Answer) {
            self.last = Some(Kind::Page);
        }
    }

    /// Takes what is on its way.
    pub(crate) fn take(&mut self) -> Vec<StyledRow> {
        std::mem::take(&mut self.rows)
    }
}
