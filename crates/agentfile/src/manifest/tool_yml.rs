//! `tools/<name>.yml`: the schema of a custom tool.
//!
//! Must never: name the tool's program; the program lies beside the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::limits::TOOL_TIMEOUT_MS_MAX;

/// The file `tools/<name>.yml`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolYml {
    /// The name; equal to the file name without `.yml`.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The description of the tool, for the model.
    #[schemars(length(min = 1))]
    pub description: String,
    /// The JSON Schema of its arguments, which are an object.
    #[serde(default)]
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// The JSON Schema of its result.
    pub output: Option<serde_json::Map<String, serde_json::Value>>,
    /// The folder for files that are kept, relative to the working directory of the call.
    pub artifacts: Option<String>,
    /// The time limit of a call, in milliseconds.
    #[schemars(range(min = 1, max = TOOL_TIMEOUT_MS_MAX))]
    pub timeout_ms: Option<u64>,
    /// true: a call has no side effects and may be repeated.
    #[serde(default)]
    pub read_only: bool,
}
