//! `tools/<name>.yml`: the schema of a custom tool.
//!
//! Must never: name the tool's program; it stands beside it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::limits::TOOL_TIMEOUT_MS_MAX;

/// The file `tools/<name>.yml`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolYml {
    /// The name; equal to the file's.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What the tool does, for the model.
    #[schemars(length(min = 1))]
    pub description: String,
    /// The JSON Schema of its arguments, which are an object.
    #[serde(default)]
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// The JSON Schema of what it answers.
    pub output: Option<serde_json::Map<String, serde_json::Value>>,
    /// The folder, below the one it runs in, where it leaves files that are to be kept.
    pub artifacts: Option<String>,
    /// How long a call may take, in milliseconds.
    #[schemars(range(min = 1, max = TOOL_TIMEOUT_MS_MAX))]
    pub timeout_ms: Option<u64>,
    /// true: it only looks, so that a call may be repeated.
    #[serde(default)]
    pub read_only: bool,
}
