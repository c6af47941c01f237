//! A source of tools: the tools that it offers in a scope, and their calls.
//!
//! Must never: know a particular source, or decide if a call is allowed.

use agentry_agentfile::agent::Agent;
use agentry_agentfile::skill::Skill;
use agentry_agentfile::task::Task;
use agentry_protocol::AgentId;
use agentry_protocol::access::Credentials;
use agentry_protocol::call_facts::ResolvedPath;
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome, ToolSpec};
use agentry_sandbox::CancelToken;
use agentry_tools::{ShellCallInput, ToolLimits, Workspace};

use crate::definitions::Definitions;
use crate::error::Error;
use crate::host::Host;
use crate::host::enforcer::ResolvedPlacement;

/// A provider of tools. It offers specifications for a scope, and runs the calls of its tools.
///
/// The kernel has decided on a call before the source gets it. A source keeps no state of a turn:
/// the context of a call carries it.
pub trait ToolSource: Send + Sync {
    /// Returns the names of its tools that are the same in every scope. No definition and no other
    /// source can take them.
    fn names(&self) -> Vec<ToolName>;

    /// Returns the specifications of its tools in a scope, in the order of the offer.
    ///
    /// # Errors
    /// If the ledger or the definitions cannot be read; then the turn does not begin.
    fn specs(&self, scope: &ToolScope<'_>) -> Result<Vec<ToolSpec>, Error>;

    /// Returns the condition under which an agent is offered its tools.
    fn grant(&self) -> ToolGrant {
        ToolGrant::Listed
    }

    /// Runs a call of one of its tools. A call whose token is cancelled ends soon.
    ///
    /// # Errors
    /// If the ledger fails, which ends the run. The failure of a tool is an outcome.
    fn call(&self, call: &ToolCall, context: &CallContext<'_>) -> Result<ToolOutcome, Error>;

    /// Returns the change that a call would make, without making it; None if there is no preview.
    fn preview(&self, _call: &ToolCall, _context: &CallContext<'_>) -> Option<String> {
        None
    }

    /// Returns the shell command that a call runs. Approvals are bound to the files that it
    /// executes, and its failed outcome lists the paths that the sandbox refused. None if the tool
    /// is not a shell.
    fn shell_input<'a>(&self, _call: &'a ToolCall) -> Option<ShellCallInput<'a>> {
        None
    }
}

/// The condition under which an agent is offered the tools of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolGrant {
    /// The agent's list of tools names them, and its approval rules apply.
    Listed,
    /// Nothing: they serve the agent's own text, in every scope and without approval.
    Inherent,
}

/// The agent, and perhaps the step of a task, for which tools are offered.
#[derive(Clone, Copy)]
pub struct ToolScope<'a> {
    /// The definitions with the agent.
    pub definitions: &'a Definitions,
    /// The agent.
    pub agent: &'a Agent,
    /// The task and the number of its step, counted from zero; None outside of a task.
    pub step: Option<(&'a Task, usize)>,
}

impl<'a> ToolScope<'a> {
    /// Returns the agent's skills, or only those that the step names.
    pub fn skills(&self) -> Vec<&'a Skill> {
        let (library, agent) = (&self.definitions.library, self.agent);
        let own = agent.skills.iter().map(|skill| skill.value.as_str());
        let own = own.filter_map(|id| library.skill(agent, id));
        let choice = self.step.and_then(|(task, at)| Some(&task.steps.get(at)?.scope.skills));
        match choice {
            Some(choice) if !choice.inherit => own
                .filter(|skill| choice.names.iter().any(|name| name.value == skill.id.as_str()))
                .collect(),
            Some(choice) => {
                let mut all: Vec<&Skill> = own.collect();
                let named = choice.names.iter().map(|name| name.value.as_str());
                let named = named.filter_map(|id| library.skill(agent, id));
                let new: Vec<&Skill> =
                    named.filter(|skill| all.iter().all(|one| one.id != skill.id)).collect();
                all.extend(new);
                all
            }
            None => own.collect(),
        }
    }
}

/// The services and permissions of one call.
pub struct CallContext<'a> {
    /// The shared services.
    pub host: &'a Host,
    /// The scope of the turn; None for a command of a person, or if the agent is gone.
    pub scope: Option<ToolScope<'a>>,
    /// The session, the run and the turn of the call.
    pub about: &'a EntrySubject,
    /// The files within reach.
    pub workspace: &'a Workspace,
    /// The agent that makes the call, or for which a person makes it.
    pub agent: &'a AgentId,
    /// The placement of the processes that the call starts.
    pub(crate) placement: &'a ResolvedPlacement,
    /// The credentials that the call may use; None allows all.
    pub credentials: Option<&'a Credentials>,
    /// The limits of the call.
    pub limits: ToolLimits,
    /// True if a person approved the host that the call reaches.
    pub any_host: bool,
    /// The path that the rules judged; the call may use no other. None if there is none.
    pub judged: Option<&'a ResolvedPath>,
    /// Cancelled when the call must end.
    pub stop: &'a CancelToken,
    /// Receives lines about the progress of the call.
    pub progress: &'a dyn Fn(&str),
}
