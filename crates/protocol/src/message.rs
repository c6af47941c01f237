//! Messages to a model and its replies.
//!
//! Must never: hold the wire form of any one provider.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::CallId;
use crate::tool_call::{ToolCall, ToolSpec};

/// A message between a turn and its model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A message from outside: from a person, a program or the runtime.
    User {
        /// The text.
        content: String,
        /// The pictures of the message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    /// A reply of the model.
    Assistant {
        /// The text of the reply.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        content: String,
        /// The thinking text, as far as the provider shows it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thinking: String,
        /// The calls that the model asks for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// Opaque content that the provider expects back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sealed: Option<SealedContent>,
    },
    /// The outcome of a call.
    Tool {
        /// The id of the call.
        call: CallId,
        /// The text that the model gets.
        content: String,
        /// True if the call worked.
        ok: bool,
    },
}

impl Message {
    /// Returns a user message without pictures.
    pub fn user(content: impl Into<String>) -> Self {
        Self::User { content: content.into(), images: Vec::new() }
    }
}

/// A picture in a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The bytes, in base64.
    pub data: String,
}

/// Opaque content that a provider sends with a reply and expects back unchanged, such as signed
/// thinking. No other provider can read it, and it is sent to no other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SealedContent {
    /// The reader: the protocol and the model.
    pub by: String,
    /// The pieces, in the order of the provider.
    pub items: Vec<Value>,
}

/// A whole request to a model. The order of the fields is the order of the bytes: stable first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The name of the model, as its provider knows it.
    pub model: String,
    /// The sampling temperature; none means the default of the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The limit of the reply, in tokens; none means the default of the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The system prompt.
    pub system: Arc<str>,
    /// The tools that the model may call.
    pub tools: Arc<[ToolSpec]>,
    /// The messages so far. Shared, because each request begins with all of the one before.
    pub messages: Vec<Arc<Message>>,
}

/// A whole reply of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelReply {
    /// The text of the reply.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The thinking text, as far as the provider shows it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thinking: String,
    /// The calls that the model asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Opaque content that the provider expects back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<SealedContent>,
    /// The provider and model that replied, if they differ from those of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokens that the request used.
    #[serde(default)]
    pub usage: Usage,
    /// The cost of the request, in billionths of a US dollar; none means that it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nano_usd: Option<u64>,
}

/// A call as a model writes it, before it has an id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawToolCall {
    /// The name of the tool, as the model wrote it.
    pub name: String,
    /// The arguments. A string is the text of the model where it does not parse as JSON.
    #[serde(default)]
    pub input: Value,
}

/// The tokens that a request or a turn used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens of the input, including those that the provider read from or wrote to its cache.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens of the output.
    #[serde(default)]
    pub output_tokens: u64,
    /// Input tokens that the provider read from its cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Input tokens that the provider wrote to its cache for the next request, at a price.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// True if the runtime estimated the numbers because the provider reported none.
    #[serde(default)]
    pub estimated: bool,
}

impl Usage {
    /// Returns the sum of both. Numbers saturate; the sum is an estimate if either part is.
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

/// The reason why a request to a model failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelFailure {
    /// The kind of failure; it decides about retries.
    pub kind: FailureKind,
    /// A description of the failure for a person.
    pub message: String,
    /// The pause that the provider asks for, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ModelFailure {
    /// Creates a failure without a requested pause.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_ms: None }
    }
}

/// The kinds of failures of a request to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The provider limits the rate of requests.
    RateLimited,
    /// The provider is overloaded or broken.
    Overloaded,
    /// No reply came in time.
    Timeout,
    /// The connection failed or broke.
    Connection,
    /// The reply ended in the middle.
    Cut,
    /// The reply breaks the provider's protocol.
    Malformed,
    /// The key is missing or wrong.
    Authentication,
    /// The provider does not serve this model.
    UnknownModel,
    /// The provider rejects the form of the request.
    InvalidRequest,
    /// The request has more bytes than the provider accepts.
    TooLarge,
    /// The messages are longer than the model's window.
    ContextOverflow,
    /// The provider declined to answer this content.
    Refused,
    /// The request would cost more than the spending limit allows.
    SpendingLimit,
    /// The file of a scripted model has no line left.
    ScriptEnded,
    /// The file of a scripted model is broken.
    ScriptBroken,
    /// The process that sent the request ended before the reply came.
    Interrupted,
    /// A failure of no other kind.
    Other,
}

impl FailureKind {
    /// Returns true if a retry of the same request may succeed.
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

    /// Returns true if a shorter request may succeed.
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

    /// Returns advice for the person who can act; none where no general advice helps.
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
