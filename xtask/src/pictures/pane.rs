//! A terminal for one recording: tmux on a socket of its own, with a shell in its only pane.
//!
//! Nothing is timed: the screen is read again and again until it shows the expected text.
//!
//! Must never: touch another server of tmux, or pass on more of the environment than `PATH`.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::{child, failure::CommandFailure, limits::PICTURE_WAIT_TIME_MAX};

pub(super) const COLUMNS: usize = 84;
pub(super) const ROWS: usize = 24;

/// The time between two reads of the screen.
const POLL: Duration = Duration::from_millis(25);

pub(super) struct Pane {
    /// The directory of the socket.
    socket: PathBuf,
}

/// All rows, those that scrolled away included.
#[derive(PartialEq, Eq)]
pub(super) struct PaneText {
    pub(super) text: String,
    pub(super) cursor: CursorCell,
}

/// The position of the cursor, from zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CursorCell {
    pub(super) column: usize,
    pub(super) row: usize,
}

/// The directories of a recording.
pub(super) struct PaneDirectories {
    pub(super) socket: PathBuf,
    pub(super) home: PathBuf,
    /// The directory in which the shell starts.
    pub(super) project: PathBuf,
}

impl Pane {
    /// Starts a shell that finds the binary as `agentry`.
    pub(super) fn open(
        binary: &Path,
        directories: &PaneDirectories,
    ) -> Result<Pane, CommandFailure> {
        let pane = Pane { socket: directories.socket.clone() };
        let (columns, rows) = (COLUMNS.to_string(), ROWS.to_string());
        let programs = binary.parent().unwrap_or(Path::new(".")).display();
        let path = format!("PATH={programs}:{}", std::env::var("PATH").unwrap_or_default());
        let home = format!("HOME={}", directories.home.display());
        let mut open = pane.tmux(&["new-session", "-d", "-x", &columns, "-y", &rows, "-c"]);
        open.arg(&directories.project);
        open.args(["env", "-i", &path, &home, "TERM=screen-256color", "LANG=C.UTF-8", "PS1=$ "]);
        child::stdout_of(open.args(["bash", "--norc", "--noprofile", "-i"]))?;
        Ok(pane)
    }

    fn tmux(&self, words: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.env("TMUX_TMPDIR", &self.socket).env_remove("TMUX");
        command.args(["-u", "-L", "picture", "-f", "/dev/null"]).args(words);
        command
    }

    /// Types a text as it is.
    pub(super) fn type_text(&self, text: &str) -> Result<(), CommandFailure> {
        child::stdout_of(&mut self.tmux(&["send-keys", "-l", text])).map(drop)
    }

    /// Presses a key by its name in tmux.
    pub(super) fn press(&self, key: &str) -> Result<(), CommandFailure> {
        child::stdout_of(&mut self.tmux(&["send-keys", key])).map(drop)
    }

    /// Waits until the screen shows the text.
    pub(super) fn wait_for(&self, text: &str) -> Result<(), CommandFailure> {
        self.wait(&format!("show {text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the screen shows the text no more.
    pub(super) fn wait_until_gone(&self, text: &str) -> Result<(), CommandFailure> {
        self.wait(&format!("clear {text:?}"), |screen| !screen.contains(text))
    }

    fn wait(&self, event: &str, has_come: impl Fn(&str) -> bool) -> Result<(), CommandFailure> {
        let start = Instant::now();
        loop {
            let screen = self.text(&["capture-pane", "-p"])?;
            if has_come(&screen) {
                return Ok(());
            }
            if start.elapsed() > PICTURE_WAIT_TIME_MAX {
                return Err(CommandFailure::new(format!(
                    "The terminal did not {event} in time. It shows:\n{}",
                    screen.trim_end()
                )));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Returns all that was printed, with its colors, once two reads of it are equal.
    pub(super) fn printed(&self) -> Result<PaneText, CommandFailure> {
        let mut last = self.read()?;
        let start = Instant::now();
        loop {
            std::thread::sleep(POLL);
            let now = self.read()?;
            if now == last {
                return Ok(now);
            }
            if start.elapsed() > PICTURE_WAIT_TIME_MAX {
                return Err(CommandFailure::new("The terminal does not come to rest."));
            }
            last = now;
        }
    }

    fn read(&self) -> Result<PaneText, CommandFailure> {
        let text = self.text(&["capture-pane", "-e", "-p", "-S", "-"])?;
        let format = "#{cursor_x} #{cursor_y} #{history_size}";
        let numbers = self.text(&["display-message", "-p", format])?;
        let numbers: Vec<usize> =
            numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        let [column, row, scrolled] = numbers.as_slice() else {
            return Err(CommandFailure::new("tmux does not say where the cursor is."));
        };
        Ok(PaneText { text, cursor: CursorCell { column: *column, row: scrolled + row } })
    }

    fn text(&self, words: &[&str]) -> Result<String, CommandFailure> {
        let bytes = child::stdout_of(&mut self.tmux(words))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        // Without a server there is nothing to end.
        child::answers(&mut self.tmux(&["kill-server"]));
    }
}
