//! The requests to the helper that runs the file tools in the sandbox.
//!
//! Must never: run a call in this process; the helper runs it, in `file_tools_server`.

use std::time::Duration;

use agentry_protocol::call_facts::ResolvedPath;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome};
use serde::{Deserialize, Serialize};

use crate::limits::{FILE_TOOL_MS_MAX, PREVIEW_WAIT_MS_MAX};
use crate::sandbox_session::SandboxSession;
use crate::tool::{ToolContext, ToolLimits};

/// A request to the helper.
#[derive(Serialize, Deserialize)]
pub(crate) enum FileToolsRequest {
    /// Runs a call.
    Run(ToolCall, ToolLimits, Option<ResolvedPath>),
    /// Previews the change of a call.
    Preview(ToolCall, ToolLimits),
}

/// Runs a call in the helper of a session.
pub(crate) fn run(
    session: &SandboxSession,
    call: &ToolCall,
    context: &ToolContext<'_>,
) -> ToolOutcome {
    let question = FileToolsRequest::Run(call.clone(), context.bounds, context.judged.cloned());
    let time = Duration::from_millis(FILE_TOOL_MS_MAX);
    match session.ask(&question, context.stop, time) {
        Ok(outcome) => outcome,
        Err(outcome) => outcome,
    }
}

/// Returns the change that a call would make, from the helper of a session.
pub(crate) fn preview(
    session: &SandboxSession,
    call: &ToolCall,
    context: &ToolContext<'_>,
) -> Option<String> {
    let question = FileToolsRequest::Preview(call.clone(), context.bounds);
    session.ask(&question, context.stop, Duration::from_millis(PREVIEW_WAIT_MS_MAX)).ok().flatten()
}
