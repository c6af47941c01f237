//! What the crate promises, checked on real processes.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene shall fail there")]

#[cfg(target_os = "linux")]
mod again;
mod attacks;
mod bombs;
mod bounds;
mod egress;
mod endings;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod planting;
mod protect;
#[cfg(target_os = "linux")]
mod spawn;
mod starting;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod toolchains;

use std::path::Path;
use std::time::Duration;

use agentry_sandbox::{CancelToken, Command, Cwd, ProcessBounds, ProcessOutcome, Streams};

/// Long enough never to be reached by a test that works.
const LONG: Duration = Duration::from_secs(120);

fn shell(script: &str) -> Command {
    Command {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: Cwd::Path("/".into()),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        stdin: None,
        streams: Streams::Together,
    }
}

fn within(time: Duration) -> ProcessBounds {
    ProcessBounds { time, output_bytes_max: 64 * 1024 }
}

fn run(command: &Command) -> ProcessOutcome {
    agentry_sandbox::run(command, &within(LONG), &CancelToken::new())
        .expect("the command can be started")
}

fn stdout(finished: &ProcessOutcome) -> String {
    String::from_utf8(finished.stdout.whole().expect("the output is short")).expect("it is text")
}

/// A pipe with a name, for whoever may reach it.
fn make_fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").args(["-m", "666"]).arg(path).status().unwrap();
    assert!(made.success());
}
