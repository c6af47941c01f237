//! The tools that an agent brings as programs, as a source.
//!
//! Must never: run a program except through `programs`, which checks its trust.

use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome, ToolSpec};

use crate::error::Error;
use crate::host::executor::reference_of;
use crate::host::tool_source::{CallContext, ToolScope, ToolSource};
use crate::programs::{self, ProgramContext, Programs};

/// The source of the agents' own tools.
pub(super) struct OwnTools;

impl ToolSource for OwnTools {
    fn names(&self) -> Vec<ToolName> {
        Vec::new()
    }

    fn specs(&self, scope: &ToolScope<'_>) -> Result<Vec<ToolSpec>, Error> {
        Ok(programs::specs(scope.agent).collect())
    }

    fn call(&self, call: &ToolCall, context: &CallContext<'_>) -> Result<ToolOutcome, Error> {
        let Some(scope) = context.scope else { return Ok(not_called(call, "its agent is gone")) };
        let programs = match Programs::of(scope.definitions, scope.agent) {
            Ok(programs) => programs,
            Err(error) => return Ok(not_called(call, &error.to_string())),
        };
        let Some(tool) = programs.tools.get(call.tool.as_str()) else {
            return Ok(not_called(call, "its agent does not have it any more"));
        };
        let program_context = ProgramContext {
            host: context.host,
            about: context.about,
            workspace: reference_of(context.workspace.path()),
            placement: context.placement.clone(),
            variables: context.host.variables_for(&call.tool, context.credentials),
            stop: context.stop,
            on_line: context.progress,
        };
        programs.call(&program_context, tool, call)
    }
}

fn not_called(call: &ToolCall, why: &str) -> ToolOutcome {
    ToolOutcome::failed(format!("The tool `{}` was not called: {why}.", call.tool))
}
