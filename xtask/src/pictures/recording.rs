//! The terminal recording: a person asks for a fix, sees the change as a diff, and agrees.
//!
//! Must never: wait for a time; each step waits for the text that ends it.

use std::{fs, path::Path};

use crate::{
    failure::CommandFailure,
    pictures::{
        ansi::{self, StyledText},
        masks,
        pane::{CursorCell, Pane, PaneDirectories, PaneText, ROWS},
        project,
    },
};

const PROMPT: &str = "Two coffees cost as much as one. Fix it.";

/// The screen at one moment.
pub(super) struct Frame {
    pub(super) caption: &'static str,
    pub(super) rows: Vec<Vec<StyledText>>,
    pub(super) cursor: CursorCell,
}

/// Plays the session with the binary, and returns the screens of its key moments.
pub(super) fn record(binary: &Path) -> Result<Vec<Frame>, CommandFailure> {
    let place = tempfile::tempdir().map_err(|error| {
        CommandFailure::new(format!("Could not create a temporary directory: {error}."))
    })?;
    let home = place.path().join("home");
    let project = home.join("shop");
    for (path, text) in project::FILES {
        write(&project.join(path), text)?;
    }
    let directories = PaneDirectories { socket: place.path().to_owned(), home, project };
    let pane = Pane::open(binary, &directories)?;
    let home = directories.home.display().to_string();
    let frame = |caption| Frame::of(caption, &pane.printed()?, &home);
    let mut frames = Vec::new();

    pane.wait_for("$")?;
    pane.type_text("cat .agentry/agents/coder/AGENT.md")?;
    pane.press("Enter")?;
    pane.wait_for("before you say that it works.")?;
    pane.type_text("agentry chat --model scripted:fix.jsonl")?;
    pane.wait_for("fix.jsonl")?;
    frames.push(frame("An agent is a file")?);

    pane.press("Enter")?;
    pane.wait_for("›")?;
    pane.type_text(PROMPT)?;
    pane.wait_for(PROMPT)?;
    frames.push(frame("You ask")?);

    pane.press("Enter")?;
    pane.wait_for("[y] once")?;
    frames.push(frame("A change waits for your answer")?);

    pane.press("y")?;
    pane.wait_for("The check passes.")?;
    pane.wait_until_gone("Esc interrupts")?;
    frames.push(frame("You said yes; a rule allowed the check")?);
    Ok(frames)
}

impl Frame {
    /// Takes the last rows, as many as the screen has. What the screen itself shows depends on how
    /// many rows the chat once needed for its status, which differs with the speed of the machine.
    fn of(caption: &'static str, printed: &PaneText, home: &str) -> Result<Frame, CommandFailure> {
        let mut rows = ansi::rows(&printed.text)?;
        masks::mask(&mut rows, home);
        while rows.last().is_some_and(|row| row.iter().all(|piece| piece.text.trim().is_empty())) {
            rows.pop();
        }
        let first = rows.len().max(printed.cursor.row + 1).saturating_sub(ROWS);
        rows.drain(..first.min(rows.len()));
        let CursorCell { column, row } = printed.cursor;
        Ok(Frame { caption, rows, cursor: CursorCell { column, row: row.saturating_sub(first) } })
    }
}

fn write(path: &Path, text: &str) -> Result<(), CommandFailure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| CommandFailure::file("create", folder, &error))?;
    }
    fs::write(path, text).map_err(|error| CommandFailure::file("write", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, cursor_row: usize, first: &str, row: usize) {
        let cursor = CursorCell { column: 2, row: cursor_row };
        let printed = PaneText { text: text.to_owned(), cursor };
        let frame = Frame::of("x", &printed, "~").unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(frame.rows[0][0].text, first);
        assert_eq!(frame.cursor, CursorCell { column: 2, row });
    }

    #[test]
    fn a_frame_is_the_last_rows_without_the_empty_ones() {
        let lines: String = (0..30).map(|number| format!("line {number}\n")).collect();
        check(&format!("{lines}\n\n\n"), 29, "line 6", 23);
        check("one\ntwo\n\n\n", 1, "one", 1);
    }

    #[test]
    fn the_row_of_the_cursor_is_part_of_a_frame() {
        let lines: String = (0..30).map(|number| format!("line {number}\n")).collect();
        check(&lines, 30, "line 7", 23);
    }
}
