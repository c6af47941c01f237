//! A question to a person about one call, and the answer.
//!
//! Two kinds: may the agent make this call, and may the sender of the message have it made. The
//! second is a request for permission.
//!
//! Must never: be answered by the agent or sender it is about, only by people and their programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Resource;
use crate::call_facts::CallFacts;
use crate::hash::ContentHash;
use crate::id::ApprovalId;
use crate::principal::Principal;
use crate::tool_call::ToolCall;
use crate::verdict::Ruling;

/// A question to a person about one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// The id of the approval.
    pub id: ApprovalId,
    /// The exact call.
    pub call: ToolCall,
    /// The ruling that requires the approval.
    pub ruling: Ruling,
    /// The hash of the tool and its arguments: an answer is for these only.
    pub digest: ContentHash,
    /// The kind of question.
    #[serde(default, skip_serializing_if = "ApprovalKind::is_tool_call")]
    pub kind: ApprovalKind,
    /// The dependencies of the call at that time; an answer is for this content only.
    #[serde(default, skip_serializing_if = "CallFacts::is_empty")]
    pub facts: CallFacts,
}

impl Approval {
    /// Returns the request if the approval asks for a permission.
    pub fn request(&self) -> Option<&PermissionRequest> {
        match &self.kind {
            ApprovalKind::ToolCall => None,
            ApprovalKind::Permission(request) => Some(request),
        }
    }
}

/// The kind of question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalKind {
    /// A question about a call that the agent wants to make.
    #[default]
    ToolCall,
    /// A question about a call that the sender of the message has no permission for.
    Permission(Box<PermissionRequest>),
}

impl ApprovalKind {
    /// Returns the word for files and wires.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::ToolCall => "tool_call",
            Self::Permission(_) => "permission",
        }
    }

    fn is_tool_call(&self) -> bool {
        match self {
            Self::ToolCall => true,
            Self::Permission(_) => false,
        }
    }
}

/// A request to the owner for a permission that the sender of a message lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionRequest {
    /// The principal that lacks the permission.
    pub requester: Principal,
    /// The channel of the principal's message.
    pub requester_channel: String,
    /// The resources that a yes for a day or always would grant.
    pub resources: Vec<Resource>,
    /// The reason why the call is not allowed, as text.
    pub reason: String,
    /// The message of the principal, cut if long.
    pub original_message: String,
    /// The time that the turn knew last when it asked, in milliseconds since 1970.
    pub created_at: u64,
    /// The end of the request, in milliseconds since 1970; later answers are not accepted.
    pub expires_at: u64,
}

/// An answer to an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalAnswer {
    /// True for yes, false for no.
    pub allow: bool,
    /// The reach of a yes.
    #[serde(default)]
    pub reach: ApprovalScope,
    /// The reason; the model gets it with a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The arguments that replace those of the call; only with a yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Value>,
    /// True if no answer came in time; counts as a no, but not as a denial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// The origin of the answer: the channel, or the key to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl ApprovalAnswer {
    /// Creates a yes with this reach.
    pub fn approved(reach: ApprovalScope) -> Self {
        Self { allow: true, reach, reason: None, edit: None, expired: false, by: None }
    }

    /// Creates a no, with an optional reason.
    pub fn declined(reason: Option<String>) -> Self {
        Self { reason, allow: false, ..Self::approved(ApprovalScope::Once) }
    }

    /// Returns the answer with this origin: a channel, or a key to the server.
    pub fn by(self, place: impl Into<String>) -> Self {
        Self { by: Some(place.into()), ..self }
    }

    /// Creates the answer that is recorded when none came in time.
    pub fn expired() -> Self {
        Self { expired: true, ..Self::declined(None) }
    }
}

/// The reach of a yes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// This call only.
    #[default]
    Once,
    /// This call again, byte for byte, for the rest of the session.
    Session,
    /// The requested permission, for the requester, for a day. Only for a permission request.
    Day,
    /// The requested permission, for the requester, until revoked. Only for a permission request.
    Always,
}

impl ApprovalScope {
    /// Returns the word for files and wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Day => "day",
            Self::Always => "always",
        }
    }
}
