//! The YAML file beside the script of an event hook.
//!
//! Must never: name a program; the program lies beside the file.

use agentry_protocol::event_hook::{HookMode, Triggers};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::limits::{EVENT_HOOK_NAME_CHARS_MAX, EVENT_HOOK_TIMEOUT_MS_MAX};

/// A file such as `urgent.yml` beside `urgent.py`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventHookYml {
    /// The name of the hook: lower-case letters, digits, `_` and `-`.
    #[schemars(length(min = 1, max = EVENT_HOOK_NAME_CHARS_MAX), regex(pattern = r"^[a-z0-9_-]+$"))]
    pub name: String,
    /// The purpose of the hook.
    pub description: Option<String>,
    /// The behavior after the hook fired: persistent stays active, one-shot ends.
    #[serde(default)]
    #[schemars(schema_with = "mode")]
    pub mode: HookMode,
    /// The conditions for a run of the script; all of them must hold.
    pub triggers: Option<Triggers>,
    /// Values that are passed to the script at each run.
    #[serde(default)]
    pub config: serde_json::Map<String, serde_json::Value>,
    /// The time limit of the script, in milliseconds.
    #[schemars(range(min = 1, max = EVENT_HOOK_TIMEOUT_MS_MAX))]
    pub timeout_ms: Option<u64>,
    /// true: the script may query the model.
    #[serde(default)]
    pub model: bool,
}

/// Returns the schema of all accepted spellings of a mode.
fn mode(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["persistent", "one-shot", "one_shot", "oneshot"] })
}
