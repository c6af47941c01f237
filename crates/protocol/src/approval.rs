//! A question to a person about one call, and the answer.
//!
//! Two kinds: may the agent make this call, and may the one who wrote to the agent have it made. The
//! second is a request for permission.
//!
//! Must never: be answered by the one who is asked about. Only people and their programs answer.

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

/// A question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// Which question.
    pub id: ApprovalId,
    /// The exact call.
    pub call: ToolCall,
    /// Why it is asked.
    pub ruling: Ruling,
    /// The hash of the tool and its arguments: an answer is for this and nothing else.
    pub digest: ContentHash,
    /// What is asked.
    #[serde(default, skip_serializing_if = "ApprovalKind::is_tool_call")]
    pub kind: ApprovalKind,
    /// What the call depends on as it was when the question was asked: an answer is for this content only.
    #[serde(default, skip_serializing_if = "CallFacts::is_empty")]
    pub facts: CallFacts,
}

impl Approval {
    /// The request, if it is one for permission.
    pub fn request(&self) -> Option<&PermissionRequest> {
        match &self.kind {
            ApprovalKind::ToolCall => None,
            ApprovalKind::Permission(request) => Some(request),
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalKind {
    /// Whether the agent may make this call.
    #[default]
    ToolCall,
    /// Whether somebody may have it made who has no permission for it.
    Permission(Box<PermissionRequest>),
}

impl ApprovalKind {
    /// The word.
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

/// A request to the owner: somebody lacks the permission for a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionRequest {
    /// Who lacks it.
    pub requester: Principal,
    /// Where they wrote.
    pub requester_channel: String,
    /// What a yes for a day or for good would give.
    pub resources: Vec<Resource>,
    /// Why it is not allowed, in words.
    pub reason: String,
    /// What they wrote, cut where it is long.
    pub original_message: String,
    /// When the turn that asks last heard of the time, in milliseconds since 1970.
    pub created_at: u64,
    /// From then on nobody can answer any more.
    pub expires_at: u64,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalAnswer {
    /// Yes or no.
    pub allow: bool,
    /// How far a yes reaches.
    #[serde(default)]
    pub reach: ApprovalScope,
    /// Why; told to the model with a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Arguments that take the place of those of the call; only with a yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Value>,
    /// Nobody answered in time; it counts as a no, and not as a denial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// Where it was given: the channel, or the key to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl ApprovalAnswer {
    /// A yes that reaches so far.
    pub fn approved(reach: ApprovalScope) -> Self {
        Self { allow: true, reach, reason: None, edit: None, expired: false, by: None }
    }

    /// A no, perhaps with a reason.
    pub fn declined(reason: Option<String>) -> Self {
        Self { reason, allow: false, ..Self::approved(ApprovalScope::Once) }
    }

    /// The same, given there.
    pub fn by(self, place: impl Into<String>) -> Self {
        Self { by: Some(place.into()), ..self }
    }

    /// What is written when nobody answered in time.
    pub fn expired() -> Self {
        Self { expired: true, ..Self::declined(None) }
    }
}

/// How far a yes reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// This call only.
    #[default]
    Once,
    /// The same call, byte for byte, for the rest of the session.
    Session,
    /// What was asked for, for the one who asked, for a day. Only for a request for permission.
    Day,
    /// What was asked for, for the one who asked, until it is taken back. Only for a request for permission.
    Always,
}

impl ApprovalScope {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Day => "day",
            Self::Always => "always",
        }
    }
}
