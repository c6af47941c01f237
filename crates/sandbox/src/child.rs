//! A process without a sandbox, from its start to its end: a command that is waited for, or a
//! long-lived program.
//!
//! The process leads a session of its own, so that it has no terminal and its tree can be found.
//! One loop waits for all events: output, exit, timeout, the request to stop.
//! Nothing that the process started outlives the call, or the value of a long-lived program.
//!
//! Must never: leave a process unreaped, read without a bound, or wait for a pipe that another
//! process keeps open.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;

use crate::cancel::{CancelListener, CancelToken};
use crate::child_guard::ChildGuard;
use crate::exit_fd;
use crate::limits::{GRACE_MS_MAX, KILL_MS_MAX};
#[cfg(target_os = "linux")]
use crate::linux::process_tree::ProcessTree;
use crate::poll::is_ready;
use crate::process::{
    ChildBounds, ChildCommand, ChildOutcome, Command, Cwd, Error, ExitCause, ProcessBounds,
    ProcessEnding, ProcessOutcome, not_started,
};
#[cfg(not(target_os = "linux"))]
use crate::process_group::ProcessGroup as ProcessTree;
use crate::sandboxed_child::{self, SandboxedChild, SupervisedProcess};
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
    let (pump, ends) = StdioPump::new(command, bounds.output_bytes_max)
        .map_err(|reason| not_started(command, reason))?;
    let mut running = RunningChild::start(command, pump.with_listener(hear), ends, no_preparation)?;
    let end = running.watch(start + bounds.time, &listener)?;
    let (ending, left_behind) = running.finish(end)?;
    let [stdout, stderr] = running.pump.take_kept();
    let (duration, violations) = (start.elapsed(), Vec::new());
    Ok(ProcessOutcome { ending, stdout, stderr, duration, left_behind, violations })
}

/// Starts a long-lived program without a sandbox.
///
/// It dies with this process. Of what it has started, only those processes are ended that still
/// have a parent or a session of its tree.
///
/// # Errors
/// When the program could not be started.
pub fn spawn(command: ChildCommand, bounds: ChildBounds) -> Result<SandboxedChild, Error> {
    let program = command.program.clone();
    sandboxed_child::start(&program, bounds, &CancelToken::new(), move |ends, _| {
        let child = OpenChild::start(&command.without_streams(), ends)?;
        Ok((child, ChildGuard::none()))
    })
}

/// A long-lived program that no sandbox confines.
pub(crate) struct OpenChild {
    start: Instant,
    running: RunningChild<'static>,
}

impl OpenChild {
    /// Starts the program; it dies with the calling thread.
    pub(crate) fn start(command: &Command, ends: ChildStdio) -> Result<Self, Error> {
        let start = Instant::now();
        let running = RunningChild::start(command, StdioPump::none(), ends, die_with_parent)?;
        Ok(Self { start, running })
    }
}

impl SupervisedProcess for OpenChild {
    fn await_end(
        &mut self,
        until: Option<Instant>,
        stop: &CancelListener,
    ) -> Result<ExitCause, Error> {
        self.running.await_end(until, stop)
    }

    fn terminate(&mut self, grace: Duration, hurry: &CancelListener) -> Result<(), Error> {
        self.running.terminate(grace, Some(hurry))
    }

    fn finish(mut self, cause: ExitCause) -> Result<ChildOutcome, Error> {
        let (ending, left_behind) = self.running.finish(cause)?;
        Ok(ChildOutcome { ending, duration: self.start.elapsed(), left_behind })
    }
}

fn outcome(status: ExitStatus, cause: ExitCause, left_behind: usize) -> (ProcessEnding, usize) {
    match cause {
        ExitCause::ByItself => (of_status(status), left_behind),
        ExitCause::TimedOut => (ProcessEnding::TimedOut, 0),
        ExitCause::Stopped | ExitCause::Unmounted => (ProcessEnding::Stopped, 0),
    }
}

fn of_status(status: ExitStatus) -> ProcessEnding {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProcessEnding::Exited(code),
        (None, signal) => ProcessEnding::Signalled(signal.unwrap_or_default()),
    }
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
        pump: StdioPump<'a>,
        ends: ChildStdio,
        prepare: fn(Pid) -> io::Result<()>,
    ) -> Result<Self, Error> {
        let failed = |reason| not_started(command, reason);
        let before = ProcessTree::before();
        let mut child = start_process(command, ends, prepare)?;
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
    fn watch(&mut self, deadline: Instant, listener: &CancelListener) -> Result<ExitCause, Error> {
        let end = self.await_end(Some(deadline), listener)?;
        if end != ExitCause::ByItself {
            self.terminate(Duration::from_millis(GRACE_MS_MAX), None)?;
        }
        Ok(end)
    }

    /// Waits until the child exits, the deadline or the request to stop; ends nothing.
    fn await_end(
        &mut self,
        until: Option<Instant>,
        listener: &CancelListener,
    ) -> Result<ExitCause, Error> {
        loop {
            let watched = vec![
                PollFd::new(&self.handle, PollFlags::IN),
                PollFd::new(listener, PollFlags::IN),
            ];
            let ready = self.pump.wait(watched, until).map_err(Error::Unwatched)?;
            if ready[0] {
                return Ok(ExitCause::ByItself);
            }
            if ready[1] {
                return Ok(ExitCause::Stopped);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(ExitCause::TimedOut);
            }
        }
    }

    /// Asks the tree to end, and kills it after the grace or when `hurry` is raised.
    fn terminate(&mut self, grace: Duration, hurry: Option<&CancelListener>) -> Result<(), Error> {
        self.pump.close_input();
        self.tree.terminate();
        let grace = Instant::now() + grace;
        while self.tree.is_alive() && Instant::now() < grace {
            let look_again = Instant::now() + Duration::from_millis(10);
            let watched = hurry.map(|hurry| PollFd::new(hurry, PollFlags::IN));
            let until = Some(look_again.min(grace));
            let ready = self.pump.wait(watched.into_iter().collect(), until);
            if ready.map_err(Error::Unwatched)?.contains(&true) {
                break;
            }
        }
        self.tree.kill();
        Ok(())
    }

    /// Ends what is left, and returns the ending and the number of processes left behind.
    fn finish(&mut self, cause: ExitCause) -> Result<(ProcessEnding, usize), Error> {
        self.pump.drain().map_err(Error::Unwatched)?;
        let left_behind = self.tree.kill();
        let status = self.reap()?;
        Ok(outcome(status, cause, left_behind))
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

/// Prepares nothing in a new process.
fn no_preparation(_: Pid) -> io::Result<()> {
    Ok(())
}

/// Binds the life of a new process to the thread that started it.
#[cfg(target_os = "linux")]
fn die_with_parent(parent: Pid) -> io::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before.
    if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Prepares nothing: this system cannot bind the life of a process to another.
#[cfg(not(target_os = "linux"))]
fn die_with_parent(parent: Pid) -> io::Result<()> {
    no_preparation(parent)
}

fn start_process(
    command: &Command,
    ends: ChildStdio,
    prepare: fn(Pid) -> io::Result<()>,
) -> Result<Child, Error> {
    let parent = rustix::process::getpid();
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
        prepare(parent)
    };
    #[expect(unsafe_code, reason = "between fork and exec; all are bare system calls")]
    // SAFETY: the closure makes system calls only and touches neither memory nor locks of others.
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
