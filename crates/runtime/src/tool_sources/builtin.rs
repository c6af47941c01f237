//! The built-in tools as a source: files, search, a shell and the web.
//!
//! Must never: give a tool more of the host than its call is allowed.

use std::sync::Arc;
use std::time::Instant;

use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{
    CallMeasurements, OutcomeStatus, ToolCall, ToolOutcome, ToolSpec,
};
use agentry_tools::{ShellInput, ToolContext, ToolLimits, Toolset, shell_input};

use crate::error::Error;
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
        let CallContext { host, sandbox, .. } = context;
        let fetch = match (sandbox.network(), context.any_host) {
            (Some(network), false) => host.fetch.clone().within(network),
            (Some(_) | None, _) => host.fetch.clone(),
        };
        let env = host.env_for(&call.tool, context.credentials);
        let context = ToolContext {
            workspace: context.workspace,
            stop: context.stop,
            bounds: context.limits,
            fetch: &fetch,
            env: &env,
            confines: sandbox.confines(),
            judged: context.judged,
        };
        Ok(self.run(&context, call))
    }

    fn preview(&self, call: &ToolCall, context: &CallContext<'_>) -> Option<String> {
        let context = ToolContext {
            workspace: context.workspace,
            stop: context.stop,
            bounds: ToolLimits::default(),
            fetch: &context.host.fetch,
            env: &[],
            confines: context.sandbox.confines(),
            judged: None,
        };
        self.tools.preview(call, &context)
    }

    fn shell_input<'a>(&self, call: &'a ToolCall) -> Option<ShellInput<'a>> {
        shell_input(call)
    }
}

impl BuiltinTools {
    fn run(&self, context: &ToolContext<'_>, call: &ToolCall) -> ToolOutcome {
        let begun = Instant::now();
        let mut outcome = self.tools.run(call, context);
        let duration = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if outcome.measured.duration_ms.is_none() {
            outcome.measured = CallMeasurements { duration_ms: Some(duration), ..outcome.measured };
        }
        if context.stop.is_stopped() && outcome.status != OutcomeStatus::Done {
            outcome.status = OutcomeStatus::Stopped;
        }
        outcome
    }
}
