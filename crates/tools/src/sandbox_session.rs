//! The place where tools run: in a sandbox, without one by the operator's choice, or nowhere.
//!
//! Each command gets its own sandbox. The file tools run in one helper inside the session's
//! sandbox, so that one confinement and one enforcer apply to both.
//!
//! Must never: run in this process a call that needs confinement.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_protocol::call_facts::ResolvedPath;
use agentry_protocol::confinement::{Confinement, Connection};
use agentry_protocol::tool_call::{OutcomeStatus, ToolCall, ToolOutcome};
use agentry_sandbox::{CancelToken, Sandbox, SandboxedService, ServiceError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fetch_rules::FetchRules;
use crate::limits::{FILE_TOOL_MS_MAX, PREVIEW_WAIT_MS_MAX};
use crate::toolset::{ToolContext, ToolLimits, Toolset};
use crate::workspace::Workspace;

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
struct FileToolsStart {
    workspace: PathBuf,
    confinement: Confinement,
}

/// A request to the helper.
#[derive(Serialize, Deserialize)]
enum FileToolsRequest {
    /// Runs a call.
    Run(ToolCall, ToolLimits, Option<ResolvedPath>),
    /// Previews the change of a call.
    Preview(ToolCall, ToolLimits),
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

    pub(crate) fn run(&self, call: &ToolCall, context: &ToolContext<'_>) -> ToolOutcome {
        let question = FileToolsRequest::Run(call.clone(), context.bounds, context.judged.cloned());
        let time = Duration::from_millis(FILE_TOOL_MS_MAX);
        match self.ask(&question, context.stop, time) {
            Ok(outcome) => outcome,
            Err(outcome) => outcome,
        }
    }

    pub(crate) fn preview(&self, call: &ToolCall, context: &ToolContext<'_>) -> Option<String> {
        let question = FileToolsRequest::Preview(call.clone(), context.bounds);
        self.ask(&question, context.stop, Duration::from_millis(PREVIEW_WAIT_MS_MAX)).ok().flatten()
    }

    fn ask<T: for<'de> Deserialize<'de>>(
        &self,
        question: &FileToolsRequest,
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

/// Serves the file tools from inside a sandbox until stdin ends; returns the exit code.
pub fn serve_files(arguments: &Value) -> i32 {
    let Ok(start) = serde_json::from_value::<FileToolsStart>(arguments.clone()) else { return 2 };
    let Ok(workspace) = Workspace::open(&start.workspace) else { return 3 };
    let workspace = workspace.confined_by(start.confinement);
    let tools = Toolset::builtin();
    let (fetch, stop) = (FetchRules::default(), CancelToken::new());
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return 4 };
        let Ok(question) = serde_json::from_str(&line) else { return 5 };
        let context = ToolContext {
            workspace: &workspace,
            stop: &stop,
            bounds: ToolLimits::default(),
            fetch: &fetch,
            env: &[],
            confines: ToolSandbox::Off,
            judged: None,
        };
        let answer = match question {
            FileToolsRequest::Run(call, bounds, judged) => {
                let context = ToolContext { bounds, judged: judged.as_ref(), ..context };
                serde_json::to_string(&tools.run(&call, &context))
            }
            FileToolsRequest::Preview(call, bounds) => {
                serde_json::to_string(&tools.preview(&call, &ToolContext { bounds, ..context }))
            }
        };
        let Ok(mut answer) = answer else { return 6 };
        answer.push('\n');
        if output.write_all(answer.as_bytes()).and_then(|()| output.flush()).is_err() {
            return 7;
        }
    }
    0
}
