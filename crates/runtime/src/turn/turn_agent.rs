//! The agent of a turn, with the definitions that its run uses.
//!
//! Must never: read a file; the definitions stay as they were loaded.

use std::sync::Arc;

use agentry_agentfile::task::Task;
use agentry_protocol::{AgentId, TaskId};

use crate::definitions::Definitions;
use crate::error::Error;
use crate::host::tool_source::ToolScope;

/// The agent of a turn and the step of its task, for the threads of the turn.
#[derive(Clone)]
pub(crate) struct TurnAgent {
    definitions: Arc<Definitions>,
    agent: AgentId,
    step: Option<(TaskId, usize)>,
}

impl TurnAgent {
    /// Creates the agent of a turn, within a step of a task if there is one.
    pub(crate) fn new(
        definitions: Arc<Definitions>,
        agent: AgentId,
        step: Option<(&Task, usize)>,
    ) -> Self {
        let step = step.map(|(task, at)| (task.id.clone(), at));
        Self { definitions, agent, step }
    }

    /// Returns the scope in which tools are offered to it.
    ///
    /// # Errors
    /// If its definition does not load.
    pub(crate) fn scope(&self) -> Result<ToolScope<'_>, Error> {
        let definitions = &*self.definitions;
        let task = |id: &TaskId| definitions.library.tasks.get(id.as_str());
        let step = self.step.as_ref().and_then(|(id, at)| Some((task(id)?, *at)));
        Ok(ToolScope { definitions, agent: definitions.agent(&self.agent)?, step })
    }
}
