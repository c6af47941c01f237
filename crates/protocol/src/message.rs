//! What is said to a model and what it answers.
//!
//! Must never: hold the wire form of any one provider.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{ToolCall, ToolSpec};
use crate::id::CallId;

/// One message of the talk with a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// From outside: a person, a program, or a note of the runtime.
    User {
        /// What was said.
        content: String,
    },
    /// From the model.
    Assistant {
        /// What it said.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        content: String,
        /// What it thought.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thinking: String,
        /// What it asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// What came of a call.
    Tool {
        /// The call.
        call: CallId,
        /// What the model is told.
        content: String,
        /// Whether it worked.
        ok: bool,
    },
}

/// A whole request. The order of the fields is the order of the bytes: stable first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The model.
    pub model: String,
    /// How freely it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The longest answer, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The system prompt.
    pub system: Arc<str>,
    /// The tools it may call.
    pub tools: Arc<[ToolSpec]>,
    /// The talk so far. Shared, because each request begins with all of the one before.
    pub messages: Vec<Arc<Message>>,
}

/// A model's whole answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelReply {
    /// What it said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What it thought.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thinking: String,
    /// What it asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// What it cost.
    #[serde(default)]
    pub usage: Usage,
}

/// A call as a model writes it, before it has an id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskedCall {
    /// The tool, as the model wrote it.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub input: Value,
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens read.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
    /// Tokens read that the provider still had.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Whether the runtime counted by itself because the provider did not say.
    #[serde(default)]
    pub estimated: bool,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            estimated: self.estimated || other.estimated,
        }
    }
}

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelFailure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What happened, in words.
    pub message: String,
}

/// Kinds of failures of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The provider asks to slow down.
    RateLimited,
    /// The provider is overloaded or broken.
    Overloaded,
    /// It took too long.
    Timeout,
    /// The connection broke.
    Connection,
    /// The key is missing or wrong.
    Authentication,
    /// The request is not one that the provider takes.
    InvalidRequest,
    /// The talk is longer than the model's window.
    ContextOverflow,
    /// The provider will not answer this.
    Refused,
    /// A scripted model has no line left.
    ScriptEnded,
    /// A scripted model's file is broken.
    ScriptBroken,
    /// The process that asked was gone before an answer came.
    Interrupted,
    /// Anything else.
    Other,
}
