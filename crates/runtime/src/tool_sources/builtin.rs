//! The built-in tools as a source: files, search, a shell and the web.
//!
//! Must never: give a tool more of the host than its call is allowed.

use std::sync::Arc;
use std::time::Instant;

use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{
    CallMeasurements, OutcomeStatus, ToolCall, ToolOutcome, ToolSpec,
};
use agentry_tools::{ShellCallInput, Toolset, shell_input};

use crate::error::Error;
use crate::host::executor::FetchScope;
use crate::host::tool_execution::ToolExecution;
use crate::host::tool_source::{CallContext, ToolScope, ToolSource};

/// The source of the built-in tools.
pub(super) struct BuiltinTools {
    tools: Arc<Toolset>,
}

impl BuiltinTools {
    /// Creates the source of these tools.
    pub(super) fn new(tools: Arc<Toolset>) -> Self {
        Self { tools }
    }
}

impl ToolSource for BuiltinTools {
    fn names(&self) -> Vec<ToolName> {
        self.tools.specs().map(|spec| spec.name.clone()).collect()
    }

    fn specs(&self, _scope: &ToolScope<'_>) -> Result<Vec<ToolSpec>, Error> {
        Ok(self.tools.specs().cloned().collect())
    }

    fn call(&self, call: &ToolCall, context: &CallContext<'_>) -> Result<ToolOutcome, Error> {
        let begun = Instant::now();
        let mut outcome = execution(call, context).run();
        let duration = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if outcome.measured.duration_ms.is_none() {
            outcome.measured = CallMeasurements { duration_ms: Some(duration), ..outcome.measured };
        }
        if context.stop.is_stopped() && outcome.status != OutcomeStatus::Done {
            outcome.status = OutcomeStatus::Stopped;
        }
        Ok(outcome)
    }

    fn preview(&self, call: &ToolCall, context: &CallContext<'_>) -> Option<String> {
        execution(call, context).preview()
    }

    fn shell_input<'a>(&self, call: &'a ToolCall) -> Option<ShellCallInput<'a>> {
        shell_input(call)
    }
}

/// Returns the call with its limits, for the executor of its agent.
fn execution<'a>(call: &'a ToolCall, context: &CallContext<'a>) -> ToolExecution<'a> {
    ToolExecution {
        host: context.host,
        agent: context.agent,
        call,
        placement: context.placement,
        workspace: context.workspace,
        limits: context.limits,
        judged_path: context.judged,
        fetch: if context.any_host { FetchScope::AnyHost } else { FetchScope::Confinement },
        variables: context.host.variables_for(&call.tool, context.credentials),
        stop: context.stop,
    }
}
