//! `SKILL.md`: the front matter of a skill.
//!
//! The first six fields are the Agent Skills specification; the rest are extensions.
//!
//! Must never: give a field of the specification another meaning.

use schemars::JsonSchema;
use serde::Deserialize;

use super::approvals::{TaskApprovals, ToolApprovals};
use super::names::InheritableNames;

/// The fields of the Agent Skills specification. Any other is an extension.
pub const SPEC_FIELDS: [&str; 6] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// The front matter of `SKILL.md`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillMd {
    /// The name: lower-case letters, digits and hyphens; equal to the directory.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// The abilities of the skill, and when to use it.
    #[schemars(length(min = 1, max = 1024))]
    pub description: String,
    /// The license of the skill.
    pub license: Option<String>,
    /// The requirements of the skill, such as programs or network access.
    #[schemars(length(min = 1, max = 500))]
    pub compatibility: Option<String>,
    /// Names and plain values, for people and other programs.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// Tools that are approved in advance, separated by spaces (experimental).
    #[serde(rename = "allowed-tools")]
    pub allowed_tools: Option<String>,
    /// Extension: the tools the skill may call when active; `inherit` when absent.
    pub tools: Option<InheritableNames>,
    /// Extension: approval rules for tool calls while the skill is active.
    pub tool_approvals: Option<ToolApprovals>,
    /// Extension: further skills this skill may load.
    pub skills: Option<InheritableNames>,
    /// Extension: tasks this skill may invoke.
    pub tasks: Option<InheritableNames>,
    /// Extension: approval rules for task invocations.
    pub task_approvals: Option<TaskApprovals>,
}
