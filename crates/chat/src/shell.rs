//! `!command`: a shell command of the user, in the same sandbox as the agent's commands.
//!
//! Must never: run with less confinement than the agent's commands, or keep the value of a secret.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use agentry_frontend::bootstrap::{self, ProjectRuntime};
use agentry_protocol::AgentId;
use agentry_protocol::tool_call::ToolOutcome;
use agentry_runtime::definitions::plan::CallScope;
use agentry_sandbox::CancelToken;
use agentry_tools::Workspace;

use super::events::{ChatEvent, send_if_open};
use super::shell_run::{ShellRequest, ShellRun};

/// Runs a command in its own thread. Returns the token that stops it.
pub(crate) fn run(
    engine: &Arc<ProjectRuntime>,
    agent: &AgentId,
    request: ShellRequest,
    wake: &Sender<ChatEvent>,
) -> CancelToken {
    let stop = CancelToken::new();
    let (engine, agent, wake, asked) = (engine.clone(), agent.clone(), wake.clone(), stop.clone());
    thread::spawn(move || {
        let outcome = outcome(&engine, &agent, &request.command, &asked);
        send_if_open(&wake, ChatEvent::Shell(Box::new(ShellRun { request, outcome })));
    });
    stop
}

fn outcome(
    engine: &ProjectRuntime,
    agent: &AgentId,
    command: &str,
    stop: &CancelToken,
) -> ToolOutcome {
    let confinement = engine.definitions.agent(agent);
    let confinement = confinement.and_then(|agent| engine.definitions.confinement(agent));
    let scope = match confinement {
        Ok((confinement, _)) => CallScope { agent: agent.clone(), confinement },
        Err(error) => return ToolOutcome::failed(bootstrap::fault(error).plain()),
    };
    match Workspace::open(&engine.definitions.workspace) {
        Ok(workspace) => engine
            .parts
            .shell(command, &scope, &workspace, stop)
            .unwrap_or_else(|error| ToolOutcome::failed(bootstrap::fault(error).plain())),
        Err(error) => ToolOutcome::failed(format!("cannot open the workspace: {error}")),
    }
}
