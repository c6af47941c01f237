//! `TASK.md` and the step files beside it.
//!
//! `TASK.md` is the first step; `next` names the file that follows, in the same directory.
//!
//! Must never: hold an id; that comes from the directory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::approvals::{TaskApprovals, ToolApprovals};
use super::names::InheritableNames;

/// The front matter of `TASK.md`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskMd {
    /// The display name of the task.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The purpose of the task.
    pub description: Option<String>,
    /// Further values, for people and other programs; Agentry does not interpret them.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// The agent that does the task; the default agent when absent.
    pub agent: Option<String>,
    /// Tools during this task; `inherit` when absent.
    pub tools: Option<InheritableNames>,
    /// Approval rules for tool calls during this task.
    pub tool_approvals: Option<ToolApprovals>,
    /// Skills during this task; `inherit` when absent.
    pub skills: Option<InheritableNames>,
    /// Tasks this task may invoke; `inherit` when absent.
    pub tasks: Option<InheritableNames>,
    /// Approval rules for task invocations.
    pub task_approvals: Option<TaskApprovals>,
    /// In wiggum mode, the command whose success means that the work is done.
    #[schemars(length(min = 1))]
    pub check: Option<String>,
    /// The inputs of the task.
    #[serde(default)]
    pub inputs: Vec<TaskInputSpec>,
    /// The file of the next step, in the same directory.
    pub next: Option<String>,
}

/// The front matter of a later step.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepMd {
    /// The display name of the step; the file's name when absent.
    pub name: Option<String>,
    /// The purpose of the step.
    pub description: Option<String>,
    /// Further values, for people and other programs; Agentry does not interpret them.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// The agent that does the step; the agent of the previous step when absent.
    pub agent: Option<String>,
    /// Tools during this step; `inherit` when absent.
    pub tools: Option<InheritableNames>,
    /// Approval rules for tool calls during this step.
    pub tool_approvals: Option<ToolApprovals>,
    /// Skills during this step; `inherit` when absent.
    pub skills: Option<InheritableNames>,
    /// Tasks this step may invoke; `inherit` when absent.
    pub tasks: Option<InheritableNames>,
    /// Approval rules for task invocations.
    pub task_approvals: Option<TaskApprovals>,
    /// The file of the next step, in the same directory.
    pub next: Option<String>,
}

/// An input of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskInputSpec {
    /// The name in templates: `{{input.name}}`.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The meaning of the input.
    pub description: String,
    /// The value when none is given; without a default, the input is required.
    pub default: Option<String>,
}
