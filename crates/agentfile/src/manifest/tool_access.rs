//! `context/tool-access.json`: enabled tools, and limits of the shell.
//!
//! Must never: widen access if the file is broken; a broken file denies.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The file `tool-access.json`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolAccessJson {
    /// A note for readers; ignored here.
    #[serde(rename = "_help")]
    pub help: Option<serde_json::Value>,
    /// The settings of all tools.
    pub global: Option<GlobalAccess>,
    /// The settings of single tools, by name.
    #[serde(default)]
    pub tools: BTreeMap<String, OneToolAccess>,
}

/// The section `global`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GlobalAccess {
    /// false switches every tool off.
    pub enabled: Option<bool>,
    /// Off, only `allowedTools`, or all.
    pub mode: Option<AccessMode>,
    /// The enabled tools when `mode` is `allowlist`.
    pub allowed_tools: Option<Vec<String>>,
}

/// The settings of one tool. All fields but `enabled` are for the shell.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OneToolAccess {
    /// false switches the tool off.
    pub enabled: Option<bool>,
    /// Off, only commands with `allowedPrefixes`, or all.
    pub mode: Option<AccessMode>,
    /// Prefixes of the commands that may run when `mode` is `allowlist`.
    pub allowed_prefixes: Option<Vec<String>>,
    /// The time limit of a call, in milliseconds; at most 120000.
    #[schemars(range(min = 1))]
    pub timeout_ms: Option<u64>,
    /// The largest output that is kept, in characters; at most 200000.
    #[schemars(range(min = 1))]
    pub max_output_chars: Option<u64>,
    /// true: a call may name a working directory outside of the workspace.
    pub allow_any_cwd: Option<bool>,
}

/// The enabled part: of the tools, or of the shell's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessMode {
    /// Nothing.
    Off,
    /// Only the listed ones.
    Allowlist,
    /// Everything.
    Full,
}
