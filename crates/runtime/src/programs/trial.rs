//! One call of an agent's own tool by a person, run in the same way as in a turn.
//!
//! Must never: run an untrusted program, or one with arguments that do not match.

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
use crate::definitions::trust;
use crate::error::Error;
use crate::host::Host;
use crate::host::executor::reference_of;
use crate::redact::redaction;

/// The tool to call.
pub struct ToolTrial<'a> {
    /// The agent with the tool.
    pub agent: &'a Agent,
    /// The name of the tool.
    pub tool: &'a ToolName,
    /// The arguments of the call.
    pub arguments: Value,
}

/// Calls one of an agent's own tools once. Calls `on_line` with each line of standard error.
///
/// # Errors
/// If it is untrusted, the arguments do not match, or the ledger fails to append.
pub fn try_tool(
    host: &Host,
    definitions: &Definitions,
    trial: ToolTrial<'_>,
    on_line: &dyn Fn(&str),
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
    let context = ProgramContext {
        host,
        about: &EntrySubject::default(),
        workspace: reference_of(&definitions.workspace),
        placement: host.enforcer.placement(confinement, &definitions.workspace),
        variables: host.variables_for(tool, None),
        stop,
        on_line: &|line| on_line(&host.redactor.hide(line)),
    };
    let id = CallId::from_number((host.new_number)());
    let call = ToolCall { id, tool: tool.clone(), input: arguments };
    let outcome = programs.call(&context, own, &call)?;
    Ok(redaction::outcome(&host.redactor, outcome))
}
