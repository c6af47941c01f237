//! The terminal: finished rows go into its own scrollback, a few live rows stay at the bottom.
//!
//! It uses relative cursor moves only, and writes each change at once. So the terminal need not be
//! queried, and the screen does not flicker.
//!
//! Must never: fill the last column, where terminals differ, or leave the terminal in raw mode.

use std::fmt::Write as _;
use std::io::{self, Write};

use ratatui::crossterm::terminal;

use super::style::{StyleMode, StyledRow, bytes};
use super::wrap::row_width;

/// The minimum width for drawing.
const COLUMNS_MIN: usize = 20;

/// Position of the cursor in the live rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CursorPosition {
    pub(crate) row: usize,
    pub(crate) column: usize,
}

/// The size of the terminal, in characters.
#[derive(Clone, Copy)]
pub(crate) struct TerminalSize {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

impl TerminalSize {
    /// Returns the present size.
    pub(crate) fn now() -> io::Result<Self> {
        let (columns, rows) = terminal::size()?;
        Ok(Self { columns, rows })
    }
}

/// The terminal as the chat draws it.
pub(crate) struct Screen<W: Write> {
    out: W,
    ink: StyleMode,
    columns: usize,
    rows: usize,
    /// The live rows as last written.
    live: Vec<StyledRow>,
    cursor: CursorPosition,
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W, ink: StyleMode, size: TerminalSize) -> Self {
        let mut screen = Self {
            out,
            ink,
            columns: 0,
            rows: 0,
            live: Vec::new(),
            cursor: CursorPosition::default(),
        };
        screen.size(size);
        screen
    }

    /// Returns the maximum width of a row.
    pub(crate) fn width(&self) -> usize {
        self.columns.saturating_sub(1).max(COLUMNS_MIN)
    }

    /// Returns the maximum number of live rows.
    pub(crate) fn height(&self) -> usize {
        self.rows.saturating_sub(1).max(4)
    }

    fn size(&mut self, size: TerminalSize) {
        (self.columns, self.rows) = (usize::from(size.columns), usize::from(size.rows));
    }

    /// Writes finished rows, and the live rows below them.
    pub(crate) fn draw(
        &mut self,
        finished: &[StyledRow],
        live: &[StyledRow],
        cursor: CursorPosition,
    ) -> io::Result<()> {
        if finished.is_empty() && live == self.live && cursor == self.cursor {
            return Ok(());
        }
        let mut text = String::from("\x1b[?25l");
        self.to_top(&mut text);
        for row in finished {
            let bytes = bytes(row, self.ink);
            write!(text, "{bytes}\x1b[K\r\n").expect("writing to a string cannot fail");
        }
        let moved = !finished.is_empty();
        for (at, row) in live.iter().enumerate() {
            if at > 0 {
                // A line feed creates a missing row; a cursor move would stop at the edge.
                text.push_str("\r\n");
            }
            if moved || self.live.get(at) != Some(row) {
                write!(text, "{}\x1b[K", bytes(row, self.ink))
                    .expect("writing to a string cannot fail");
            }
        }
        if moved || live.len() < self.live.len() {
            // The row is never full, so the cursor is after its text.
            let end = live.last().map_or(0, row_width);
            let to_end = if end > 0 { format!("\r\x1b[{end}C") } else { "\r".to_owned() };
            write!(text, "{to_end}\x1b[J").expect("writing to a string cannot fail");
        }
        let up = live.len().saturating_sub(1).saturating_sub(cursor.row);
        if up > 0 {
            write!(text, "\x1b[{up}A").expect("writing to a string cannot fail");
        }
        text.push('\r');
        if cursor.column > 0 {
            write!(text, "\x1b[{}C", cursor.column).expect("writing to a string cannot fail");
        }
        text.push_str("\x1b[?25h");
        self.live = live.to_vec();
        self.cursor = cursor;
        self.send(&text)
    }

    /// Sets the size of the terminal. If it changed, clears the live rows for a redraw.
    pub(crate) fn resized(&mut self, size: TerminalSize) -> io::Result<()> {
        let TerminalSize { columns, rows } = size;
        if (usize::from(columns), usize::from(rows)) == (self.columns, self.rows) {
            return Ok(());
        }
        let new = usize::from(columns).max(1);
        // The terminal wraps rows that are too long now, so some take several lines.
        let takes = |row: &StyledRow| row_width(row).div_ceil(new).max(1);
        let above: usize = self.live.iter().take(self.cursor.row).map(takes).sum();
        let up = (above + self.cursor.column / new).min(usize::from(rows).saturating_sub(1));
        let all: usize = self.live.iter().map(takes).sum();
        self.size(size);
        self.wipe(up, all)
    }

    /// Clears the live rows.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.wipe(self.cursor.row, self.live.len())
    }

    /// Clears the visible screen; the scrollback stays.
    pub(crate) fn clear_all(&mut self) -> io::Result<()> {
        (self.live, self.cursor) = (Vec::new(), CursorPosition::default());
        self.send("\x1b[2J\x1b[H")
    }

    /// Clears `rows` rows, starting `up` rows above the cursor. It clears row by row, because some
    /// terminals move a screen that is cleared at once into the scrollback.
    fn wipe(&mut self, up: usize, rows: usize) -> io::Result<()> {
        let up = if up > 0 { format!("\x1b[{up}A") } else { String::new() };
        let rows = rows.clamp(1, self.rows.max(1));
        let each = vec!["\x1b[2K"; rows].join("\x1b[1B");
        (self.live, self.cursor) = (Vec::new(), CursorPosition::default());
        self.send(&format!("\r{up}\x1b7{each}\x1b8"))
    }

    fn to_top(&self, text: &mut String) {
        if self.cursor.row > 0 {
            write!(text, "\x1b[{}A", self.cursor.row).expect("writing to a string cannot fail");
        }
        text.push('\r');
    }

    fn send(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

/// Enters raw mode with bracketed paste.
pub(crate) fn enter_raw_mode() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    io::stdout().write_all(b"\x1b[?2004h")?;
    io::stdout().flush()
}

/// Restores the terminal. May be called at any time, and more than once. A terminal that is gone
/// fails, and has nothing to restore.
pub(crate) fn restore_terminal() {
    let mut out = io::stdout();
    let written = out.write_all(b"\x1b[?2004l\x1b[?25h\x1b[0m").and_then(|()| out.flush());
    // Also if the write failed: input and output may be different terminals.
    terminal::disable_raw_mode().and(written).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal(columns: u16, rows: u16) -> vt100::Parser {
        vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 100)
    }

    struct Trial {
        screen: Screen<Vec<u8>>,
        terminal: vt100::Parser,
    }

    impl Trial {
        fn new(columns: u16, rows: u16) -> Self {
            let size = TerminalSize { columns, rows };
            let screen = Screen::new(Vec::new(), StyleMode::Color, size);
            Self { screen, terminal: terminal(columns, rows) }
        }

        fn draw(&mut self, finished: &[&str], live: &[&str], cursor: (usize, usize)) -> &mut Self {
            let rows = |texts: &[&str]| -> Vec<StyledRow> {
                texts.iter().map(|text| StyledRow::from((*text).to_owned())).collect()
            };
            let spot = CursorPosition { row: cursor.0, column: cursor.1 };
            self.screen.draw(&rows(finished), &rows(live), spot).unwrap();
            self.hear()
        }

        fn hear(&mut self) -> &mut Self {
            let sent = std::mem::take(&mut self.screen.out);
            self.terminal.process(&sent);
            self
        }

        #[track_caller]
        fn shows(&mut self, expected: &str, cursor: (u16, u16)) {
            let shown = self.terminal.screen().contents();
            assert_eq!(shown.trim_end(), expected);
            assert_eq!(self.terminal.screen().cursor_position(), cursor);
        }
    }

    #[test]
    fn finished_rows_stand_above_the_live_ones() {
        let mut trial = Trial::new(20, 6);
        trial.draw(&[], &["status", "> "], (1, 2)).shows("status\n>", (1, 2));
        trial.draw(&["done"], &["status", "> x"], (1, 3)).shows("done\nstatus\n> x", (2, 3));
    }

    #[test]
    fn live_rows_come_and_go() {
        let mut trial = Trial::new(20, 6);
        trial.draw(&[], &["a", "b", "c", "d"], (3, 1));
        trial.draw(&[], &["a", "x"], (1, 1)).shows("a\nx", (1, 1));
        trial.draw(&[], &["a", "x", "y"], (0, 1)).shows("a\nx\ny", (0, 1));
    }

    #[test]
    fn at_the_bottom_the_rest_moves_into_the_scrollback() {
        let mut trial = Trial::new(20, 4);
        trial.draw(&["1", "2", "3"], &["s", "> "], (1, 2));
        trial.draw(&["4"], &["s", "> "], (1, 2)).shows("3\n4\ns\n>", (3, 2));
        trial.terminal.screen_mut().set_scrollback(2);
        assert!(trial.terminal.screen().contents().starts_with("1\n2\n"));
    }

    #[test]
    fn nothing_new_sends_nothing() {
        let mut trial = Trial::new(20, 4);
        trial.draw(&[], &["s", "> "], (1, 2));
        trial
            .screen
            .draw(
                &[],
                &[StyledRow::from("s"), StyledRow::from("> ")],
                CursorPosition { row: 1, column: 2 },
            )
            .unwrap();
        assert!(trial.screen.out.is_empty());
    }

    #[test]
    fn a_smaller_size_takes_away_the_rows_that_were_broken() {
        let mut trial = Trial::new(20, 8);
        trial.draw(&["done"], &["0123456789abcde", "> "], (1, 2));
        // What a terminal that breaks rows shows then.
        trial.terminal = terminal(10, 8);
        trial.terminal.process(b"done\r\n0123456789\r\nabcde\r\n> ");
        trial.screen.resized(TerminalSize { columns: 10, rows: 8 }).unwrap();
        trial.hear().shows("done", (1, 0));
    }
}
