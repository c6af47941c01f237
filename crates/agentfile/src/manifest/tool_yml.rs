//! `tools/<name>.yml`: the schema of a custom tool.
//!
//! Must never: say how the tool runs; its program stands beside it.

use schemars::JsonSchema;
use serde::Deserialize;

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
}
