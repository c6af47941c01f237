//! The set of tools, and the one way to run a call.
//!
//! Must never: let a call end without an outcome.

use std::panic::{AssertUnwindSafe, catch_unwind};

use agentry_protocol::call_facts::ResolvedPath;
use agentry_protocol::tool::{ToolName, find_known_tool};
use agentry_protocol::tool_call::{RepeatSafety, ToolCall, ToolOutcome, ToolSpec};
use agentry_sandbox::CancelToken;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fetch_rules::FetchRules;
use crate::limits::{
    FETCH_BYTES_MAX, FETCH_MS_MAX, FETCH_OUTPUT_CHARS_MAX, READ_BYTES_MAX, SEARCH_ENTRIES_MAX,
    SEARCH_FILE_BYTES_MAX, SEARCH_MS_MAX, SEARCH_RESULTS_MAX, SHELL_OUTPUT_CHARS_MAX,
    SHELL_TIMEOUT_MS_MAX, WRITE_BYTES_MAX,
};
use crate::output::near;
use crate::sandbox_session::ToolSandbox;
use crate::workspace::Workspace;
use crate::{bash, edit, fetch, glob, grep, read, write};

/// The means that a tool has for a call.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// The files within reach.
    pub workspace: &'a Workspace,
    /// Cancelled when the call must end.
    pub stop: &'a CancelToken,
    /// The limits of the call.
    pub bounds: ToolLimits,
    /// The hosts that may be fetched besides the public ones.
    pub fetch: &'a FetchRules,
    /// Variables for a shell besides the minimal environment; they replace its variables.
    pub env: &'a [(String, SecretString)],
    /// The place where the tool runs.
    pub confines: ToolSandbox<'a>,
    /// The resolved path when the call was judged; the call may use no other path.
    pub judged: Option<&'a ResolvedPath>,
}

/// The limits of a call. A call cannot ask for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolLimits {
    /// Timeout of a shell call, in milliseconds.
    pub shell_timeout_ms: u64,
    /// Limit of the output of a shell call, in characters.
    pub shell_output_chars: u64,
    /// True if a shell call may start outside the workspace.
    pub shell_any_cwd: bool,
    /// Maximum of text that one read of a file returns, in bytes.
    pub read_bytes: u64,
    /// Largest file that is written or edited, in bytes.
    pub write_bytes: u64,
    /// Maximum of directory entries that a search visits.
    pub search_entries: usize,
    /// Maximum of results of a search.
    pub search_results: usize,
    /// Largest file that is searched, in bytes.
    pub search_file_bytes: u64,
    /// Longest duration of a search, in milliseconds.
    pub search_ms: u64,
    /// Maximum that is read from a web server, in bytes.
    pub fetch_bytes: u64,
    /// Maximum of text that a web page returns, in characters.
    pub fetch_output_chars: u64,
    /// Longest duration of a fetch, in milliseconds.
    pub fetch_ms: u64,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            shell_timeout_ms: SHELL_TIMEOUT_MS_MAX,
            shell_output_chars: SHELL_OUTPUT_CHARS_MAX,
            shell_any_cwd: false,
            read_bytes: READ_BYTES_MAX,
            write_bytes: WRITE_BYTES_MAX,
            search_entries: SEARCH_ENTRIES_MAX,
            search_results: SEARCH_RESULTS_MAX,
            search_file_bytes: SEARCH_FILE_BYTES_MAX,
            search_ms: SEARCH_MS_MAX,
            fetch_bytes: FETCH_BYTES_MAX,
            fetch_output_chars: FETCH_OUTPUT_CHARS_MAX,
            fetch_ms: FETCH_MS_MAX,
        }
    }
}

/// A tool that a model can call.
pub trait Tool: Send + Sync {
    /// Returns the specification that is offered to the model.
    fn spec(&self) -> &ToolSpec;

    /// Runs a call with these arguments.
    fn run(&self, input: &Value, context: &ToolContext<'_>) -> ToolOutcome;

    /// Returns true for tools that work on files, which run in the helper.
    fn is_file_tool(&self) -> bool {
        false
    }

    /// Returns the change for a person to judge, without making it; None if there is no preview.
    fn preview(&self, _input: &Value, _context: &ToolContext<'_>) -> Option<String> {
        None
    }
}

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
        let Some(tool) = self.get(&call.tool) else { return self.unknown(&call.tool) };
        match (tool.is_file_tool(), context.confines) {
            (true, ToolSandbox::In(confined)) => return confined.run(call, context),
            (true, ToolSandbox::Missing(why)) => return no_sandbox(why),
            (true, ToolSandbox::Off) | (false, _) => {}
        }
        catch_unwind(AssertUnwindSafe(|| tool.run(&call.input, context))).unwrap_or_else(|_| {
            ToolOutcome::failed(format!(
                "The tool `{}` broke down. This is a defect of the tool, not of the call.",
                call.tool
            ))
        })
    }

    /// Returns the change that a call would make; None if the tool has no preview or panics.
    pub fn preview(&self, call: &ToolCall, context: &ToolContext<'_>) -> Option<String> {
        let tool = self.get(&call.tool)?;
        match (tool.is_file_tool(), context.confines) {
            (true, ToolSandbox::In(confined)) => return confined.preview(call, context),
            (true, ToolSandbox::Missing(_)) => return None,
            (true, ToolSandbox::Off) | (false, _) => {}
        }
        catch_unwind(AssertUnwindSafe(|| tool.preview(&call.input, context))).ok().flatten()
    }

    fn unknown(&self, name: &ToolName) -> ToolOutcome {
        let names = || self.specs().map(|spec| spec.name.as_str());
        let offered = match near(name.as_str(), names()).as_slice() {
            [] => format!("There are: {}.", names().collect::<Vec<_>>().join(", ")),
            near => format!("Did you mean {}?", near.join(" or ")),
        };
        ToolOutcome::failed(format!("There is no tool `{name}`. {offered}"))
    }
}

/// Returns the outcome of a call that has no sandbox: it is refused.
pub(crate) fn no_sandbox(why: &str) -> ToolOutcome {
    ToolOutcome::refused(format!(
        "Nothing was done: {why}. `agentry doctor` says what is missing and how to get it."
    ))
}

/// Builds the specification of a built-in tool; category and risk come from the dictionary.
pub(crate) fn spec(
    name: &str,
    description: &str,
    parameters: Value,
    repeat: RepeatSafety,
) -> ToolSpec {
    let known = find_known_tool(name).expect("built-in tools are in the dictionary");
    ToolSpec {
        name: ToolName::canonical(name),
        description: description.to_owned(),
        parameters,
        category: known.category,
        risk: known.risk,
        repeat,
    }
}
