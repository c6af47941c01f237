//! `agentry tools run`: calls an agent's own tool once, for a person.
//!
//! Must never: exit 0 when the tool did not answer.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use agentry_agentfile::agent::{Agent, ToolKind};
use agentry_agentfile::diagnostic::suggestion;
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::OutcomeStatus;
use agentry_runtime::definitions::agent_choice::choose_agent;
use agentry_runtime::programs::{ToolTrial, try_tool};
use agentry_sandbox::CancelToken;
use clap::Args;
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::AgentDirOptions;
use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::diagnostics::{escaped, visible_line};
use crate::fault::{Blame, Fault};
use crate::trust;

#[derive(Args)]
pub(crate) struct Options {
    /// The name of the tool
    name: String,
    /// The arguments of the call, as JSON
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: String,
    #[command(flatten)]
    whose: AgentDirOptions,
}

pub(super) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let arguments: Value = serde_json::from_str(&options.args).map_err(|error| {
        Fault::new(Blame::Caller, format!("--args is not JSON: {error}"))
            .hint("write the arguments as an object, such as {\"sign\": \"leo\"}")
    })?;
    let ledger = bootstrap::open_ledger(host)?;
    let engine = bootstrap::engine(host, ledger, &options.whose.dir, None)?;
    let agent = choose_agent(&engine.loaded, Path::new("."), options.whose.agent.as_deref())?;
    let tool = own_tool(agent, &options.name)?;
    trust::gate(host, &engine, [agent])?;
    let stop = CancelToken::new();
    stop_on_signal(&stop)?;
    let hear = |line: &str| crate::output::write_stderr_line(&visible_line(line));
    let trial = ToolTrial { agent, tool: &tool, arguments };
    let outcome = try_tool(&engine.parts, &engine.definitions, trial, &hear, &stop);
    let outcome = outcome.map_err(bootstrap::fault)?;
    for denied in &outcome.measured.denied {
        writeln!(crate::output::stderr().lock(), "{}", visible_line(denied))?;
    }
    let text = if io::stdout().is_terminal() { escaped(&outcome.text) } else { outcome.text };
    writeln!(io::stdout().lock(), "{}", text.trim_end_matches('\n'))?;
    Ok(ExitCode::from(match outcome.status {
        OutcomeStatus::Done => 0,
        OutcomeStatus::Failed | OutcomeStatus::Uncertain => 1,
        OutcomeStatus::Refused => 3,
        OutcomeStatus::Stopped => 7,
    }))
}

/// Returns the agent's own tool with this name; fails for tools of the host.
fn own_tool(agent: &Agent, name: &str) -> Result<ToolName, Fault> {
    let tool = ToolName::canonical(name);
    let offered = agent.powers.toolset.iter().find(|one| one.name == tool);
    let left_out = agent.powers.left_out.iter().find(|one| one.name == name);
    let known = agentry_protocol::tool::find_known_tool(name).is_some();
    match (offered.map(|one| &one.kind), left_out) {
        (Some(ToolKind::Custom(_)), _) => Ok(tool),
        (Some(ToolKind::Host | ToolKind::Mcp { .. }), _) => Err(not_own(name)),
        (None, Some(one)) => {
            let what = format!("the agent `{}` does not get `{name}`: {}", agent.id, one.why);
            Err(Fault::new(Blame::Access, what))
        }
        (None, None) if known => Err(not_own(name)),
        (None, None) => {
            let is_own = |kind: &ToolKind| matches!(kind, ToolKind::Custom(_));
            let own = agent.powers.toolset.iter().filter(|one| is_own(&one.kind));
            let own: Vec<&str> = own.map(|one| one.name.as_str()).collect();
            let fault = Fault::new(
                Blame::Caller,
                format!("the agent `{}` has no own tool `{name}`", agent.id),
            );
            Err(if own.is_empty() {
                fault.hint(format!("`agentry tools new {name} --lang sh` creates one"))
            } else {
                fault.hint(suggestion(name, &own))
            })
        }
    }
}

fn not_own(name: &str) -> Fault {
    Fault::new(Blame::Caller, format!("`{name}` is not one of the agent's own tools"))
        .hint("only own tools can be tried; `agentry tools list` shows them")
}

/// Stops the tool and all its processes on Ctrl-C; a second Ctrl-C ends this process.
fn stop_on_signal(stop: &CancelToken) -> Result<(), Fault> {
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Fault::new(Blame::Machine, format!("cannot handle signals: {error}")))?;
    let stop = stop.clone();
    thread::spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(128 + signal);
            }
            stop.stop();
        }
    });
    Ok(())
}
