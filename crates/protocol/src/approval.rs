//! A question to a person about one call, and the answer.
//!
//! Must never: be answered by the one who is asked about. Only people and their programs answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::ToolCall;
use crate::hash::ContentHash;
use crate::id::ApprovalId;
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
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Yes or no.
    pub allow: bool,
    /// How far a yes reaches.
    #[serde(default)]
    pub reach: Reach,
    /// Why; told to the model with a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How far a yes reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// This call only.
    #[default]
    Once,
    /// The same call, byte for byte, for the rest of the session.
    Session,
}
