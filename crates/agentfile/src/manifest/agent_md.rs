//! `AGENT.md`: the front matter that defines an agent of a pack.
//!
//! Must never: hold an id; that comes from the directory.

use schemars::JsonSchema;
use serde::Deserialize;

use super::approvals::{TaskApprovals, ToolApprovals};
use super::config::{SandboxLimits, Security};
use super::names::InheritableNames;

/// The front matter of `AGENT.md`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentMd {
    /// The display name of the agent.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The purpose of the agent.
    pub description: Option<String>,
    /// Further values, for people and other programs; Agentry does not interpret them.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// The model it uses.
    pub model: Option<String>,
    /// Further models that can be selected in a session.
    #[serde(default)]
    pub allowed_models: Vec<String>,
    /// The sampling temperature; higher values vary answers more.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// The longest answer, in tokens.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// The tools it may call; `inherit` when absent.
    pub tools: Option<InheritableNames>,
    /// Approval rules for tool calls.
    pub tool_approvals: Option<ToolApprovals>,
    /// The requested files and hosts; never more than the operator allows.
    pub security: Option<Security>,
    /// The requested resource limits; never more than the operator allows.
    pub limits: Option<SandboxLimits>,
    /// The skills it has; `inherit` when absent.
    pub skills: Option<InheritableNames>,
    /// The tasks it may invoke; `inherit` when absent.
    pub tasks: Option<InheritableNames>,
    /// Approval rules for task invocations.
    pub task_approvals: Option<TaskApprovals>,
}
