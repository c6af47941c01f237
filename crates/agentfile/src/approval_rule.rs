//! Approval rules with their examples, and the test of the examples.
//!
//! Must never: evaluate a rule (the kernel does), or read one from a file (`scope` does).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::manifest::approvals::Matcher;
use crate::source::Origin;

/// The canonical name of the shell tool.
pub const SHELL: &str = "bash";
/// The argument of the shell that holds its command.
pub const COMMAND: &str = "command";

/// One approval rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRule {
    /// The tool (by its canonical name) or the task.
    pub subject: String,
    /// true: allowed; false: needs approval.
    pub allow: bool,
    /// Conditions on the arguments, all of which must hold.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, Matcher>,
    /// Arguments with the expected result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ApprovalExample>,
    /// The place of the rule.
    pub origin: Origin,
}

/// Arguments with the result expected when all rules of the list are tried in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalExample {
    /// The expected result.
    pub expected: ExpectedVerdict,
    /// The arguments.
    pub args: Value,
    /// The place of the example.
    pub origin: Origin,
}

/// The expected result of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedVerdict {
    /// The rule that has the example allows it.
    Allow,
    /// The call needs approval.
    Ask,
}

/// The subjects of rules: tools or tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// Rules for calls of tools.
    Tool,
    /// Rules for invocations of tasks.
    Task,
}

impl RuleKind {
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Task => "task",
        }
    }
}

/// Tests the examples of rules. The kernel evaluates rules; the caller passes its function.
pub type ExampleChecker = fn(RuleKind, &[ApprovalRule]) -> Vec<ExampleDefect>;

/// An example with another result than expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleDefect {
    /// The index of the rule, from zero.
    pub rule: usize,
    /// The index of the example in the rule, from zero.
    pub example: usize,
    /// The actual result and its reason.
    pub message: String,
}
