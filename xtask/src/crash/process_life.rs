//! One life of a process: from its start to its end, or to the moment it is killed.
//!
//! Only the process itself is killed, as a crash would; its children may live on, and the harness
//! waits for them before it inspects their work.
//!
//! Must never: wait for ever.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    child,
    failure::CommandFailure,
    limits::{CRASH_LIFE_TIME_MAX, CRASH_ORPHAN_TIME_MAX},
};

const SIGKILL: i32 = 9;
/// The interval between two checks of a state that cannot be waited for.
const LOOK_TIME: Duration = Duration::from_millis(1);

/// The moment at which a process is killed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KillMoment {
    /// So long after its start.
    After(Duration),
    /// As soon as it has printed so many lines.
    AtLine(usize),
    Never,
}

/// The output of a process and its end.
pub(crate) struct ProcessLife {
    /// The complete lines of its output.
    pub(crate) lines: Vec<Value>,
    pub(crate) complaint: String,
    pub(crate) end: LifeEnd,
    pub(crate) first_line: Option<Duration>,
    pub(crate) lasted: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LifeEnd {
    Killed,
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// It was still running when its time was over.
    TimedOut,
}

/// A process that was started.
pub(crate) struct RunningProcess {
    child: Child,
    lines: Receiver<String>,
    complaint: thread::JoinHandle<String>,
    started: Instant,
}

pub(crate) fn live(
    command: &mut Command,
    moment: KillMoment,
) -> Result<ProcessLife, CommandFailure> {
    start(command)?.until(moment)
}

pub(crate) fn start(command: &mut Command) -> Result<RunningProcess, CommandFailure> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = Instant::now();
    let mut child = command.spawn().map_err(|error| {
        CommandFailure::new(format!("Could not start `{}`: {error}.", child::spelled(command)))
    })?;
    let stdout = child.stdout.take().expect("the output is a pipe");
    let mut stderr = child.stderr.take().expect("the complaints are a pipe");
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut is_heard = true;
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // The rest is read too, so that the process never waits at a full pipe.
            is_heard = is_heard && sender.send(line).is_ok();
        }
    });
    let complaint = thread::spawn(move || {
        let mut bytes = Vec::new();
        // The part that was read until then is enough to judge by.
        if let Err(error) = stderr.read_to_end(&mut bytes) {
            bytes.extend(format!("\nThe rest could not be read: {error}.").bytes());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    Ok(RunningProcess { child, lines, complaint, started })
}

impl RunningProcess {
    pub(crate) fn until(mut self, moment: KillMoment) -> Result<ProcessLife, CommandFailure> {
        let (deadline, lines_max) = match moment {
            KillMoment::After(time) => (time, usize::MAX),
            KillMoment::AtLine(count) => (CRASH_LIFE_TIME_MAX, count),
            KillMoment::Never => (CRASH_LIFE_TIME_MAX, usize::MAX),
        };
        let mut texts = Vec::new();
        let mut first_line = None;
        let is_over = loop {
            if texts.len() >= lines_max {
                break false;
            }
            match self.lines.recv_timeout(deadline.saturating_sub(self.started.elapsed())) {
                Ok(line) => {
                    first_line.get_or_insert_with(|| self.started.elapsed());
                    texts.push(line);
                }
                Err(RecvTimeoutError::Timeout) => break false,
                Err(RecvTimeoutError::Disconnected) => break true,
            }
        };
        let is_endless = !is_over && self.started.elapsed() >= CRASH_LIFE_TIME_MAX;
        let status = if is_over { self.wait_until(deadline)? } else { None };
        let status = match status {
            Some(status) => status,
            None => self.kill()?,
        };
        let lasted = self.started.elapsed();
        texts.extend(self.lines.iter());
        let end = if is_endless { LifeEnd::TimedOut } else { end_of(status) };
        let complaint = self.complaint.join().unwrap_or_default();
        // A line that was cut by the kill does not count.
        let lines = texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        Ok(ProcessLife { lines, complaint, end, first_line, lasted })
    }

    /// Returns its status; None if it does not end before the deadline.
    fn wait_until(&mut self, deadline: Duration) -> Result<Option<ExitStatus>, CommandFailure> {
        loop {
            let status = self.child.try_wait().map_err(|error| lost(&error))?;
            if status.is_some() || self.started.elapsed() >= deadline {
                return Ok(status);
            }
            thread::sleep(LOOK_TIME);
        }
    }

    fn kill(&mut self) -> Result<ExitStatus, CommandFailure> {
        self.child.kill().and_then(|()| self.child.wait()).map_err(|error| lost(&error))
    }
}

fn lost(error: &std::io::Error) -> CommandFailure {
    CommandFailure::new(format!("A process that was started is lost: {error}."))
}

fn end_of(status: ExitStatus) -> LifeEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => LifeEnd::Exited(code),
        (None, Some(SIGKILL)) => LifeEnd::Killed,
        (None, signal) => LifeEnd::Signalled(signal.unwrap_or_default()),
    }
}

/// Waits until no process works in a directory any more. All processes of a run work there from
/// their start.
pub(crate) fn wait_for_orphans(dir: &Path) -> Result<(), CommandFailure> {
    let started = Instant::now();
    let mut empty_looks = 0;
    // Twice: a process that was about to start another may have hidden it from one look.
    while empty_looks < 2 {
        if started.elapsed() > CRASH_ORPHAN_TIME_MAX {
            return Err(CommandFailure::new(format!(
                "A process still works in {} long after its parent ended.",
                dir.display()
            )));
        }
        if somebody_works_in(dir)? {
            empty_looks = 0;
            thread::sleep(LOOK_TIME);
        } else {
            empty_looks += 1;
        }
    }
    Ok(())
}

fn somebody_works_in(dir: &Path) -> Result<bool, CommandFailure> {
    let processes = Path::new("/proc");
    let entries =
        fs::read_dir(processes).map_err(|error| CommandFailure::file("read", processes, &error))?;
    // A process that is gone, or that is not ours, has no readable directory.
    let works_here =
        |process: &Path| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == dir);
    Ok(entries.filter_map(Result::ok).any(|process| works_here(&process.path())))
}
