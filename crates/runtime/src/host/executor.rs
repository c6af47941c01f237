//! Executors: they run the programs of agents, which are hooks and custom tools, and tool calls.
//!
//! All share one trait. The local executor uses this machine's sandbox; another may use a remote
//! machine. Each gets the same values, and a job runs under a lease (`jobs`).
//!
//! Must never: decide whether a program or call may run, or write to the ledger.

mod assignment;
mod callback;
mod host_resolver;
mod job_run;
mod local;
mod program_copy;
mod registry;
mod slot;
#[cfg(test)]
pub(crate) mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentry_kernel::executor_choice::ExecutorFacts;
use agentry_protocol::tool_call::ToolOutcome;
use agentry_protocol::{ContentHash, WorkspaceReference};
use agentry_sandbox::CancelToken;
use agentry_tools::{FetchRules, Workspace};
use secrecy::SecretString;

pub use crate::host::enforcer::{Placement, TurnSandbox};
pub use assignment::{
    AgentTree, Artifact, Assignment, Base64Bytes, FetchScope, FileVariables, JobOutcome, JobOutput,
    JobProgram, ToolAssignment, VariableReference,
};
pub use callback::Callback;
pub(crate) use host_resolver::{HostResolver, TrustedDirectory, reference_of};
pub use local::LocalExecutor;
pub use registry::Executors;

/// Runs jobs and tool calls; shared by the threads of all runs.
pub trait Executor: Send + Sync {
    /// Returns the executor's name, which each lease records, and its capabilities.
    fn facts(&self) -> &ExecutorFacts;

    /// Runs a job until it ends or is stopped.
    fn run_job(&self, assignment: &Assignment, context: &ExecutionContext<'_>) -> JobOutcome;

    /// Runs a tool call until it ends or is stopped.
    fn run_tool(
        &self,
        assignment: &ToolAssignment<'_>,
        context: &ExecutionContext<'_>,
    ) -> ToolOutcome;

    /// Returns the change that a tool call would make; None if there is no preview.
    fn preview_tool(
        &self,
        assignment: &ToolAssignment<'_>,
        context: &ExecutionContext<'_>,
    ) -> Option<String>;
}

/// The live services for one assignment, beside its value.
pub struct ExecutionContext<'a> {
    /// Resolves the references of the assignment.
    pub resolver: &'a dyn AssignmentResolver,
    /// Cancelled when the work must end.
    pub stop: &'a CancelToken,
    /// Receives each line of a program's standard error.
    pub on_line: &'a dyn Fn(&str),
    /// Answers the questions of a program that may ask some.
    pub callback: Option<&'a Arc<dyn Callback>>,
}

/// Resolves the references of an assignment; an error is a reason for a person.
pub trait AssignmentResolver {
    /// Returns the sandbox of a placement.
    fn sandbox(&self, placement: &Placement) -> TurnSandbox;

    /// Returns the directory of a workspace.
    fn workspace_directory(&self, reference: &WorkspaceReference) -> Result<PathBuf, String>;

    /// Returns the open workspace of a tool call.
    fn workspace(&self, reference: &WorkspaceReference) -> Result<&Workspace, String>;

    /// Returns the agent's directory that has the files of this hash.
    fn agent_directory(&self, tree: &ContentHash) -> Result<&Path, String>;

    /// Returns the value of a variable.
    fn variable(&self, variable: &VariableReference) -> Result<SecretString, String>;

    /// Returns the private addresses that `fetch` may reach.
    fn fetch_rules(&self) -> &FetchRules;
}

impl ExecutionContext<'_> {
    /// Returns the variables of an assignment with their values.
    fn environment(
        &self,
        variables: &[VariableReference],
    ) -> Result<Vec<(String, SecretString)>, String> {
        let value =
            |one: &VariableReference| Ok((one.name().to_owned(), self.resolver.variable(one)?));
        variables.iter().map(value).collect()
    }
}
