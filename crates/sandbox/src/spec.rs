//! The messages between supervisor, helper and the init process of a sandbox.
//!
//! Must never: hold a secret beside the environment of the program itself, or be written to a file.

use std::ffi::OsString;
use std::path::PathBuf;

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::{ConfinementLevel, ConfinementLimits};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits::TROUBLE_CHARS_MAX;

/// One sandbox and the program that runs in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SandboxSpec {
    /// The enforcing level.
    pub(crate) level: ConfinementLevel,
    /// The hash of the program's authority; a sandbox is never reused for another authority.
    pub(crate) authority: Option<ContentHash>,
    /// The user and group to run as; used only if this process is root.
    pub(crate) user: Option<u32>,
    /// The visible files.
    pub(crate) view: FilesystemView,
    /// The paths that Landlock allows to read and write.
    pub(crate) fence: LandlockAccess,
    /// True if the program may create sockets with a path in the file system.
    pub(crate) unix_sockets: bool,
    /// True if the init process opens a listener for the proxy.
    pub(crate) listen: bool,
    /// The resource limits.
    pub(crate) limits: ConfinementLimits,
    /// True if the init process hands out a descriptor that reports mounts which are gone.
    pub(crate) reports_mounts: bool,
    /// True if the sandbox stays after its program has ended and waits for another program.
    pub(crate) stays: bool,
    /// The program.
    pub(crate) program: SandboxedProgram,
}

/// The program of a sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum SandboxedProgram {
    /// An executable of this machine.
    Command {
        /// A path, or a name to be found in the `PATH` of `env`.
        program: OsString,
        /// The arguments, without the program.
        args: Vec<OsString>,
        /// The whole environment.
        env: Vec<(OsString, OsString)>,
        /// The working directory, as the sandbox sees it.
        cwd: PathBuf,
    },
    /// A role of this binary.
    Role {
        /// The name of the role.
        name: String,
        /// The arguments of the role.
        arguments: Value,
        /// The working directory, as the sandbox sees it.
        cwd: PathBuf,
    },
}

/// The files that a sandbox sees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FilesystemView {
    /// True if the whole machine is mounted read-only below everything else.
    pub(crate) broad: bool,
    /// Mounted parts of the machine, the outer before the inner.
    pub(crate) binds: Vec<BindMount>,
    /// Paths that exist but cannot be opened or listed.
    pub(crate) masks: Vec<PathBuf>,
    /// Symbolic links: their path and their target.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// Small files of the machine that are copied instead of mounted.
    pub(crate) copies: Vec<PathBuf>,
    /// Files with generated content: path and text.
    pub(crate) files: Vec<(PathBuf, String)>,
    /// The capacity of the temporary directory, in bytes.
    pub(crate) scratch_bytes: u64,
}

/// A mounted part of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BindMount {
    /// The path on the machine, without links.
    pub(crate) from: PathBuf,
    /// The path inside the sandbox.
    pub(crate) to: PathBuf,
    /// The access to it.
    pub(crate) kind: BindKind,
    /// The owner on the machine, if it is mapped to the sandbox's own user.
    pub(crate) lend: Option<FileOwner>,
    /// True if a missing path is skipped without an error.
    pub(crate) optional: bool,
}

/// The owner of a file, by the numbers of its user and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct FileOwner {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// The access to a mounted part of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BindKind {
    /// Read-only.
    Read,
    /// Read and write.
    Write,
    /// A device file that works as a device.
    Device,
}

/// The paths that Landlock allows, as the sandbox sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandlockAccess {
    /// May be read and executed.
    pub(crate) read: Vec<PathBuf>,
    /// May be changed as well.
    pub(crate) write: Vec<PathBuf>,
}

/// The helper's answer to a `SandboxSpec`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum SpawnReply {
    /// The init process was started; its process handle comes along.
    Begun,
    /// The init process could not be started.
    Failed(SandboxFailure),
}

/// A message from the init process of a sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum InitMessage {
    /// Carries the proxy's listener and, if the sandbox stays, a descriptor that reports mounts.
    Listening,
    /// The program runs.
    Started,
    /// A step failed and the program does not run.
    Failed(SandboxFailure),
    /// The program ended.
    Ended {
        /// Its exit code or signal.
        status: ProgramStatus,
        /// The number of processes that were still running.
        left_behind: usize,
        /// True if all processes were ended because they exceeded their memory limit together.
        out_of_memory: bool,
    },
    /// The sandbox is reset to its state before the program and can run another one.
    Ready,
    /// A further program was received and is about to start.
    Taken,
}

/// A request to the init process of a sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum InitRequest {
    /// Runs a further program; its three streams come along.
    Run(SandboxedProgram),
    /// Asks all other processes to end.
    Terminate,
    /// Kills all other processes, then ends the init process.
    Kill,
}

/// The exit status of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ProgramStatus {
    /// The exit code.
    Exited(i32),
    /// The number of the signal.
    Signalled(i32),
}

/// A step of building or using a sandbox that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SandboxFailure {
    /// The step, as a verb phrase that completes "cannot …".
    pub(crate) step: String,
    /// The system's error number, if the cause has one.
    pub(crate) errno: Option<i32>,
    /// The cause in words.
    pub(crate) why: String,
}

/// The step that starts the program itself; every step before it is the sandbox's own.
pub(crate) const START: &str = "start the program";
/// The step that enters the working directory of the program.
pub(crate) const ENTER: &str = "enter the directory";

impl SandboxFailure {
    /// Takes number and text from an I/O error.
    pub(crate) fn new(step: impl Into<String>, error: &std::io::Error) -> Self {
        Self { step: step.into(), errno: error.raw_os_error(), why: error.to_string() }
    }

    /// Appends diagnostic output to the cause, shortened to `TROUBLE_CHARS_MAX`.
    pub(crate) fn add(&mut self, said: &[u8]) {
        let said = String::from_utf8_lossy(said);
        let said: String = said.trim().chars().take(TROUBLE_CHARS_MAX).collect();
        if !said.is_empty() {
            self.why = format!("{} ({said})", self.why);
        }
    }
}

/// Names the step that an error belongs to.
pub(crate) trait StepContext<T> {
    /// Converts an error to a `SandboxFailure` of the step.
    fn at_step(self, step: &str) -> Result<T, SandboxFailure>;
}

impl<T, E: Into<std::io::Error>> StepContext<T> for Result<T, E> {
    fn at_step(self, step: &str) -> Result<T, SandboxFailure> {
        self.map_err(|error| SandboxFailure::new(step, &error.into()))
    }
}
