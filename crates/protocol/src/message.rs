//! What is said to a model and what it answers.
//!
//! Must never: hold the wire form of any one provider.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::CallId;
use crate::tool_call::{ToolCall, ToolSpec};

/// One message of the talk with a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// From outside: a person, a program, or a note of the runtime.
    User {
        /// What was said.
        content: String,
        /// Pictures that go with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
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
        /// What its provider wants to be shown again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sealed: Option<SealedContent>,
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

impl Message {
    /// Words from outside, without a picture.
    pub fn user(content: impl Into<String>) -> Self {
        Self::User { content: content.into(), images: Vec::new() }
    }
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// What it is, such as `image/png`.
    pub media_type: String,
    /// Its bytes, in base64.
    pub data: String,
}

/// What a provider hands out with an answer and wants back as it was: signed thinking, for one. Nobody
/// else can read it, and nobody else is sent it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SealedContent {
    /// Who can read it: the protocol and the model.
    pub by: String,
    /// The pieces, in order.
    pub items: Vec<Value>,
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
    /// What its provider wants to be shown again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<SealedContent>,
    /// Who answered, where it is not the model that was asked: provider and model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What was spent.
    #[serde(default)]
    pub usage: Usage,
    /// What that cost, in billionths of a dollar; none means that nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nano_usd: Option<u64>,
}

/// A call as a model writes it, before it has an id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawToolCall {
    /// The tool, as the model wrote it.
    pub name: String,
    /// Its arguments. A string is what the model wrote where it could not be read as JSON.
    #[serde(default)]
    pub input: Value,
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens read, with those that the provider still had and those that it keeps.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
    /// Tokens read that the provider still had.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Tokens read that the provider keeps for the next request, at a price.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
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
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
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
    /// How long the provider asks to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ModelFailure {
    /// A failure of this kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_ms: None }
    }
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
    /// The connection could not be made, or broke.
    Connection,
    /// The answer ended in the middle.
    Cut,
    /// The answer is not what the provider's protocol says.
    Malformed,
    /// The key is missing or wrong.
    Authentication,
    /// The provider does not serve this model.
    UnknownModel,
    /// The request is not one that the provider takes.
    InvalidRequest,
    /// The request has more bytes than the provider takes.
    TooLarge,
    /// The talk is longer than the model's window.
    ContextOverflow,
    /// The provider will not answer this.
    Refused,
    /// It would cost more than may be spent.
    SpendingLimit,
    /// A scripted model has no line left.
    ScriptEnded,
    /// A scripted model's file is broken.
    ScriptBroken,
    /// The process that asked was gone before an answer came.
    Interrupted,
    /// Anything else.
    Other,
}

impl FailureKind {
    /// Whether the same request may well be answered when it is made again.
    pub fn is_transient(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::Timeout
            | Self::Connection
            | Self::Cut
            | Self::Malformed => true,
            Self::Authentication
            | Self::UnknownModel
            | Self::InvalidRequest
            | Self::TooLarge
            | Self::ContextOverflow
            | Self::Refused
            | Self::SpendingLimit
            | Self::ScriptEnded
            | Self::ScriptBroken
            | Self::Interrupted
            | Self::Other => false,
        }
    }

    /// Whether a shorter request may well be answered.
    pub fn is_too_long(self) -> bool {
        match self {
            Self::TooLarge | Self::ContextOverflow => true,
            Self::RateLimited
            | Self::Overloaded
            | Self::Timeout
            | Self::Connection
            | Self::Cut
            | Self::Malformed
            | Self::Authentication
            | Self::UnknownModel
            | Self::InvalidRequest
            | Self::Refused
            | Self::SpendingLimit
            | Self::ScriptEnded
            | Self::ScriptBroken
            | Self::Interrupted
            | Self::Other => false,
        }
    }

    /// What the person who can act can do.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            Self::RateLimited => Some("wait, or name a second model in the agent's `prefer` list"),
            Self::Overloaded => {
                Some("try again later, or name a second model in the agent's `prefer` list")
            }
            Self::Timeout | Self::Connection | Self::Cut => Some(
                "look at the network, the base URL and HTTPS_PROXY; `agentry models --fetch` tries the provider",
            ),
            Self::Malformed => {
                Some("the base URL may not speak this protocol; look at the provider's `kind`")
            }
            Self::Authentication => {
                Some("set the provider's key in its variable, or with `agentry secret set`")
            }
            Self::UnknownModel => Some("`agentry models --fetch` lists what the provider serves"),
            Self::InvalidRequest => Some("the message says what the provider did not take"),
            Self::TooLarge | Self::ContextOverflow => {
                Some("begin a new session, or make this one shorter with `agentry compact`")
            }
            Self::Refused => Some("say it in another way, or use another model"),
            Self::SpendingLimit => Some("raise the limit under [limits.spending] in your settings"),
            Self::ScriptEnded | Self::ScriptBroken | Self::Interrupted | Self::Other => None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
