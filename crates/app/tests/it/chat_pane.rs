//! A chat in a real terminal: tmux on a socket of its own, the real binary in its pane.
//!
//! Nothing is timed: what is on the screen is looked at again and again until it is what is expected.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::story::Story;

/// Longer than anything may take on a machine under load.
const TIME_MAX: Duration = Duration::from_secs(60);
/// How often the screen is looked at.
const LOOK: Duration = Duration::from_millis(25);

/// A terminal of its own.
pub(crate) struct Pane {
    server: TempDir,
    environment: String,
    directory: PathBuf,
}

impl Pane {
    /// Begins `agentry …` in a terminal of this size.
    pub(crate) fn open(story: &Story, size: (u16, u16), command: &str) -> Self {
        Self::with(story, size, command, &[])
    }

    /// The same with more in its environment.
    pub(crate) fn with(
        story: &Story,
        size: (u16, u16),
        command: &str,
        more: &[(&str, &str)],
    ) -> Self {
        let pane = Self::ready(story, more);
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        let line = pane.line(command);
        pane.tmux(&["new-session", "-d", "-x", &columns, "-y", &rows, &line]);
        pane
    }

    /// Begins a shell that can stop and go on with what it started.
    pub(crate) fn shell(story: &Story, size: (u16, u16)) -> Self {
        let pane = Self::ready(story, &[]);
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        let line = format!(
            "cd '{}' && exec {} bash --norc -i",
            pane.directory.display(),
            pane.environment
        );
        pane.tmux(&["new-session", "-d", "-x", &columns, "-y", &rows, &line]);
        pane
    }

    fn ready(story: &Story, more: &[(&str, &str)]) -> Self {
        let server = TempDir::new().expect("a temporary directory can be made");
        let path = std::env::var("PATH").unwrap_or_default();
        let home = story.home("").display().to_string();
        let mut environment = "env -i".to_owned();
        let usual = [
            ("PATH", path.as_str()),
            ("HOME", &home),
            ("TERM", "screen-256color"),
            ("LANG", "C.UTF-8"),
            ("PS1", "$ "),
            ("SHELL_TOOL_MODE", "full"),
        ];
        let set = usual.iter().filter(|(name, _)| more.iter().all(|(other, _)| other != name));
        for (name, value) in set.chain(more) {
            write!(environment, " '{name}={value}'").expect("a string takes all");
        }
        Self { server, environment, directory: story.path("") }
    }

    fn line(&self, command: &str) -> String {
        let binary = env!("CARGO_BIN_EXE_agentry");
        let directory = self.directory.display();
        // The end is said on the screen; tmux itself sometimes overlooks it.
        format!(
            "cd '{directory}' && {} '{binary}' {command}; echo \"ended with $?.\"; exec cat",
            self.environment
        )
    }

    /// Begins another command where one has ended.
    pub(crate) fn again(&self, command: &str) {
        let line = self.line(command);
        self.tmux(&["clear-history", ";", "respawn-pane", "-k", &line]);
    }

    fn tmux(&self, words: &[&str]) -> String {
        let output = Command::new("tmux")
            .env("TMUX_TMPDIR", self.server.path())
            .env_remove("TMUX")
            .args(["-u", "-L", "chat", "-f", "/dev/null"])
            .args(words)
            .output()
            .expect("tmux runs: it is a package of that name");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {words:?}: {err}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What can be seen now.
    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The same with what was scrolled away.
    pub(crate) fn all(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-"])
    }

    /// The same with its colors.
    pub(crate) fn colors(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e", "-S", "-"])
    }

    /// Types text, as it is.
    pub(crate) fn types(&self, text: &str) -> &Self {
        self.tmux(&["send-keys", "-l", text]);
        self
    }

    /// Presses keys, by tmux's names.
    pub(crate) fn keys(&self, keys: &[&str]) -> &Self {
        self.tmux(&["send-keys"].iter().chain(keys).copied().collect::<Vec<_>>());
        self
    }

    /// Types a line and sends it.
    pub(crate) fn says(&self, text: &str) -> &Self {
        self.types(text).keys(&["Enter"])
    }

    /// Pastes text, the way a terminal does for who asked to be told.
    pub(crate) fn pastes(&self, text: &str) -> &Self {
        self.tmux(&["set-buffer", text, ";", "paste-buffer", "-p"]);
        self
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, (columns, rows): (u16, u16)) -> &Self {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
        self
    }

    /// Waits until the screen is as wanted.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> &Self {
        let from = Instant::now();
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                return self;
            }
            assert!(
                from.elapsed() < TIME_MAX,
                "waited in vain for {what:?}; this is there:\n{}",
                self.all()
            );
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until a text can be seen.
    #[track_caller]
    pub(crate) fn sees(&self, text: &str) -> &Self {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits until a text cannot be seen any more.
    #[track_caller]
    pub(crate) fn misses(&self, text: &str) -> &Self {
        self.until(&format!("no {text}"), |screen| !screen.contains(text))
    }

    /// Waits until nothing is under way.
    #[track_caller]
    pub(crate) fn rests(&self) -> &Self {
        self.until("rest", |screen| {
            !screen.contains("Esc interrupts") && !screen.contains("[y] once")
        })
    }

    /// The number of the chat's process: the only child of the pane's shell.
    fn process(&self) -> Pid {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let child = Command::new("pgrep").args(["-P", shell.trim()]).output().expect("pgrep runs");
        let number =
            String::from_utf8_lossy(&child.stdout).trim().parse().ok().and_then(Pid::from_raw);
        number.expect("the chat runs")
    }

    /// Sends a signal to the chat.
    pub(crate) fn signal(&self, signal: Signal) -> &Self {
        kill_process(self.process(), signal).expect("it runs");
        self
    }

    /// Waits for its end, and takes its exit code.
    #[track_caller]
    pub(crate) fn ended(&self) -> String {
        let code =
            |screen: &str| Some(screen.split_once("ended with ")?.1.split_once('.')?.0.to_owned());
        self.until("its end", |screen| code(screen).is_some());
        code(&self.screen()).expect("it was there a moment ago")
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        let ended = Command::new("tmux")
            .env("TMUX_TMPDIR", self.server.path())
            .args(["-L", "chat", "kill-server"])
            .output();
        drop(ended);
    }
}
