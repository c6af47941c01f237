//! The trait that each system implements to confine processes, and what its callers hand in.
//!
//! Must never: know a system.

use std::path::PathBuf;
use std::sync::Arc;

use agentry_protocol::confinement::{Attestation, Confinement, ConfinementLevel, Connection};
use serde_json::Value;

use crate::cancel::CancelToken;
use crate::egress::Resolver;
use crate::process::{ChildBounds, ChildCommand, Command, Error, ProcessBounds, ProcessOutcome};
use crate::sandboxed_child::SandboxedChild;
use crate::service::SandboxedService;
use crate::stdio_pump::OutputCallback;

/// The dependencies of a sandbox.
#[derive(Clone)]
pub struct SandboxSetup {
    /// The binary that becomes the helper when it is started with the helper's command.
    pub binary: PathBuf,
    /// The directories of the user's own programs, in the format of `PATH`.
    pub path: String,
    /// The directory for files that a call created without permission.
    pub quarantine: PathBuf,
    /// Resolves host names to addresses.
    pub resolve: Resolver,
}

/// A confined command to run.
pub struct SandboxJob<'a> {
    /// The program. Its environment is added to the sandbox's own and wins.
    pub command: &'a Command,
    /// The permissions of the program.
    pub confinement: &'a Confinement,
    /// The limits of time and output.
    pub bounds: &'a ProcessBounds,
    /// Called with each connection when it ends.
    pub connected: Arc<dyn Fn(Connection) + Send + Sync>,
    /// Called with output as it arrives.
    pub hear: Option<OutputCallback<'a>>,
}

/// A confined, long-lived program to start.
pub struct SpawnJob {
    /// The program. Its environment is added to the sandbox's own and wins.
    pub command: ChildCommand,
    /// The permissions of the program.
    pub confinement: Confinement,
    /// The limit of time, and the grace at the end.
    pub bounds: ChildBounds,
    /// Called with each connection when it ends.
    pub connected: Arc<dyn Fn(Connection) + Send + Sync>,
    /// Called with a line for each change to a protected file, when it was found and undone, and
    /// with the reason if the program is ended because it would not be confined as it should.
    pub violated: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The operations that a system must offer to confine processes.
pub(crate) trait Backend: Sized {
    /// Opens one level and tries its escapes.
    fn open_level(
        setup: &SandboxSetup,
        level: ConfinementLevel,
    ) -> Result<(Self, Attestation), String>;

    /// Returns the enforcing level.
    fn level(&self) -> ConfinementLevel;

    /// Runs a command to its end, or ends it.
    fn run(&self, job: &SandboxJob<'_>, stop: &CancelToken) -> Result<ProcessOutcome, Error>;

    /// Starts a long-lived program in a sandbox of its own.
    fn spawn(self: &Arc<Self>, job: SpawnJob, stop: &CancelToken) -> Result<SandboxedChild, Error>;

    /// Starts a role of this binary in a sandbox of its own.
    fn serve(
        &self,
        role: &str,
        arguments: Value,
        confinement: &Confinement,
    ) -> Result<SandboxedService, Error>;

    /// Returns the user that must own files of a process; None if files keep the owner they have.
    fn owner_of_files(&self, _confinement: &Confinement) -> Option<u32> {
        None
    }
}
