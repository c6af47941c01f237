//! A tool in the form for a model, a call of the tool, and the outcome of the call.
//!
//! Must never: run anything, or say whether a call may run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::CallId;
use crate::schema::ModelSchema;
use crate::tool::{Risk, ToolCategory, ToolName};

/// The description of an offered tool: its name, its arguments, its risk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The canonical name.
    pub name: ToolName,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    /// The kind of work that the tool does.
    pub category: ToolCategory,
    /// The harm that a call can do.
    pub risk: Risk,
    /// The rule for repeating a call whose outcome is uncertain.
    pub repeat: RepeatSafety,
}

impl ToolSpec {
    /// Returns the schema of the arguments in the shorter form for the model.
    pub fn model_schema(&self) -> ModelSchema<'_> {
        ModelSchema(&self.parameters)
    }
}

/// The rule for repeating a call whose outcome is uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepeatSafety {
    /// The call only reads; the runtime may repeat it.
    Harmless,
    /// The call changes state; only a person or the model may repeat it.
    Uncertain,
}

/// A call that a model asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The id of the call.
    pub id: CallId,
    /// The tool, by its canonical name.
    pub tool: ToolName,
    /// The arguments.
    pub input: Value,
}

/// The outcome of a call. A failure is an answer to the model, not an error of the runtime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolOutcome {
    /// The status of the call.
    pub status: OutcomeStatus,
    /// The text that the model gets.
    pub text: String,
    /// The measurements of the call.
    #[serde(default, skip_serializing_if = "CallMeasurements::is_empty")]
    pub measured: CallMeasurements,
}

/// The status of a call that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeStatus {
    /// The call did its work.
    Done,
    /// The call ran and failed.
    Failed,
    /// The call was not allowed and had no effect.
    Refused,
    /// The call was stopped on request; a part of its work may be done.
    Stopped,
    /// The process ended during the call; its effects are unknown.
    Uncertain,
}

/// The measurements of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallMeasurements {
    /// The exit code, if a process ran to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The duration, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// True if a part of the output was left out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// The acts that the sandbox refused or undid, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// The number of secret values that were removed from the text.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redacted: u64,
}

impl CallMeasurements {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl ToolOutcome {
    /// Creates the outcome of a call that worked.
    pub fn done(text: impl Into<String>) -> Self {
        Self::new(OutcomeStatus::Done, text)
    }

    /// Creates the outcome of a call that failed.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(OutcomeStatus::Failed, text)
    }

    /// Creates the outcome of a call that was not allowed.
    pub fn refused(text: impl Into<String>) -> Self {
        Self::new(OutcomeStatus::Refused, text)
    }

    /// Creates an outcome without measurements.
    pub fn new(status: OutcomeStatus, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), measured: CallMeasurements::default() }
    }
}
