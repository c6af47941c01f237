//! The tools there are, and the one way to run a call.
//!
//! Must never: let a call end in anything but an answer.

use std::panic::{AssertUnwindSafe, catch_unwind};

use agentry_protocol::call_facts::ResolvedPath;
use agentry_protocol::tool::{ToolName, find_known_tool};
use agentry_protocol::tool_call::{RepeatSafety, ToolCall, ToolOutcome, ToolSpec};
use agentry_sandbox::CancelToken;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fetch::FetchRules;
use crate::limits::{
    FETCH_BYTES_MAX, FETCH_MS_MAX, FETCH_OUTPUT_CHARS_MAX, READ_BYTES_MAX, SEARCH_ENTRIES_MAX,
    SEARCH_FILE_BYTES_MAX, SEARCH_MS_MAX, SEARCH_RESULTS_MAX, SHELL_OUTPUT_CHARS_MAX,
    SHELL_TIMEOUT_MS_MAX, WRITE_BYTES_MAX,
};
use crate::output::near;
use crate::sandbox_session::ToolSandbox;
use crate::workspace::Workspace;
use crate::{bash, edit, fetch, glob, grep, read, write};

/// What a tool may use.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// The files within reach.
    pub workspace: &'a Workspace,
    /// Raised when the call shall end.
    pub stop: &'a CancelToken,
    /// How much a call may take.
    pub bounds: ToolLimits,
    /// Which addresses may be fetched beside the public ones.
    pub fetch: &'a FetchRules,
    /// What a shell gets beside the minimal environment; it wins over that.
    pub env: &'a [(String, SecretString)],
    /// Where it does its work.
    pub confines: ToolSandbox<'a>,
    /// Where the path among the arguments led when the call was judged; elsewhere nothing is done.
    pub judged: Option<&'a ResolvedPath>,
}

/// How much a call may take. What a call asks for is cut to these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolLimits {
    /// The time of a shell call, in milliseconds.
    pub shell_timeout_ms: u64,
    /// The output of a shell call that is kept, in characters.
    pub shell_output_chars: u64,
    /// Whether a shell call may start outside the workspace.
    pub shell_any_cwd: bool,
    /// The text that one reading of a file gives, in bytes.
    pub read_bytes: u64,
    /// The largest file that is written or edited, in bytes.
    pub write_bytes: u64,
    /// How many entries a search walks over.
    pub search_entries: usize,
    /// How many results a search gives.
    pub search_results: usize,
    /// The largest file that is searched, in bytes.
    pub search_file_bytes: u64,
    /// The time of a search, in milliseconds.
    pub search_ms: u64,
    /// What is read from a web server, in bytes.
    pub fetch_bytes: u64,
    /// The text of a web page that is kept, in characters.
    pub fetch_output_chars: u64,
    /// The time of fetching, in milliseconds.
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

/// One ability.
pub trait Tool: Send + Sync {
    /// How it is offered.
    fn spec(&self) -> &ToolSpec;

    /// Does it.
    fn run(&self, input: &Value, context: &ToolContext<'_>) -> ToolOutcome;

    /// Whether it works on files, and thus in the helper that may touch them.
    fn is_file_tool(&self) -> bool {
        false
    }

    /// What it would change, for a person to judge; nothing happens.
    fn preview(&self, _input: &Value, _context: &ToolContext<'_>) -> Option<String> {
        None
    }
}

/// The tools that can be called.
pub struct Toolset {
    tools: Vec<Box<dyn Tool>>,
}

impl Toolset {
    /// The tools that need nothing but a workspace, in the order they are offered.
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

    /// Exactly these tools. Of two with one name the first counts.
    pub fn of(tools: Vec<Box<dyn Tool>>) -> Self {
        Self { tools }
    }

    /// The tool of that name.
    pub fn get(&self, name: &ToolName) -> Option<&dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().name == *name).map(|tool| &**tool)
    }

    /// How the tools are offered.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|tool| tool.spec())
    }

    /// Runs a call; whatever goes wrong is the answer.
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

    /// What a call would change. A tool that breaks down over it has nothing to show.
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

/// Without a sandbox nothing is done.
pub(crate) fn no_sandbox(why: &str) -> ToolOutcome {
    ToolOutcome::refused(format!(
        "Nothing was done: {why}. `agentry doctor` says what is missing and how to get it."
    ))
}

/// The offer of a tool whose name has a meaning of its own.
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
