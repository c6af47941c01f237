//! The place where tools run: in a sandbox, without one by the operator's choice, or nowhere.
//!
//! Each command gets its own sandbox. The file tools run in one helper inside the session's
//! sandbox, so that one confinement and one enforcer apply to both. Its requests: `file_tools`.
//!
//! Must never: run in this process a call that needs confinement.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_protocol::confinement::{Confinement, Connection};
use agentry_protocol::tool_call::{OutcomeStatus, ToolOutcome};
use agentry_sandbox::{CancelToken, Sandbox, SandboxedService, ServiceError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The name of the helper that serves the file tools.
pub const FILE_TOOLS: &str = "file-tools";

/// The place where tools run.
#[derive(Clone, Copy)]
pub enum ToolSandbox<'a> {
    /// In a sandbox.
    In(&'a SandboxSession),
    /// In this process: it is already in a sandbox, or the operator wants none.
    Off,
    /// Nowhere: there is no sandbox, for this reason.
    Missing(&'a str),
}

/// A sandbox with the confinements of one session.
pub struct SandboxSession {
    sandbox: Arc<Sandbox>,
    /// The confinement of commands.
    confinement: Confinement,
    /// The confinement of the file tools, which need no home.
    without_home: Confinement,
    workspace: PathBuf,
    connected: Arc<dyn Fn(Connection) + Send + Sync>,
    files: Arc<Mutex<Option<SandboxedService>>>,
}

/// The arguments with which the helper starts.
#[derive(Serialize, Deserialize)]
pub(crate) struct FileToolsStart {
    pub(crate) workspace: PathBuf,
    pub(crate) confinement: Confinement,
}

impl SandboxSession {
    /// Creates a session for a workspace.
    pub fn new(sandbox: Arc<Sandbox>, confinement: Confinement, workspace: PathBuf) -> Self {
        let connected = Arc::new(drop);
        let without_home = Confinement { home: None, ..confinement.clone() };
        Self { sandbox, confinement, without_home, workspace, connected, files: Arc::default() }
    }

    /// Returns a session that reports connections to `connected`; the helper is shared.
    #[must_use]
    pub fn telling(&self, connected: Arc<dyn Fn(Connection) + Send + Sync>) -> Self {
        Self {
            sandbox: self.sandbox.clone(),
            confinement: self.confinement.clone(),
            without_home: self.without_home.clone(),
            workspace: self.workspace.clone(),
            connected,
            files: self.files.clone(),
        }
    }

    /// Returns a session with a home for commands; the helper is shared.
    #[must_use]
    pub fn with_home(&self, home: String) -> Self {
        let confinement = Confinement { home: Some(home), ..self.confinement.clone() };
        Self { confinement, ..self.telling(self.connected.clone()) }
    }

    /// Returns the confinement of commands.
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// Returns the sandbox.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Returns the receiver of connection reports.
    pub fn connected(&self) -> Arc<dyn Fn(Connection) + Send + Sync> {
        self.connected.clone()
    }

    /// Returns the helper's answer to a question; starts the helper if it is not there.
    pub(crate) fn ask<T: DeserializeOwned>(
        &self,
        question: &impl Serialize,
        stop: &CancelToken,
        time: Duration,
    ) -> Result<T, ToolOutcome> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let mut served = match files.take().filter(SandboxedService::is_alive) {
            Some(served) => served,
            None => self.start()?,
        };
        let question = serde_json::to_string(question).expect("a call is plain JSON");
        // A helper that does not answer is dropped; the next call starts a new one.
        let answer = served.ask(&question, stop, time).map_err(|error| match error {
            ServiceError::Stopped => ToolOutcome::new(OutcomeStatus::Stopped, "Stopped."),
            ServiceError::TimedOut(_) | ServiceError::Gone(_) => ToolOutcome::new(
                OutcomeStatus::Uncertain,
                format!("Nobody knows whether it was done: {error}."),
            ),
        })?;
        *files = Some(served);
        serde_json::from_str(&answer)
            .map_err(|error| ToolOutcome::failed(format!("The answer makes no sense: {error}.")))
    }

    fn start(&self) -> Result<SandboxedService, ToolOutcome> {
        let start = FileToolsStart {
            workspace: self.workspace.clone(),
            confinement: self.without_home.clone(),
        };
        let start = serde_json::to_value(start).expect("a confinement is plain JSON");
        self.sandbox
            .serve(FILE_TOOLS, start, &self.without_home)
            .map_err(|error| ToolOutcome::refused(format!("Nothing was done: {error}.")))
    }
}

/// Returns the outcome of a call that has no sandbox: it is refused.
pub(crate) fn no_sandbox(why: &str) -> ToolOutcome {
    ToolOutcome::refused(format!(
        "Nothing was done: {why}. `agentry doctor` says what is missing and how to get it."
    ))
}
