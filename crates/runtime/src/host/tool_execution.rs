//! One call of a built-in tool: its assignment, and the executor of its agent.
//!
//! Must never: make the call in another way than through an executor.

use std::borrow::Cow;
use std::sync::Arc;

use agentry_protocol::AgentId;
use agentry_protocol::call_facts::ResolvedPath;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome};
use agentry_sandbox::CancelToken;
use agentry_tools::{ToolLimits, Workspace};

use crate::host::Host;
use crate::host::enforcer::ResolvedPlacement;
use crate::host::executor::{
    ExecutionContext, FetchScope, HostResolver, ToolAssignment, VariableReference, reference_of,
};

/// A call with its limits and its live services.
pub(crate) struct ToolExecution<'a> {
    pub(crate) host: &'a Host,
    /// The agent that makes the call, or for which a person makes it.
    pub(crate) agent: &'a AgentId,
    pub(crate) call: &'a ToolCall,
    pub(crate) placement: &'a ResolvedPlacement,
    pub(crate) workspace: &'a Workspace,
    pub(crate) limits: ToolLimits,
    /// The resolved path when the call was judged; the call may use no other path.
    pub(crate) judged_path: Option<&'a ResolvedPath>,
    pub(crate) fetch: FetchScope,
    pub(crate) variables: Arc<[VariableReference]>,
    pub(crate) stop: &'a CancelToken,
}

impl ToolExecution<'_> {
    /// Makes the call; without an executor it is refused.
    pub(crate) fn run(self) -> ToolOutcome {
        let host = self.host;
        self.with_assignment(|assignment, context| match host.executors.for_tool(assignment) {
            Ok(executor) => executor.run_tool(assignment, context),
            Err(error) => ToolOutcome::refused(format!("Nothing was done: {error}.")),
        })
    }

    /// Returns the change that the call would make; None if there is no preview.
    pub(crate) fn preview(self) -> Option<String> {
        let host = self.host;
        self.with_assignment(|assignment, context| {
            host.executors.for_tool(assignment).ok()?.preview_tool(assignment, context)
        })
    }

    fn with_assignment<T>(
        self,
        work: impl FnOnce(&ToolAssignment<'_>, &ExecutionContext<'_>) -> T,
    ) -> T {
        let Self { host, placement, workspace, stop, .. } = self;
        let assignment = ToolAssignment {
            agent: Cow::Borrowed(self.agent),
            call: Cow::Borrowed(self.call),
            placement: placement.value().clone(),
            workspace: reference_of(workspace.path()),
            limits: self.limits,
            judged_path: self.judged_path.map(Cow::Borrowed),
            fetch: self.fetch,
            variables: self.variables.clone(),
        };
        let resolver = &HostResolver {
            host,
            placement,
            variables: &self.variables,
            workspace: Some(workspace),
            directory: None,
        };
        work(&assignment, &ExecutionContext { resolver, stop, on_line: &|_| {}, callback: None })
    }
}
