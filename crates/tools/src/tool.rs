//! A tool that a model can call, and the means that it has for a call.
//!
//! Must never: know a particular tool, or how a set of tools runs a call.

use agentry_protocol::call_facts::ResolvedPath;
use agentry_protocol::tool::{ToolName, find_known_tool};
use agentry_protocol::tool_call::{RepeatSafety, ToolOutcome, ToolSpec};
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
use crate::sandbox_session::ToolSandbox;
use crate::workspace::Workspace;

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
