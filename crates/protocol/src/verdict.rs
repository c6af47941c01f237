//! What is said about one call: may it, must a person be asked, or is it refused; and who says so.
//!
//! Must never: decide. The kernel decides; this is what its decision looks like.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ordered: the strictest wins, so combining is `max`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It goes ahead.
    Allow,
    /// A person is asked.
    Ask,
    /// It does not happen.
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

/// The stages that a call goes through, in order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Is there such a tool?
    Registered,
    /// Do the arguments fit its schema?
    Input,
    /// May the one who wrote to the agent have it made? Said only when somebody did.
    Access,
    /// Do the agent, the skill and the task have it?
    Scope,
    /// Is it confined? Said only when it is not.
    Sandbox,
    /// Does tool-access.json let it?
    ToolAccess,
    /// What do the approval rules say?
    Rules,
    /// Does the guard against dangerous acts refuse it?
    Danger,
    /// Does one of the agent's hooks want a person to be asked? Said only when one does.
    Hook,
    /// Is what the call depends on as it was judged? Said only when it is not.
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

/// What one stage says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The stage.
    pub stage: Stage,
    /// What it says.
    pub verdict: Verdict,
    /// Why, in words for a person.
    pub why: String,
    /// The rule that said so: `file:line` or `built-in`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// What all stages together say about one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ruling {
    /// The outcome.
    pub verdict: Verdict,
    /// What each stage said, up to the first that refused.
    pub findings: Vec<Finding>,
}

impl Ruling {
    /// The finding that decided: the first that was this strict, or the last if all allow.
    pub fn deciding(&self) -> Option<&Finding> {
        let mut strict = self.findings.iter().filter(|finding| finding.verdict == self.verdict);
        match self.verdict {
            Verdict::Allow => strict.next_back(),
            Verdict::Ask | Verdict::Deny => strict.next(),
        }
    }
}
