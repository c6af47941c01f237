//! The registered executors, and the selection of one for each job and call.
//!
//! Must never: decide; the kernel chooses (`executor_choice`).

use std::sync::Arc;

use agentry_kernel::executor_choice::{
    self, ExecutorChoiceError, ExecutorPolicy, WorkRequirements,
};
use agentry_tools::Toolset;

use super::{Assignment, Executor, LocalExecutor, ToolAssignment};

/// The executors of a host.
pub struct Executors {
    registered: Vec<Arc<dyn Executor>>,
    policy: ExecutorPolicy,
}

impl Executors {
    /// Creates a registry. Of two executors with one name the first counts.
    pub fn new(registered: Vec<Arc<dyn Executor>>, policy: ExecutorPolicy) -> Self {
        Self { registered, policy }
    }

    /// Creates a registry of the executor in this process alone.
    pub fn local(tools: Arc<Toolset>) -> Self {
        Self::new(vec![Arc::new(LocalExecutor::new(tools))], ExecutorPolicy::default())
    }

    /// Returns the executor of a job.
    ///
    /// # Errors
    /// If the executor that the settings name is not registered, or cannot do the job.
    pub fn for_job(&self, assignment: &Assignment) -> Result<&dyn Executor, ExecutorChoiceError> {
        let capabilities = assignment.requirements();
        let agent = &assignment.job.agent;
        self.select(&WorkRequirements { agent, capabilities: &capabilities })
    }

    /// Returns the executor of a tool call.
    ///
    /// # Errors
    /// If the executor that the settings name is not registered, or cannot make the call.
    pub fn for_tool(
        &self,
        assignment: &ToolAssignment<'_>,
    ) -> Result<&dyn Executor, ExecutorChoiceError> {
        let capabilities = assignment.requirements();
        let agent = &assignment.agent;
        self.select(&WorkRequirements { agent, capabilities: &capabilities })
    }

    fn select(&self, work: &WorkRequirements<'_>) -> Result<&dyn Executor, ExecutorChoiceError> {
        let facts = self.registered.iter().map(|executor| executor.facts());
        let chosen = executor_choice::choose(&self.policy, facts, work)?;
        let executor = self.registered.iter().find(|one| one.facts().name == chosen.name);
        Ok(&**executor.expect("the choice is one of the registered executors"))
    }
}
