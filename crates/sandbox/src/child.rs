//! One process without a sandbox, from its start to its end.
//!
//! The process leads a session of its own, so that it has no terminal and its tree can be found.
//! One loop waits for all events: output, exit, timeout, the request to stop.
//! Nothing that the process started outlives the call.
//!
//! Must never: leave a process unreaped, read without a bound, or wait for a pipe that another
//! process keeps open.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;

use crate::cancel::{CancelListener, CancelToken};
use crate::exit_fd;
use crate::limits::{GRACE_MS_MAX, KILL_MS_MAX};
#[cfg(target_os = "linux")]
use crate::linux::process_tree::ProcessTree;
use crate::poll::is_ready;
use crate::process::{
    Command, Cwd, Error, ProcessBounds, ProcessEnding, ProcessOutcome, not_started,
};
#[cfg(not(target_os = "linux"))]
use crate::process_group::ProcessGroup as ProcessTree;
use crate::stdio_pump::{ChildStdio, OutputCallback, StdioPump};

/// Runs a process to its end, or ends it on timeout or cancellation.
///
/// # Errors
/// When the process could not be started, or could not be watched.
pub fn run(
    command: &Command,
    bounds: &ProcessBounds,
    stop: &CancelToken,
) -> Result<ProcessOutcome, Error> {
    run_with_listener(command, bounds, stop, None)
}

/// Like `run`, but passes the output to a callback as it arrives.
///
/// # Errors
/// When the process could not be started, or could not be watched.
pub fn run_with_listener(
    command: &Command,
    bounds: &ProcessBounds,
    stop: &CancelToken,
    hear: Option<OutputCallback<'_>>,
) -> Result<ProcessOutcome, Error> {
    let start = Instant::now();
    let listener = stop.listen().map_err(|reason| not_started(command, reason))?;
    if stop.is_stopped() {
        return Ok(ProcessOutcome::never_started());
    }
    let mut running = RunningChild::start(command, bounds, hear)?;
    let end = running.watch(start + bounds.time, &listener)?;
    running.pump.drain().map_err(Error::Unwatched)?;
    let left_behind = running.tree.kill();
    let status = running.reap()?;
    let (ending, left_behind) = match end {
        ChildExitCause::ByItself => (of_status(status), left_behind),
        ChildExitCause::TimedOut => (ProcessEnding::TimedOut, 0),
        ChildExitCause::Stopped => (ProcessEnding::Stopped, 0),
    };
    let [stdout, stderr] = running.pump.take_kept();
    let (duration, violations) = (start.elapsed(), Vec::new());
    Ok(ProcessOutcome { ending, stdout, stderr, duration, left_behind, violations })
}

fn of_status(status: ExitStatus) -> ProcessEnding {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProcessEnding::Exited(code),
        (None, signal) => ProcessEnding::Signalled(signal.unwrap_or_default()),
    }
}

/// The cause that ended the wait for a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChildExitCause {
    ByItself,
    TimedOut,
    Stopped,
}

/// A process that was started and is not reaped yet.
struct RunningChild<'a> {
    child: Child,
    tree: ProcessTree,
    handle: OwnedFd,
    pump: StdioPump<'a>,
    is_reaped: bool,
}

impl Drop for RunningChild<'_> {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.tree.kill();
            // A killed child is waited for, lest it stay a zombie; there is nothing else to do.
            drop(self.child.wait());
        }
    }
}

impl<'a> RunningChild<'a> {
    fn start(
        command: &Command,
        bounds: &ProcessBounds,
        hear: Option<OutputCallback<'a>>,
    ) -> Result<Self, Error> {
        let failed = |reason| not_started(command, reason);
        let (pump, ends) = StdioPump::new(command, bounds.output_bytes_max).map_err(failed)?;
        let pump = pump.with_listener(hear);
        let before = ProcessTree::before();
        let mut child = spawn(command, ends)?;
        let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = number.expect("the system numbers processes from 1");
        let mut tree = ProcessTree::of(pid, before);
        let handle = match exit_fd::open(pid) {
            Ok(handle) => handle,
            Err(reason) => {
                tree.kill();
                drop(child.wait());
                return Err(failed(reason));
            }
        };
        Ok(Self { child, tree, handle, pump, is_reaped: false })
    }

    /// Waits until the child exits, times out or is cancelled; the latter two end the whole tree.
    fn watch(
        &mut self,
        deadline: Instant,
        listener: &CancelListener,
    ) -> Result<ChildExitCause, Error> {
        let end = loop {
            let watched = [self.handle.as_fd(), listener.as_fd()];
            let ready = self.pump.wait(&watched, Some(deadline)).map_err(Error::Unwatched)?;
            if ready[0] {
                return Ok(ChildExitCause::ByItself);
            }
            if ready[1] {
                break ChildExitCause::Stopped;
            }
            if Instant::now() >= deadline {
                break ChildExitCause::TimedOut;
            }
        };
        self.pump.close_input();
        self.tree.terminate();
        let grace = Instant::now() + Duration::from_millis(GRACE_MS_MAX);
        while self.tree.is_alive() && Instant::now() < grace {
            let look_again = Instant::now() + Duration::from_millis(10);
            self.pump.wait(&[], Some(look_again.min(grace))).map_err(Error::Unwatched)?;
        }
        self.tree.kill();
        Ok(end)
    }

    fn reap(&mut self) -> Result<ExitStatus, Error> {
        let deadline = Instant::now() + Duration::from_millis(KILL_MS_MAX);
        while !self.wait_for_end(deadline).map_err(Error::Unwatched)? {
            if Instant::now() >= deadline {
                // Waiting for a process that survived SIGKILL would never return.
                self.is_reaped = true;
                return Err(Error::Unkillable(i32::try_from(self.child.id()).unwrap_or_default()));
            }
        }
        let status = self.child.wait().map_err(Error::Unwatched)?;
        self.is_reaped = true;
        Ok(status)
    }

    fn wait_for_end(&self, deadline: Instant) -> io::Result<bool> {
        is_ready(&self.handle, deadline)
    }
}

fn spawn(command: &Command, ends: ChildStdio) -> Result<Child, Error> {
    let cwd = open_cwd(&command.cwd)?;
    let mut spawned = std::process::Command::new(&command.program);
    spawned
        .args(&command.args)
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .stdin(ends.input)
        .stdout(ends.output)
        .stderr(ends.errors);
    let enter = move || -> io::Result<()> {
        rustix::process::setsid()?;
        rustix::process::fchdir(&cwd)?;
        Ok(())
    };
    #[expect(unsafe_code, reason = "between fork and exec; both are bare system calls")]
    // SAFETY: the closure makes two system calls and touches neither memory nor locks of others.
    unsafe {
        spawned.pre_exec(enter);
    }
    // The builder holds our copies of the pipes' write ends. It is dropped at the end of this
    // function; otherwise the readers would never see the end of the output.
    spawned.spawn().map_err(|reason| not_started(command, reason))
}

fn open_cwd(cwd: &Cwd) -> Result<OwnedFd, Error> {
    let no_directory = |path: &PathBuf, reason| Error::NoDirectory { path: path.clone(), reason };
    match cwd {
        Cwd::Handle(handle) => handle
            .try_clone()
            .map_err(|reason| no_directory(&PathBuf::from("an open directory"), reason)),
        Cwd::Path(path) => {
            // Other systems need read access to a directory to enter it by handle.
            #[cfg(target_os = "linux")]
            let access = OFlags::PATH;
            #[cfg(not(target_os = "linux"))]
            let access = OFlags::RDONLY;
            let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::empty())
                .map_err(|reason| no_directory(path, reason.into()))
        }
    }
}
