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
use agentry_protocol::{AgentId, ContentHash, JobId, WorkspaceReference};
use agentry_sandbox::CancelToken;
use serde_json::{Map, Value};

use crate::definitions::Definitions;
use crate::error::Error;
use crate::host::Host;
use crate::host::enforcer::ResolvedPlacement;
use crate::host::executor::{
    AgentTree, Assignment, ExecutionContext, FileVariables, HostResolver, JobOutcome, JobProgram,
    TrustedDirectory, VariableReference,
};
use crate::limits::JOB_OUTPUT_BYTES_MAX;

pub(crate) use tool::specs;
pub use trial::{ToolTrial, try_tool};

/// The programs of one agent, as they were read.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The id of the agent.
    pub agent: AgentId,
    /// The agent's directory, without links.
    pub directory: PathBuf,
    /// The files that the programs can load, which the owner must trust.
    pub tree: AgentTree,
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
    pub(crate) workspace: WorkspaceReference,
    pub(crate) placement: ResolvedPlacement,
    pub(crate) variables: Arc<[VariableReference]>,
    pub(crate) stop: &'a CancelToken,
    pub(crate) on_line: &'a dyn Fn(&str),
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
            tree: AgentTree { hash, parts },
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

    /// Runs a program as a job, and returns the id and the outcome of the job.
    fn run(
        &self,
        context: &ProgramContext<'_>,
        call: ProgramCall<'_>,
    ) -> Result<(JobId, JobOutcome), Error> {
        let host = context.host;
        let job = Job {
            id: JobId::from_number((host.new_number)()),
            locks: matches!(call.purpose, JobPurpose::Tool { .. }),
            purpose: call.purpose,
            agent: self.agent.clone(),
            program: call.program.to_owned(),
            hash: call.hash.clone(),
            workspace: context.workspace.clone(),
            timeout_ms: call.timeout_ms,
        };
        let id = job.id.clone();
        let assignment = Assignment {
            job,
            fence: 0,
            program: JobProgram::File { path: call.program.to_owned(), tree: self.tree.clone() },
            args: call.args.to_vec(),
            file_variables: call.file_variables,
            input: call.input,
            variables: context.variables.clone(),
            placement: context.placement.value().clone(),
            output_bytes_max: JOB_OUTPUT_BYTES_MAX,
            artifacts: call.artifacts.map(str::to_owned),
            may_call_back: false,
        };
        let directory = TrustedDirectory { path: &self.directory, hash: &self.tree.hash };
        let execution = ExecutionContext {
            resolver: &HostResolver {
                host,
                placement: &context.placement,
                variables: &context.variables,
                workspace: None,
                directory: Some(directory),
            },
            stop: context.stop,
            on_line: context.on_line,
            callback: None,
        };
        Ok((id, jobs::run(host, context.about, assignment, &execution)?))
    }
}

/// One execution of a program of an agent.
struct ProgramCall<'a> {
    purpose: JobPurpose,
    /// The path of the program in the agent's directory.
    program: &'a str,
    /// The hash of the program.
    hash: &'a ContentHash,
    args: &'a [String],
    file_variables: FileVariables,
    input: Value,
    /// The folder for files that the program leaves; None if it leaves none.
    artifacts: Option<&'a str>,
    timeout_ms: u64,
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
