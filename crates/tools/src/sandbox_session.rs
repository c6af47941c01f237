//! Where tools do their work: in a sandbox, without one because the operator said so, or not at all.
//!
//! Commands get a sandbox each. The file tools run in one helper that lives in the session's sandbox, so that
//! there is one confinement and one enforcer for both.
//!
//! Must never: do in this process what should be confined.

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

use crate::fetch::FetchRules;
use crate::limits::{FILE_TOOL_MS_MAX, PREVIEW_WAIT_MS_MAX};
use crate::toolset::{ToolContext, ToolLimits, Toolset};
use crate::workspace::Workspace;

/// The name of the helper that serves the file tools.
pub const FILE_TOOLS: &str = "file-tools";

/// Where tools do their work.
#[derive(Clone, Copy)]
pub enum ToolSandbox<'a> {
    /// In a sandbox.
    In(&'a SandboxSession),
    /// In this process: there is a sandbox around it already, or the operator wants none.
    Off,
    /// Nowhere: there is no sandbox, and this is why.
    Missing(&'a str),
}

/// A sandbox with what may be done in it, for one session.
pub struct SandboxSession {
    sandbox: Arc<Sandbox>,
    /// For commands.
    confinement: Confinement,
    /// For the file tools: they need no home.
    without_home: Confinement,
    workspace: PathBuf,
    connected: Arc<dyn Fn(Connection) + Send + Sync>,
    files: Arc<Mutex<Option<SandboxedService>>>,
}

/// What the helper is told when it starts.
#[derive(Serialize, Deserialize)]
struct FileToolsStart {
    workspace: PathBuf,
    confinement: Confinement,
}

/// What the helper is asked.
#[derive(Serialize, Deserialize)]
enum FileToolsRequest {
    /// Run a call.
    Run(ToolCall, ToolLimits, Option<ResolvedPath>),
    /// Show what a call would change.
    Preview(ToolCall, ToolLimits),
}

impl SandboxSession {
    /// For a workspace.
    pub fn new(sandbox: Arc<Sandbox>, confinement: Confinement, workspace: PathBuf) -> Self {
        let connected = Arc::new(drop);
        let without_home = Confinement { home: None, ..confinement.clone() };
        Self { sandbox, confinement, without_home, workspace, connected, files: Arc::default() }
    }

    /// The same, telling of connections; the helper stays the same one.
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

    /// The same with a home for commands; the helper stays the same one.
    #[must_use]
    pub fn with_home(&self, home: String) -> Self {
        let confinement = Confinement { home: Some(home), ..self.confinement.clone() };
        Self { confinement, ..self.telling(self.connected.clone()) }
    }

    /// What may be done.
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// The sandbox itself.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Who is told of connections.
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
        // One that did not answer is not asked again; it goes, and the next call gets a new one.
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

/// Serves the file tools from inside of a sandbox, until nobody asks any more.
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
