//! The YAML file beside the script of an event hook.
//!
//! Must never: name a program; it stands beside the file.

use agentry_protocol::event_hook::{HookMode, Triggers};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::limits::{EVENT_HOOK_NAME_CHARS_MAX, EVENT_HOOK_TIMEOUT_MS_MAX};

/// A file such as `urgent.yml` beside `urgent.py`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventHookYml {
    /// What the hook is called: small letters, digits, `_` and `-`.
    #[schemars(length(min = 1, max = EVENT_HOOK_NAME_CHARS_MAX), regex(pattern = r"^[a-z0-9_-]+$"))]
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it goes on after it fired: persistent or one-shot.
    #[serde(default)]
    #[schemars(schema_with = "mode")]
    pub mode: HookMode,
    /// What must be so before its script runs; all that is given must hold.
    pub triggers: Option<Triggers>,
    /// What its script is told each time.
    #[serde(default)]
    pub config: serde_json::Map<String, serde_json::Value>,
    /// How long its script may take, in milliseconds.
    #[schemars(range(min = 1, max = EVENT_HOOK_TIMEOUT_MS_MAX))]
    pub timeout_ms: Option<u64>,
    /// true: its script may ask the model.
    #[serde(default)]
    pub model: bool,
}

/// Every word that a mode is known by.
fn mode(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["persistent", "one-shot", "one_shot", "oneshot"] })
}
