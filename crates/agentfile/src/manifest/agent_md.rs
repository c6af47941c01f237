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
    /// What the agent is called.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Anything else, for people and other programs.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// The model it uses.
    pub model: Option<String>,
    /// Further models that may be chosen while talking to it.
    #[serde(default)]
    pub allowed_models: Vec<String>,
    /// How freely the model answers.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// The longest answer, in tokens.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// The tools it may call; `inherit` when absent.
    pub tools: Option<InheritableNames>,
    /// Which tool calls go ahead without a question.
    pub tool_approvals: Option<ToolApprovals>,
    /// What it asks to read, write and reach; never more than the operator allows.
    pub security: Option<Security>,
    /// What it asks to spend; never more than the operator allows.
    pub limits: Option<SandboxLimits>,
    /// The skills it has; `inherit` when absent.
    pub skills: Option<InheritableNames>,
    /// The tasks it may invoke; `inherit` when absent.
    pub tasks: Option<InheritableNames>,
    /// Which task invocations go ahead without a question.
    pub task_approvals: Option<TaskApprovals>,
}
