//! What the supervisor tells the helper, and what it hears from the first process of a sandbox.
//!
//! Must never: hold a secret beside the environment of the program itself; never be written to a file.

use std::ffi::OsString;
use std::path::PathBuf;

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::{ConfinementLevel, ConfinementLimits};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits::TROUBLE_CHARS_MAX;

/// One sandbox, with what runs in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SandboxSpec {
    /// What enforces.
    pub(crate) level: ConfinementLevel,
    /// The authority that the program acts with; a sandbox is never used for another one.
    pub(crate) authority: Option<ContentHash>,
    /// The user and group to run as, when we are root.
    pub(crate) user: Option<u32>,
    /// The files there are.
    pub(crate) view: FilesystemView,
    /// What Landlock lets be read and written.
    pub(crate) fence: LandlockAccess,
    /// Whether sockets with a name in the file system may be made.
    pub(crate) unix_sockets: bool,
    /// Whether there is a proxy to listen for.
    pub(crate) listen: bool,
    /// What may be spent.
    pub(crate) limits: ConfinementLimits,
    /// Whether it stays when its program is over, for another one.
    pub(crate) stays: bool,
    /// What runs.
    pub(crate) program: SandboxedProgram,
}

/// What runs in a sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum SandboxedProgram {
    /// A program of the machine.
    Command {
        /// A path, or a name to be found in the `PATH` of `env`.
        program: OsString,
        /// Its arguments.
        args: Vec<OsString>,
        /// Its whole environment.
        env: Vec<(OsString, OsString)>,
        /// Where it runs.
        cwd: PathBuf,
    },
    /// A part of ourselves.
    Role {
        /// Which.
        name: String,
        /// What it is told.
        arguments: Value,
        /// Where it runs.
        cwd: PathBuf,
    },
}

/// The files that a sandbox has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FilesystemView {
    /// Whether the whole machine is there, read-only, below everything else.
    pub(crate) broad: bool,
    /// Parts of the machine, the outer before the inner.
    pub(crate) binds: Vec<BindMount>,
    /// What is there but cannot be looked into.
    pub(crate) masks: Vec<PathBuf>,
    /// Links: where they stand, and what they say.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// Small files of the machine that are written anew instead of being mounted.
    pub(crate) copies: Vec<PathBuf>,
    /// Files with made-up content.
    pub(crate) files: Vec<(PathBuf, String)>,
    /// How much fits into the temporary directory, in bytes.
    pub(crate) scratch_bytes: u64,
}

/// A part of the machine that a sandbox sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BindMount {
    /// Where it is, without links.
    pub(crate) from: PathBuf,
    /// Where the sandbox sees it.
    pub(crate) to: PathBuf,
    /// What may be done with it.
    pub(crate) kind: BindKind,
    /// Whose it is, if it is lent to the sandbox's own user.
    pub(crate) lend: Option<(u32, u32)>,
    /// Whether it may be missing.
    pub(crate) optional: bool,
}

/// What may be done with a part of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BindKind {
    /// Looked at.
    Read,
    /// Changed.
    Write,
    /// Used as the device it is.
    Device,
}

/// What Landlock lets be read and written, as the sandbox sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandlockAccess {
    /// Read and run.
    pub(crate) read: Vec<PathBuf>,
    /// Changed, too.
    pub(crate) write: Vec<PathBuf>,
}

/// What the helper answers to a spec.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum SpawnReply {
    /// The first process is there; a handle on it comes along.
    Begun,
    /// It is not.
    Failed(SandboxFailure),
}

/// What the first process of a sandbox says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum InitMessage {
    /// Here is the listener for the proxy, and in a sandbox that stays what tells of changed mounts.
    Listening,
    /// The program runs.
    Started,
    /// It does not, and why.
    Failed(SandboxFailure),
    /// The program is over.
    Ended {
        /// How.
        status: ProgramStatus,
        /// How many processes were still there.
        left_behind: usize,
        /// Whether all were ended because they had too much memory together.
        out_of_memory: bool,
    },
    /// All is as it was before the program, and another one may come.
    Ready,
    /// Another one has come, and is about to be started.
    Taken,
}

/// What the first process of a sandbox is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum InitRequest {
    /// Run this as well; its three streams come along.
    Run(SandboxedProgram),
    /// Ask all others to end.
    Terminate,
    /// End all others, and yourself.
    Kill,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ProgramStatus {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

/// A step that did not work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SandboxFailure {
    /// Which.
    pub(crate) step: String,
    /// The system's number for the reason, if it has one.
    pub(crate) errno: Option<i32>,
    /// The reason in words.
    pub(crate) why: String,
}

/// The step that starts the program itself; every step before it is the sandbox's own.
pub(crate) const START: &str = "start the program";
/// The step that goes to the directory the program runs in.
pub(crate) const ENTER: &str = "enter the directory";

impl SandboxFailure {
    /// What an error says.
    pub(crate) fn new(step: impl Into<String>, error: &std::io::Error) -> Self {
        Self { step: step.into(), errno: error.raw_os_error(), why: error.to_string() }
    }

    /// Adds what was said about it, shortened.
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
    /// The result, or what went wrong where.
    fn at_step(self, step: &str) -> Result<T, SandboxFailure>;
}

impl<T, E: Into<std::io::Error>> StepContext<T> for Result<T, E> {
    fn at_step(self, step: &str) -> Result<T, SandboxFailure> {
        self.map_err(|error| SandboxFailure::new(step, &error.into()))
    }
}
