//! The set of tools, and the one way to run a call.
//!
//! Must never: let a call end without an outcome.

use std::panic::{AssertUnwindSafe, catch_unwind};

use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome, ToolSpec};

use crate::output::near;
use crate::sandbox_session::{ToolSandbox, no_sandbox};
use crate::tool::{Tool, ToolContext};
use crate::{bash, edit, fetch, file_tools, glob, grep, read, write};

/// The tools that can be called.
pub struct Toolset {
    tools: Vec<Box<dyn Tool>>,
}

impl Toolset {
    /// Returns the tools that need only a workspace, in the order of their offer.
    pub fn builtin() -> Self {
        Self {
            tools: vec![
                Box::new(read::ReadFile::new()),
                Box::new(write::WriteFile::new()),
                Box::new(edit::EditFile::new()),
                Box::new(glob::Glob::new()),
                Box::new(grep::Grep::new()),
                Box::new(bash::Bash::new()),
                Box::new(fetch::WebFetch::new()),
            ],
        }
    }

    /// Returns a set of exactly these tools. Of two with one name the first counts.
    pub fn of(tools: Vec<Box<dyn Tool>>) -> Self {
        Self { tools }
    }

    /// Returns the tool of a name, or None.
    pub fn get(&self, name: &ToolName) -> Option<&dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().name == *name).map(|tool| &**tool)
    }

    /// Returns the specifications of all tools, in order.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|tool| tool.spec())
    }

    /// Runs a call; every failure becomes an outcome.
    pub fn run(&self, call: &ToolCall, context: &ToolContext<'_>) -> ToolOutcome {
        let Some(tool) = self.get(&call.tool) else {
            return unknown_tool(&call.tool, self.specs().map(|spec| &spec.name));
        };
        match (tool.is_file_tool(), context.confines) {
            (true, ToolSandbox::In(confined)) => return file_tools::run(confined, call, context),
            (true, ToolSandbox::Missing(why)) => return no_sandbox(why),
            (true, ToolSandbox::Off) | (false, _) => {}
        }
        catch_unwind(AssertUnwindSafe(|| tool.run(&call.input, context)))
            .unwrap_or_else(|_| broken_tool(&call.tool))
    }

    /// Returns the change that a call would make; None if the tool has no preview or panics.
    pub fn preview(&self, call: &ToolCall, context: &ToolContext<'_>) -> Option<String> {
        let tool = self.get(&call.tool)?;
        match (tool.is_file_tool(), context.confines) {
            (true, ToolSandbox::In(confined)) => {
                return file_tools::preview(confined, call, context);
            }
            (true, ToolSandbox::Missing(_)) => return None,
            (true, ToolSandbox::Off) | (false, _) => {}
        }
        catch_unwind(AssertUnwindSafe(|| tool.preview(&call.input, context))).ok().flatten()
    }
}

/// Returns the outcome of a call of a tool that does not exist, with the offered names like it.
pub fn unknown_tool<'a>(
    name: &ToolName,
    offered: impl IntoIterator<Item = &'a ToolName>,
) -> ToolOutcome {
    let names: Vec<&str> = offered.into_iter().map(ToolName::as_str).collect();
    let offered = match near(name.as_str(), names.iter().copied()).as_slice() {
        [] => format!("There are: {}.", names.join(", ")),
        near => format!("Did you mean {}?", near.join(" or ")),
    };
    ToolOutcome::failed(format!("There is no tool `{name}`. {offered}"))
}

/// Returns the outcome of a call whose tool panicked.
pub fn broken_tool(name: &ToolName) -> ToolOutcome {
    ToolOutcome::failed(format!(
        "The tool `{name}` broke down. This is a defect of the tool, not of the call."
    ))
}
