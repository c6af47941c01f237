//! A process as values: its command and bounds, its outcome, the reasons why it could not be run.
//!
//! Must never: start a process, or know in which way it is confined.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;
use thiserror::Error;

use crate::head_tail::HeadTailBuffer;
use crate::limits::SERVED_TIMEOUT_MS;

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

/// A long-lived program to start. Its input and its outputs are pipes that the caller gets.
#[derive(Debug)]
pub struct ChildCommand {
    /// A path, or a name to be found in the `PATH` of `env`.
    pub program: OsString,
    /// Its arguments, without the program itself.
    pub args: Vec<OsString>,
    /// The working directory.
    pub cwd: Cwd,
    /// The whole environment; nothing of ours is added.
    pub env: Vec<(OsString, OsString)>,
}

impl ChildCommand {
    /// Returns the command without its streams, which are connected in another way.
    pub(crate) fn without_streams(self) -> Command {
        let Self { program, args, cwd, env } = self;
        Command { program, args, cwd, env, stdin: None, streams: Streams::Apart }
    }
}

/// The limits of one long-lived program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildBounds {
    /// The time after which the process tree is ended; None means no limit.
    pub time: Option<Duration>,
    /// The time that the tree has to end on request before it is killed.
    pub grace: Duration,
}

impl ChildBounds {
    /// Returns the time that the limit of processor time is reckoned from, in milliseconds.
    pub(crate) fn processor_time_ms(&self) -> u64 {
        let time_ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.time.map_or(SERVED_TIMEOUT_MS, time_ms)
    }
}

/// The result of a long-lived program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildOutcome {
    /// The cause of its end.
    pub ending: ProcessEnding,
    /// From the start to the end, including the time to end the tree.
    pub duration: Duration,
    /// Processes that were still running when the program had ended by itself, and were killed.
    pub left_behind: usize,
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

/// The cause that ended the wait for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCause {
    /// It has ended.
    ByItself,
    /// The time is over.
    TimedOut,
    /// The caller asked for the end.
    Stopped,
    /// A mount of its sandbox is gone, so that it may see or change more than it should.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has mounts"))]
    Unmounted,
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

/// Returns the error of a program that the system did not start.
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
