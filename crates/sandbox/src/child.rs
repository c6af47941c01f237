//! One process, from its start to its end.
//!
//! The process leads a session of its own, so that it has no terminal and its tree can be found.
//! One loop waits for everything at once: output, the end, the time, the request to stop.
//! Nothing that the process started outlives the call.
//!
//! Must never: leave a process unreaped, read without a bound, or wait for a pipe that someone
//! else keeps open.

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

/// What to run.
#[derive(Debug)]
pub struct Command {
    /// A path, or a name to be found in the `PATH` of `env`.
    pub program: OsString,
    /// Its arguments, without the program itself.
    pub args: Vec<OsString>,
    /// Where it runs.
    pub cwd: Cwd,
    /// Its whole environment; nothing of ours is added.
    pub env: Vec<(OsString, OsString)>,
    /// What it reads; nothing means an empty input.
    pub stdin: Option<Vec<u8>>,
    /// Whether its two output streams are kept apart.
    pub streams: Streams,
}

/// Where a process runs.
#[derive(Debug)]
pub enum Cwd {
    /// In an open directory, whatever it is called by now.
    Handle(OwnedFd),
    /// In the directory of that name.
    Path(PathBuf),
}

/// Whether standard output and standard error are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// One stream in the order of writing, in `Finished::stdout`.
    Together,
    /// Two streams; their order towards each other is lost.
    Apart,
}

/// How much a process may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessBounds {
    /// After that time the process tree is ended.
    pub time: Duration,
    /// So much is kept of each stream, half from its beginning and half from its end.
    pub output_bytes_max: usize,
}

/// What came of a process that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessOutcome {
    /// Why it ended.
    pub ending: ProcessEnding,
    /// What it wrote, or all of it with `Streams::Together`.
    pub stdout: HeadTailBuffer,
    /// What it wrote to standard error; empty with `Streams::Together`.
    pub stderr: HeadTailBuffer,
    /// From the start to the end, with the time to end the tree.
    pub duration: Duration,
    /// Processes that were still there when the child had ended by itself, and were killed.
    pub left_behind: usize,
    /// What it did to something protected, and what was done about it: a line each.
    pub violations: Vec<String>,
}

impl ProcessOutcome {
    /// It was stopped before it began.
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

/// Why a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnding {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// Its time was over.
    TimedOut,
    /// It was asked to stop.
    Stopped,
    /// Its processes had more memory together than they may.
    OutOfMemory,
}

/// Why a process could not be run to its end.
#[derive(Debug, Error)]
pub enum Error {
    /// There is no such program.
    #[error("there is no program `{program}`")]
    ProgramNotFound {
        /// The program as it was asked for.
        program: String,
    },
    /// The program is there and cannot be run.
    #[error("`{program}` cannot be run: {reason}")]
    NotExecutable {
        /// The program as it was asked for.
        program: String,
        /// Why not.
        reason: io::Error,
    },
    /// The directory is missing or is no directory.
    #[error("cannot run in `{path}`: {reason}")]
    NoDirectory {
        /// The directory as it was asked for.
        path: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// Arguments and environment are more than the system takes.
    #[error("the arguments and the environment of `{program}` are too long for the system")]
    TooLong {
        /// The program as it was asked for.
        program: String,
    },
    /// The system did not give what is needed to start or watch a process.
    #[error("cannot start `{program}`: {reason}")]
    NotStarted {
        /// The program as it was asked for.
        program: String,
        /// Why not.
        reason: io::Error,
    },
    /// The sandbox could not be built; the program never ran.
    #[error("the sandbox is broken, nothing was run: cannot {step}: {reason}")]
    Sandbox {
        /// What could not be done.
        step: String,
        /// Why not.
        reason: String,
    },
    /// The process was lost sight of, and was killed.
    #[error("cannot watch the process: {0}")]
    Unwatched(io::Error),
    /// The process was killed and is still there.
    #[error("process {0} does not end although it was killed")]
    Unkillable(i32),
}

/// Runs a process to its end, or ends it.
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

/// The same, with somebody who listens to the output.
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

/// Why the waiting is over.
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

    /// Waits for the first end there is; a time out or a stop then ends the whole tree.
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
                // Whoever cannot be killed cannot be waited for either.
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
    // The builder holds our copies of the writing ends; it goes at the end of this function, or
    // the pipes would never end.
    spawned.spawn().map_err(|reason| not_started(command, reason))
}

fn open_cwd(cwd: &Cwd) -> Result<OwnedFd, Error> {
    let no_directory = |path: &PathBuf, reason| Error::NoDirectory { path: path.clone(), reason };
    match cwd {
        Cwd::Handle(handle) => handle
            .try_clone()
            .map_err(|reason| no_directory(&PathBuf::from("an open directory"), reason)),
        Cwd::Path(path) => {
            // Elsewhere a directory must be readable to be entered so.
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
