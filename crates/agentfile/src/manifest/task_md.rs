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
    /// What the task is called.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// Anything else, for people and other programs.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// The agent that does it; else the default agent.
    pub agent: Option<String>,
    /// Tools during this task; `inherit` when absent.
    pub tools: Option<InheritableNames>,
    /// Which tool calls go ahead without a question during this task.
    pub tool_approvals: Option<ToolApprovals>,
    /// Skills during this task; `inherit` when absent.
    pub skills: Option<InheritableNames>,
    /// Tasks this task may invoke; `inherit` when absent.
    pub tasks: Option<InheritableNames>,
    /// Which task invocations go ahead without a question.
    pub task_approvals: Option<TaskApprovals>,
    /// In wiggum mode, the command whose success means that the work is done.
    #[schemars(length(min = 1))]
    pub check: Option<String>,
    /// What the task is given.
    #[serde(default)]
    pub inputs: Vec<TaskInputSpec>,
    /// The file of the next step, in the same directory.
    pub next: Option<String>,
}

/// The front matter of a later step.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepMd {
    /// What the step is called; else the file's name.
    pub name: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// Anything else, for people and other programs.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// The agent that does it; else the agent of the step before.
    pub agent: Option<String>,
    /// Tools during this step; `inherit` when absent.
    pub tools: Option<InheritableNames>,
    /// Which tool calls go ahead without a question during this step.
    pub tool_approvals: Option<ToolApprovals>,
    /// Skills during this step; `inherit` when absent.
    pub skills: Option<InheritableNames>,
    /// Tasks this step may invoke; `inherit` when absent.
    pub tasks: Option<InheritableNames>,
    /// Which task invocations go ahead without a question.
    pub task_approvals: Option<TaskApprovals>,
    /// The file of the next step, in the same directory.
    pub next: Option<String>,
}

/// Something a task is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskInputSpec {
    /// How the steps refer to it: `{{input.name}}`.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What it is.
    pub description: String,
    /// The value when none is given; without it the input is required.
    pub default: Option<String>,
}
