//! What access decided about the sender of a turn, as far as it binds the calls of the turn.
//!
//! Must never: decide. The kernel compares calls with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AccessRecord, AttributedDisclosureLevel, AttributedName, Credentials, ToolBounds};
use crate::id::AccessId;
use crate::principal::Principal;

/// What binds every call of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// The decision that it is taken from.
    pub access: AccessId,
    /// Who wrote.
    pub principal: Principal,
    /// Where.
    pub channel: String,
    /// Which tools may be called.
    pub tools: ToolBounds,
    /// Which credentials may be used.
    pub credentials: Credentials,
    /// How much may be told.
    pub data: AttributedDisclosureLevel,
    /// Commands that a grant lets run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exec: Vec<AttributedName>,
    /// How the sender may ask the owner for more; none means that nobody is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestQuota>,
}

impl Bounds {
    /// What a decision that allows comes to. Who may ask is for the kernel to say.
    pub fn from_record(record: &AccessRecord, requests: Option<RequestQuota>) -> Self {
        let decision = &record.decision;
        Self {
            access: record.id.clone(),
            principal: record.principal.clone(),
            channel: record.channel.clone(),
            tools: decision.tools.clone(),
            credentials: decision.credentials.clone(),
            data: decision.data.clone(),
            exec: decision.exec.clone(),
            requests,
        }
    }
}

/// How much somebody may ask for, and what they asked for already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestQuota {
    /// The limits.
    pub limits: RequestLimits,
    /// The time, in milliseconds since 1970.
    pub now_ms: u64,
    /// How many of their requests wait for an answer.
    pub pending: u32,
    /// When they last asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_asked_ms: Option<u64>,
    /// When requests of theirs were denied, the newest first, as many as the limit needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials_ms: Vec<u64>,
}

/// How often somebody may ask the owner for permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestLimits {
    /// How many requests of one principal may wait.
    pub pending_max: u32,
    /// How long somebody has to wait before they may ask again, in milliseconds.
    pub cooldown_ms: u64,
    /// So many denials within a day, and nothing more is asked for a while.
    pub denials_max: u32,
    /// How long that is, in milliseconds.
    pub block_ms: u64,
    /// How long a request waits for its answer, in milliseconds.
    pub expires_ms: u64,
}
