//! `context/tool-access.json`: which tools are switched on, and how the shell is bounded.
//!
//! Must never: widen access when it is broken; a broken file denies.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The file `tool-access.json`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolAccessJson {
    /// Words for the reader.
    #[serde(rename = "_help")]
    pub help: Option<serde_json::Value>,
    /// What holds for all tools.
    pub global: Option<GlobalAccess>,
    /// What holds for one tool, by its name.
    #[serde(default)]
    pub tools: BTreeMap<String, OneToolAccess>,
}

/// `global`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GlobalAccess {
    /// false switches every tool off.
    pub enabled: Option<bool>,
    /// Off, only `allowedTools`, or all.
    pub mode: Option<AccessMode>,
    /// The tools that are on when `mode` is `allowlist`.
    pub allowed_tools: Option<Vec<String>>,
}

/// What holds for one tool. All but `enabled` is for the shell.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OneToolAccess {
    /// false switches the tool off.
    pub enabled: Option<bool>,
    /// Off, only commands with `allowedPrefixes`, or all.
    pub mode: Option<AccessMode>,
    /// Commands that may run when `mode` is `allowlist`.
    pub allowed_prefixes: Option<Vec<String>>,
    /// The time a call gets, in milliseconds; at most 120000.
    #[schemars(range(min = 1))]
    pub timeout_ms: Option<u64>,
    /// The output that is kept, in characters; at most 200000.
    #[schemars(range(min = 1))]
    pub max_output_chars: Option<u64>,
    /// true lets a call name a directory outside of the workspace.
    pub allow_any_cwd: Option<bool>,
}

/// How much is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessMode {
    /// Nothing.
    Off,
    /// Only what is listed.
    Allowlist,
    /// Everything.
    Full,
}
