//! The prompt editor: lines of text, a cursor, and their rendering.
//!
//! Must never: lose typed text, except by keys that delete it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Style;
use ratatui::text::Span;
use ratatui_textarea::{CursorMove, Input, TextArea};
use unicode_segmentation::UnicodeSegmentation;

use super::screen::CursorPosition;
use super::style::{StyledRow, clean};
use super::wrap::width;

/// Editor of the prompt.
#[derive(Default)]
pub(crate) struct PromptEditor {
    area: TextArea<'static>,
}

impl PromptEditor {
    pub(crate) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Replaces the text and moves the cursor to its end.
    pub(crate) fn set(&mut self, text: &str) {
        self.area = TextArea::from(text.split('\n'));
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    /// Returns the text and clears the editor.
    pub(crate) fn take(&mut self) -> String {
        let text = self.text();
        self.area = TextArea::default();
        text
    }

    /// Inserts pasted text; normalizes line ends and removes control characters.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\t', "    ");
        self.area.insert_str(text.replace(|c: char| c.is_control() && c != '\n', ""));
    }

    pub(crate) fn newline(&mut self) {
        self.area.insert_newline();
    }

    /// Turns a backslash at the end into a new line. Returns false if there is none.
    pub(crate) fn take_backslash(&mut self) -> bool {
        let at_end = self.before_cursor().ends_with('\\') && self.at_end();
        if at_end {
            self.area.delete_char();
            self.area.insert_newline();
        }
        at_end
    }

    pub(crate) fn on_first_line(&self) -> bool {
        self.area.cursor().0 == 0
    }

    pub(crate) fn on_last_line(&self) -> bool {
        self.area.cursor().0 + 1 == self.area.lines().len()
    }

    fn at_end(&self) -> bool {
        let (row, column) = self.cursor();
        self.on_last_line() && column == self.area.lines()[row].chars().count()
    }

    fn cursor(&self) -> (usize, usize) {
        let cursor = self.area.cursor();
        (cursor.0, cursor.1)
    }

    /// Returns the text of the cursor's line up to the cursor.
    pub(crate) fn before_cursor(&self) -> String {
        let (row, column) = self.cursor();
        self.area.lines()[row].chars().take(column).collect()
    }

    /// Replaces the last characters before the cursor by a text.
    pub(crate) fn replace_before(&mut self, characters: usize, text: &str) {
        for _ in 0..characters {
            self.area.delete_char();
        }
        self.area.insert_str(text);
    }

    /// Handles a key that edits the text or moves the cursor.
    pub(crate) fn key(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if control => {
                self.area.delete_line_by_head();
            }
            // The text area would treat these keys differently from a shell.
            KeyCode::Char('j' | 'm' | 'r' | 'c' | 'v' | 'x' | 'y') if control => {}
            KeyCode::Tab | KeyCode::Enter => {}
            _ => {
                self.area.input(Input::from(key));
            }
        }
    }

    /// Returns the rows to draw after a mark, and the position of the cursor in them.
    pub(crate) fn rows(
        &self,
        mark: &str,
        columns: usize,
        style: Style,
    ) -> (Vec<StyledRow>, CursorPosition) {
        let indent = width(mark);
        let room = columns.saturating_sub(indent).max(4);
        let (at_row, at_column) = self.cursor();
        let mut rows = Vec::new();
        let mut spot = CursorPosition::default();
        for (number, line) in self.area.lines().iter().enumerate() {
            let before: usize = line.chars().take(at_column).map(char::len_utf8).sum();
            let mut pieces = InputRows { row: String::new(), used: 0, rows: Vec::new() };
            let mut bytes = 0;
            for piece in line.graphemes(true) {
                if number == at_row && bytes == before {
                    spot = pieces.spot(rows.len(), indent, room);
                }
                pieces.push(&clean(piece), room);
                bytes += piece.len();
            }
            if number == at_row && bytes <= before {
                spot = pieces.spot(rows.len(), indent, room);
            }
            rows.extend(pieces.end());
        }
        while spot.row >= rows.len() {
            rows.push(String::new());
        }
        let lead = |at: usize| if at == 0 { mark.to_owned() } else { " ".repeat(indent) };
        let one = |(at, text): (usize, String)| {
            StyledRow::from(vec![Span::styled(lead(at), style), Span::raw(text)])
        };
        (rows.into_iter().enumerate().map(one).collect(), spot)
    }
}

/// A typed line, broken at the width.
struct InputRows {
    row: String,
    used: usize,
    rows: Vec<String>,
}

impl InputRows {
    fn push(&mut self, piece: &str, room: usize) {
        let wide = width(piece);
        if self.used + wide > room {
            self.rows.push(std::mem::take(&mut self.row));
            self.used = 0;
        }
        self.row.push_str(piece);
        self.used += wide;
    }

    fn spot(&self, above: usize, indent: usize, room: usize) -> CursorPosition {
        if self.used < room {
            CursorPosition { row: above + self.rows.len(), column: indent + self.used }
        } else {
            CursorPosition { row: above + self.rows.len() + 1, column: indent }
        }
    }

    fn end(mut self) -> Vec<String> {
        self.rows.push(self.row);
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(edit: &PromptEditor, columns: usize) -> (Vec<String>, (usize, usize)) {
        let (rows, spot) = edit.rows("> ", columns, Style::new());
        let one = |row: &StyledRow| row.spans.iter().map(|span| &*span.content).collect();
        (rows.iter().map(one).collect(), (spot.row, spot.column))
    }

    #[test]
    fn a_long_line_is_broken_and_the_cursor_goes_along() {
        let mut edit = PromptEditor::default();
        edit.set("abcdefgh");
        assert_eq!(drawn(&edit, 7), (vec!["> abcde".to_owned(), "  fgh".to_owned()], (1, 5)));
        edit.set("abcde");
        assert_eq!(drawn(&edit, 7), (vec!["> abcde".to_owned(), "  ".to_owned()], (1, 2)));
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let mut edit = PromptEditor::default();
        edit.set("日本");
        assert_eq!(drawn(&edit, 20), (vec!["> 日本".to_owned()], (0, 6)));
    }

    #[test]
    fn a_backslash_at_the_end_makes_a_line() {
        let mut edit = PromptEditor::default();
        edit.set("one\\");
        assert!(edit.take_backslash());
        assert_eq!(edit.text(), "one\n");
        assert!(!edit.take_backslash());
    }

    #[test]
    fn what_is_pasted_stays_text() {
        let mut edit = PromptEditor::default();
        edit.paste("a\r\nb\x1b[31mc\td");
        assert_eq!(edit.text(), "a\nb[31mc    d");
    }

    #[test]
    fn a_word_before_the_cursor_is_replaced() {
        let mut edit = PromptEditor::default();
        edit.set("look at @ma");
        edit.replace_before(3, "@main.rs ");
        assert_eq!(edit.text(), "look at @main.rs ");
    }
}
