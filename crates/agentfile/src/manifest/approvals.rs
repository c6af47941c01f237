//! Approval rules as written: the calls that need no approval.
//!
//! The first rule that matches decides; `allow: false` means that the call needs approval. A call
//! that no rule matches needs approval too.
//!
//! Must never: be evaluated here. This is the shape only.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The section `tool_approvals`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolApprovals {
    /// The treatment of calls that no rule matches.
    pub default: Option<ApprovalDefault>,
    /// Rules in order; the first that matches decides.
    #[serde(default)]
    pub rules: Vec<ToolRule>,
}

/// The section `task_approvals`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskApprovals {
    /// The treatment of invocations that no rule matches.
    pub default: Option<ApprovalDefault>,
    /// Rules in order; the first that matches decides.
    #[serde(default)]
    pub rules: Vec<TaskRule>,
}

/// The only possible default: approval by a person.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDefault {
    /// Everything needs approval unless a rule allows it.
    Approve,
}

/// One rule for calls of a tool.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolRule {
    /// The tool's name; one of the agent's tools.
    #[schemars(length(min = 1))]
    pub tool: String,
    /// true: allowed; false: needs approval, even if a later rule allows it.
    pub allow: bool,
    /// Conditions on the call's arguments, all of which must hold.
    pub when: Option<BTreeMap<String, Matcher>>,
    /// Calls with their expected results; tested by `agentry check`.
    pub examples: Option<Examples>,
}

/// One rule for invocations of a task.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRule {
    /// The task's name; one of the agent's tasks.
    #[schemars(length(min = 1))]
    pub task: String,
    /// true: allowed; false: needs approval, even if a later rule allows it.
    pub allow: bool,
    /// Conditions on the task's inputs, all of which must hold.
    pub when: Option<BTreeMap<String, Matcher>>,
    /// Invocations with their expected results; tested by `agentry check`.
    pub examples: Option<Examples>,
}

/// Arguments with the result expected when all rules of the list are tried in order.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Examples {
    /// Arguments that this rule allows.
    #[serde(default)]
    pub allow: Vec<ExampleArgs>,
    /// Arguments that need approval.
    #[serde(default)]
    pub ask: Vec<ExampleArgs>,
}

/// The arguments of an example.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum ExampleArgs {
    /// A map of arguments.
    Map(serde_json::Map<String, Value>),
    /// The command alone; only for the shell.
    Command(String),
}

impl JsonSchema for ExampleArgs {
    fn schema_name() -> Cow<'static, str> {
        "ExampleArgs".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A map of arguments; for the shell the command alone will do.",
            "type": ["object", "string"],
        })
    }
}

/// A condition on one argument. A missing argument or a value of another type does not match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Matcher {
    /// The value equals this scalar.
    Equals(Value),
    /// The value is one of these.
    In(Vec<Value>),
    /// The text begins with this.
    StartsWith(String),
    /// The text, or a part of it, matches this regular expression.
    Matches(String),
    /// The text contains this, or the list has this member.
    Contains(Value),
    /// The text or list contains all of these.
    ContainsAll(Vec<Value>),
    /// At least one of these matches the same value.
    AnyOf(Vec<Matcher>),
    /// All of these match the same value.
    AllOf(Vec<Matcher>),
}

impl Matcher {
    /// The eight keys that a matcher can have.
    pub const KEYS: [&'static str; 8] =
        ["equals", "in", "startsWith", "matches", "contains", "containsAll", "anyOf", "allOf"];
}

impl JsonSchema for Matcher {
    fn schema_name() -> Cow<'static, str> {
        "Matcher".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let scalar = || json_schema!({ "type": ["string", "number", "boolean", "null"] });
        let nested = json_schema!({
            "type": "array", "minItems": 1, "items": generator.subschema_for::<Self>()
        });
        json_schema!({
            "description": "Exactly one condition on the value of an argument.",
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": false,
            "properties": {
                "equals": scalar(),
                "in": { "type": "array" },
                "startsWith": { "type": "string" },
                "matches": { "type": "string", "description": "A regular expression of linear time." },
                "contains": scalar(),
                "containsAll": { "type": "array" },
                "anyOf": nested.clone(),
                "allOf": nested,
            }
        })
    }
}
