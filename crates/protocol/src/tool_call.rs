//! A tool as a model sees it, a call of it, and what came of the call.
//!
//! Must never: run anything, or say whether a call may run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::CallId;
use crate::schema::ModelSchema;
use crate::tool::{Risk, ToolCategory, ToolName};

/// A tool as it is offered: what it is called, what it takes, what it may do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The canonical name.
    pub name: ToolName,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// What kind of thing it does.
    pub category: ToolCategory,
    /// How much harm a call can do.
    pub risk: Risk,
    /// Whether a call may be made again when nobody knows whether it was made.
    pub repeat: RepeatSafety,
}

impl ToolSpec {
    /// The schema of its arguments as a model is shown it.
    pub fn model_schema(&self) -> ModelSchema<'_> {
        ModelSchema(&self.parameters)
    }
}

/// Whether a call may be made again when nobody knows whether it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepeatSafety {
    /// It only looks; it may be made again.
    Harmless,
    /// It changes something; only a person or the model may make it again.
    Uncertain,
}

/// A call that a model asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Which call.
    pub id: CallId,
    /// The tool, by its canonical name.
    pub tool: ToolName,
    /// Its arguments.
    pub input: Value,
}

/// What came of a call. A failure is an answer, not an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolOutcome {
    /// How it went.
    pub status: OutcomeStatus,
    /// What the model is told.
    pub text: String,
    /// What was measured.
    #[serde(default, skip_serializing_if = "CallMeasurements::is_empty")]
    pub measured: CallMeasurements,
}

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeStatus {
    /// It did what it was asked.
    Done,
    /// It was tried and did not work.
    Failed,
    /// It was not allowed, and nothing happened.
    Refused,
    /// It was stopped on request; it may have done a part.
    Stopped,
    /// Nobody knows whether it happened.
    Uncertain,
}

/// What was measured of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallMeasurements {
    /// The exit code, if a process ran to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether a part of the output was left out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// What the sandbox refused, and what it found and undid: a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// How many values of secrets were taken out of the text.
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
    /// It worked.
    pub fn done(text: impl Into<String>) -> Self {
        Self::new(OutcomeStatus::Done, text)
    }

    /// It did not work.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(OutcomeStatus::Failed, text)
    }

    /// It was not allowed.
    pub fn refused(text: impl Into<String>) -> Self {
        Self::new(OutcomeStatus::Refused, text)
    }

    /// An outcome without measurements.
    pub fn new(status: OutcomeStatus, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), measured: CallMeasurements::default() }
    }
}
