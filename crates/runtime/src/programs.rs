//! The programs of an agent: its tools and its hooks, each run as a job.
//!
//! Must never: run a program except as a job.

mod hook;
pub(crate) mod input;
pub mod jobs;
mod tool;
mod trial;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use agentry_agentfile::agent::{Agent, CustomTool, HookSwitch, ToolKind};
use agentry_agentfile::trust::TrustManifest;
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::hook::{HookMoment, HookSpec};
use agentry_protocol::job::{Job, JobPurpose};
use agentry_protocol::{AgentId, ContentHash, JobId};
use agentry_sandbox::CancelToken;
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::definitions::Definitions;
use crate::error::Error;
use crate::host::Host;
use crate::host::enforcer::TurnSandbox;
use crate::host::executor::{Assignment, FileVariables, JobProgram, TrustRequirement};

pub(crate) use tool::specs;
pub use trial::{ToolTrial, try_tool};

/// The programs of one agent, as they were read.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The id of the agent.
    pub agent: AgentId,
    /// The agent's directory, without links.
    pub directory: PathBuf,
    /// The trust that the programs need.
    pub looked: TrustRequirement,
    /// The agent's own tools, by name.
    pub tools: BTreeMap<String, AgentTool>,
    /// The enabled hooks, in the order of their declaration.
    pub hooks: Vec<HookSpec>,
    /// The fixed arguments that all programs of the agent receive.
    pub args: Map<String, Value>,
    /// The active persona of the agent; None if unknown.
    pub persona: Option<String>,
}

/// A tool of an agent.
#[derive(Clone, Debug)]
pub struct AgentTool {
    /// The definition of the tool.
    pub custom: CustomTool,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// The services and limits under which a program runs.
pub(crate) struct ProgramContext<'a> {
    pub(crate) host: &'a Host,
    pub(crate) about: &'a EntrySubject,
    pub(crate) workspace: String,
    pub(crate) confining: TurnSandbox,
    pub(crate) env: Vec<(String, SecretString)>,
    pub(crate) stop: &'a CancelToken,
    pub(crate) hear: &'a dyn Fn(&str),
}

impl Programs {
    /// Collects the programs of an agent.
    ///
    /// # Errors
    /// If the trust that they need cannot be determined.
    pub fn of(definitions: &Definitions, agent: &Agent) -> Result<Self, Error> {
        let directory = definitions.directory(agent);
        let tools = agent.powers.toolset.iter().filter_map(|tool| match &tool.kind {
            ToolKind::Custom(custom) => {
                let parameters = tool.parameters.clone().unwrap_or_default();
                let own = AgentTool { custom: (**custom).clone(), parameters };
                Some((tool.name.as_str().to_owned(), own))
            }
            ToolKind::Host | ToolKind::Mcp { .. } => None,
        });
        let (tools, hooks) = (tools.collect(), hooks(agent).cloned().collect());
        let TrustManifest { parts, hash, .. } = definitions.manifest(agent)?.clone();
        let args = agent.values.args.iter();
        Ok(Self {
            agent: agent.id.clone(),
            looked: TrustRequirement { directory: directory.display().to_string(), parts, hash },
            directory,
            tools,
            hooks,
            args: args.map(|(name, value)| (name.clone(), value.value.clone())).collect(),
            persona: None,
        })
    }

    /// Returns the hooks of a moment, in the order of their declaration.
    pub(crate) fn hooks_at(&self, moment: HookMoment) -> impl Iterator<Item = &HookSpec> {
        self.hooks.iter().filter(move |hook| hook.moment == moment)
    }

    /// Builds the assignment for one execution of a program.
    fn assignment(
        &self,
        ground: &ProgramContext<'_>,
        (purpose, program, hash): (JobPurpose, &str, &ContentHash),
        (names, input): (FileVariables, Value),
        timeout_ms: u64,
    ) -> Assignment {
        let locks = matches!(purpose, JobPurpose::Tool { .. });
        let job = Job {
            id: JobId::from_number((ground.host.new_number)()),
            purpose,
            agent: self.agent.clone(),
            program: program.to_owned(),
            hash: hash.clone(),
            workspace: ground.workspace.clone(),
            locks,
            timeout_ms,
        };
        Assignment {
            job,
            program: JobProgram::File(program.to_owned()),
            args: Vec::new(),
            names,
            input,
            env: ground.env.clone(),
            agent_directory: Some(self.directory.clone()),
            looked: Some(self.looked.clone()),
            confining: ground.confining.clone(),
            artifacts: None,
            callback: None,
        }
    }
}

/// Returns the enabled hooks of an agent, in the order of their declaration.
pub(crate) fn hooks(agent: &Agent) -> impl Iterator<Item = &HookSpec> {
    agent.powers.hooks.iter().filter_map(|hook| match &hook.switch {
        HookSwitch::On(spec) => Some(spec),
        HookSwitch::Off => None,
    })
}

/// The programs, shared by the threads of a turn.
pub(crate) type SharedPrograms = Arc<Programs>;
