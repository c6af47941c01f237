//! One process without a sandbox, from its start to its end.
//!
//! The process leads a session of its own, so that it has no terminal and its tree can be found.
//! One loop waits for all events: output, exit, timeout, the request to stop.
//! Nothing that the process started outlives the call.
//!
//! Must never: leave a process unreaped, read without a bound, or wait for a pipe that another
//! process keeps open.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use thiserror::Error;

use crate::cancel::{CancelListener, CancelToken};
use crate::exit_fd;
use crate::head_tail::HeadTailBuffer;
use crate::limits::{GRACE_MS_MAX, KILL_MS_MAX};
#[cfg(not(target_os = "linux"))]
use crate::process_group::ProcessGroup as ProcessTree;
#[cfg(target_os = "linux")]
use crate::process_tree::ProcessTree;
use crate::stdio_pump::{ChildStdio, OutputCallback, StdioPump, is_ready};

/// A command to run.
#[derive(Debug)]
pub struct Command {
    /// A path, or a name to be found in the `PATH` of `env`.
    pub program: OsString,
    /// Its arguments, without the program itself.
    pub args: Vec<OsString>,
    /// The working directory.
    pub cwd: Cwd,
    /// The whole environment; nothing of ours is added.
    pub env: Vec<(OsString, OsString)>,
    /// The bytes on standard input; None means an empty input.
    pub stdin: Option<Vec<u8>>,
    /// The capture mode of standard output and standard error.
    pub streams: Streams,
}

/// The working directory of a process.
#[derive(Debug)]
pub enum Cwd {
    /// An open directory, valid even if it was renamed meanwhile.
    Handle(OwnedFd),
    /// The directory with this path.
    Path(PathBuf),
}

/// The capture mode of standard output and standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// One stream in the order of writing, in `ProcessOutcome::stdout`.
    Together,
    /// Two streams; their relative order is lost.
    Apart,
}

/// The limits of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessBounds {
    /// The time after which the process tree is ended.
    pub time: Duration,
    /// The bytes kept of each stream, half from its beginning and half from its end.
    pub output_bytes_max: usize,
}

/// The result of a process that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessOutcome {
    /// The cause of its end.
    pub ending: ProcessEnding,
    /// Standard output; both streams with `Streams::Together`.
    pub stdout: HeadTailBuffer,
    /// Standard error; empty with `Streams::Together`.
    pub stderr: HeadTailBuffer,
    /// From the start to the end, including the time to end the tree.
    pub duration: Duration,
    /// Processes that were still running when the child had ended by itself, and were killed.
    pub left_behind: usize,
    /// One line for each change to a protected file, with the repair that followed.
    pub violations: Vec<String>,
}

impl ProcessOutcome {
    /// Returns the outcome of a command that was cancelled before it started.
    pub(crate) fn never_started() -> Self {
        Self {
            ending: ProcessEnding::Stopped,
            stdout: HeadTailBuffer::default(),
            stderr: HeadTailBuffer::default(),
            duration: Duration::ZERO,
            left_behind: 0,
            violations: Vec::new(),
        }
    }
}

/// The cause of a process's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnding {
    /// It exited with this code.
    Exited(i32),
    /// A signal that this process did not send.
    Signalled(i32),
    /// It exceeded its time limit.
    TimedOut,
    /// The caller cancelled it.
    Stopped,
    /// Its processes together exceeded the memory limit.
    OutOfMemory,
}

/// The reason why a process could not be run to its end.
#[derive(Debug, Error)]
pub enum Error {
    /// No program with this name or path exists.
    #[error("there is no program `{program}`")]
    ProgramNotFound {
        /// The program as requested.
        program: String,
    },
    /// The program exists but cannot be executed.
    #[error("`{program}` cannot be run: {reason}")]
    NotExecutable {
        /// The program as requested.
        program: String,
        /// The system's reason.
        reason: io::Error,
    },
    /// The working directory is missing or not a directory.
    #[error("cannot run in `{path}`: {reason}")]
    NoDirectory {
        /// The directory as requested.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
    /// Arguments and environment exceed the system's limit.
    #[error("the arguments and the environment of `{program}` are too long for the system")]
    TooLong {
        /// The program as requested.
        program: String,
    },
    /// The system refused a resource that is needed to start or watch a process.
    #[error("cannot start `{program}`: {reason}")]
    NotStarted {
        /// The program as requested.
        program: String,
        /// The system's reason.
        reason: io::Error,
    },
    /// The sandbox could not be built; the program never ran.
    #[error("the sandbox is broken, nothing was run: cannot {step}: {reason}")]
    Sandbox {
        /// The failed step.
        step: String,
        /// The cause in words.
        reason: String,
    },
    /// The process could no longer be watched and was killed.
    #[error("cannot watch the process: {0}")]
    Unwatched(io::Error),
    /// The process was killed and still exists.
    #[error("process {0} does not end although it was killed")]
    Unkillable(i32),
}

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

pub(crate) fn not_started(command: &Command, reason: io::Error) -> Error {
    let program = command.program.to_string_lossy().into_owned();
    match Errno::from_io_error(&reason) {
        Some(Errno::NOENT) => Error::ProgramNotFound { program },
        Some(Errno::ACCESS | Errno::NOEXEC | Errno::ISDIR | Errno::PERM) => {
            Error::NotExecutable { program, reason }
        }
        Some(Errno::TOOBIG) => Error::TooLong { program },
        Some(_) | None => Error::NotStarted { program, reason },
    }
}
