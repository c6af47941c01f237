//! Runs one test of this binary again as a child, because its effects cannot be undone.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use crate::{CancelToken, Command, Cwd, ProcessBounds, ProcessEnding, Streams};

/// The variable that marks a test as such a child.
const CHILD: &str = "AGENTRY_TEST_CHILD";
/// A timeout that a working test never reaches.
const LONG: Duration = Duration::from_secs(120);

/// A test that is to be run again.
pub(crate) struct Again {
    test: &'static str,
    env: Vec<(OsString, OsString)>,
}

/// A test that was started again; it is killed when it is dropped.
pub(crate) struct Started {
    child: Child,
    lines: BufReader<ChildStdout>,
}

/// Returns the ignored test of that whole name, for a process of its own.
pub(crate) fn again(test: &'static str) -> Again {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Again { test, env: vec![("PATH".into(), path), (CHILD.into(), "1".into())] }
}

/// Runs the body of such a test: only in the child, which ends with it.
pub(crate) fn in_child(body: impl FnOnce()) {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    body();
    // Not back to the harness, whose other threads are not confined.
    std::process::exit(0);
}

/// Prints a line for the parent of a child, or as the reason why a test was skipped.
#[expect(clippy::print_stdout, reason = "it is all that a test can say")]
pub(crate) fn say(line: impl std::fmt::Display) {
    println!("{line}");
}

impl Again {
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Runs it and returns its output; it must succeed.
    #[track_caller]
    pub(crate) fn run(self) -> String {
        let (ending, said) = self.end();
        assert_eq!(ending, ProcessEnding::Exited(0), "{said}");
        said
    }

    /// Runs it and returns its ending and its output.
    pub(crate) fn end(self) -> (ProcessEnding, String) {
        let command = Command {
            program: std::env::current_exe().expect("the test has a file").into(),
            args: self.args(),
            cwd: Cwd::Path("/".into()),
            env: self.env,
            stdin: None,
            streams: Streams::Together,
        };
        let bounds = ProcessBounds { time: LONG, output_bytes_max: 1 << 20 };
        let finished =
            crate::run(&command, &bounds, &CancelToken::new()).expect("the test can be started");
        let said = finished.stdout.whole().expect("the output is short");
        (finished.ending, String::from_utf8_lossy(&said).into_owned())
    }

    /// Starts it; it runs until its input ends.
    pub(crate) fn start(self) -> Started {
        let mut child = std::process::Command::new(std::env::current_exe().expect("a file"))
            .args(self.args())
            .env_clear()
            .envs(self.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the test can be started");
        let lines = BufReader::new(child.stdout.take().expect("it was asked for"));
        Started { child, lines }
    }

    fn args(&self) -> Vec<OsString> {
        ["--exact", self.test, "--ignored", "--nocapture", "--test-threads=1"]
            .map(OsString::from)
            .into()
    }
}

impl Started {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns its next line that is not the harness's.
    pub(crate) fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            self.lines.read_line(&mut line).expect("it is text");
            let line = line.trim_end();
            // With one thread the harness begins the line of the test with its name.
            let said = line.rsplit(" ... ").next().unwrap_or_default();
            if !said.is_empty() && !said.starts_with("running ") {
                return said.to_owned();
            }
            assert!(!self.is_over(), "it ended without a word");
        }
    }

    fn is_over(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Waits for its end; returns the signal that ended it.
    pub(crate) fn signal(&mut self) -> Option<i32> {
        self.child.wait().expect("it is ours to wait for").signal()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
