//! The ruling about a call: allow, ask a person or deny, with the findings of each stage.
//!
//! Must never: decide. The kernel decides; these types record its decision.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A verdict about a call. Ordered: the strictest wins, so combining is `max`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call is allowed.
    Allow,
    /// The call needs the approval of a person.
    Ask,
    /// The call is refused.
    Deny,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// The stages that judge a call, in order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Finds the tool by its name.
    Registered,
    /// Compares the arguments with the schema of the tool.
    Input,
    /// Checks the permissions of the sender. Absent if the turn has no sender with bounds.
    Access,
    /// Checks that the agent, the skill and the task include the tool.
    Scope,
    /// Reports that the call is not confined. Absent if it is.
    Sandbox,
    /// Checks the tool against tool-access.json.
    ToolAccess,
    /// Applies the approval rules.
    Rules,
    /// Applies the guard against dangerous acts.
    Danger,
    /// Reports a hook of the agent that wants approval by a person. Absent without one.
    Hook,
    /// Reports dependencies of the call that changed after its ruling. Absent without changes.
    Content,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Registered => "registered",
            Self::Input => "input",
            Self::Access => "access",
            Self::Scope => "scope",
            Self::Sandbox => "sandbox",
            Self::ToolAccess => "tool access",
            Self::Rules => "rules",
            Self::Danger => "danger",
            Self::Hook => "hook",
            Self::Content => "content",
        })
    }
}

/// The finding of one stage about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The stage.
    pub stage: Stage,
    /// The verdict of the stage.
    pub verdict: Verdict,
    /// The reason, as text for a person.
    pub why: String,
    /// The rule behind the verdict: `file:line` or `built-in`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// The ruling of all stages about one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ruling {
    /// The strictest verdict of all stages.
    pub verdict: Verdict,
    /// The findings of the stages in order, up to the first denial.
    pub findings: Vec<Finding>,
}

impl Ruling {
    /// Returns the deciding finding: the first with the final verdict, or the last if all allow.
    pub fn deciding(&self) -> Option<&Finding> {
        let mut strict = self.findings.iter().filter(|finding| finding.verdict == self.verdict);
        match self.verdict {
            Verdict::Allow => strict.next_back(),
            Verdict::Ask | Verdict::Deny => strict.next(),
        }
    }
}
