//! One call of an agent's own tool that a person makes, run the way a turn would run it.
//!
//! Must never: run what the owner has not looked at, or with arguments that do not fit.

use agentry_agentfile::agent::Agent;
use agentry_kernel::authority::schema_errors;
use agentry_protocol::CallId;
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome};
use agentry_sandbox::CancelToken;
use serde_json::Value;

use super::{ProgramContext, Programs};
use crate::definitions::Definitions;
use crate::error::Error;
use crate::host::Host;
use crate::redact_values;
use crate::trust;

/// What is tried.
pub struct ToolTrial<'a> {
    /// Whose tool.
    pub agent: &'a Agent,
    /// The tool.
    pub tool: &'a ToolName,
    /// Its arguments.
    pub arguments: Value,
}

/// Calls one of an agent's own tools once. `hear` is told each line that it says beside its output.
///
/// # Errors
/// When it may not run, when the arguments do not fit, or when the ledger does not take what happens.
pub fn try_tool(
    host: &Host,
    definitions: &Definitions,
    trial: ToolTrial<'_>,
    hear: &dyn Fn(&str),
    stop: &CancelToken,
) -> Result<ToolOutcome, Error> {
    let ToolTrial { agent, tool, arguments } = trial;
    let programs = Programs::of(definitions, agent)?;
    let own = programs.tools.get(tool.as_str()).ok_or_else(|| {
        Error::Definition(format!("the agent `{}` brings no tool `{tool}`", agent.id))
    })?;
    let wrong = schema_errors(&own.parameters, &arguments, "the arguments");
    if !wrong.is_empty() {
        let why = format!("the arguments do not fit `{tool}`: {}", wrong.join("; "));
        return Err(Error::Definition(why));
    }
    trust::check_one(&host.ledger, definitions, agent)?;
    let (confinement, _) = definitions.confinement(agent)?;
    let ground = ProgramContext {
        host,
        about: &EntrySubject::default(),
        workspace: definitions.workspace.display().to_string(),
        confining: host.enforcer.confining(&confinement, &definitions.workspace),
        env: host.env_for(tool, None),
        stop,
        hear: &|line| hear(&host.redactor.hide(line)),
    };
    let id = CallId::from_number((host.new_number)());
    let call = ToolCall { id, tool: tool.clone(), input: arguments };
    let outcome = programs.call(&ground, own, &call)?;
    Ok(redact_values::outcome(&host.redactor, outcome))
}
