//! The programs that an agent brings: its tools and its hooks, each run as a job.
//!
//! Must never: run one otherwise than as a job.

mod hook;
pub(crate) mod input;
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
use crate::enforcer::TurnSandbox;
use crate::error::Error;
use crate::executor::{Assignment, FileVariables, JobProgram, TrustRequirement};
use crate::host::Host;

pub use tool::specs;
pub use trial::{ToolTrial, try_tool};

/// The programs of one agent, as they were read.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Whose they are.
    pub agent: AgentId,
    /// Where they lie.
    pub directory: PathBuf,
    /// What the owner must have looked at.
    pub looked: TrustRequirement,
    /// The tools by name.
    pub tools: BTreeMap<String, AgentTool>,
    /// The hooks that are on, in the order they are declared in.
    pub hooks: Vec<HookSpec>,
    /// What the agent's programs are told each time.
    pub args: Map<String, Value>,
    /// The persona that the agent wears, where that is known.
    pub persona: Option<String>,
}

/// A tool that an agent brings.
#[derive(Clone, Debug)]
pub struct AgentTool {
    /// The tool.
    pub custom: CustomTool,
    /// The schema of its arguments.
    pub parameters: Value,
}

/// Where and how a program runs.
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
    /// The programs of an agent.
    ///
    /// # Errors
    /// When it cannot be said what the owner would have to look at.
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

    /// The hooks of a moment, in the order they are declared in.
    pub(crate) fn hooks_at(&self, moment: HookMoment) -> impl Iterator<Item = &HookSpec> {
        self.hooks.iter().filter(move |hook| hook.moment == moment)
    }

    /// One running of one of them.
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

/// The hooks of an agent that are on, in the order they are declared in.
pub(crate) fn hooks(agent: &Agent) -> impl Iterator<Item = &HookSpec> {
    agent.powers.hooks.iter().filter_map(|hook| match &hook.switch {
        HookSwitch::On(spec) => Some(spec),
        HookSwitch::Off => None,
    })
}

/// Shared by the threads of a turn.
pub(crate) type SharedPrograms = Arc<Programs>;
