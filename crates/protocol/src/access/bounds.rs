//! The access decision about the sender of a turn, as far as it binds the calls of the turn.
//!
//! Must never: decide. The kernel compares calls with these bounds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AccessRecord, AttributedDisclosureLevel, AttributedName, Credentials, ToolBounds};
use crate::id::AccessId;
use crate::principal::Principal;

/// The limits of access on every call of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// The decision behind the bounds.
    pub access: AccessId,
    /// The sender.
    pub principal: Principal,
    /// The channel of the sender's message.
    pub channel: String,
    /// The tools that may be called.
    pub tools: ToolBounds,
    /// The credentials that may be used.
    pub credentials: Credentials,
    /// The level of the owner's data that may be disclosed.
    pub data: AttributedDisclosureLevel,
    /// The commands that grants allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exec: Vec<AttributedName>,
    /// The quota of the sender for requests to the owner; none means that requests are not allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestQuota>,
}

impl Bounds {
    /// Returns the bounds of an allowing decision. The caller decides about the quota.
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

/// The quota of one principal for permission requests, and its use so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestQuota {
    /// The limits.
    pub limits: RequestLimits,
    /// The present time, in milliseconds since 1970.
    pub now_ms: u64,
    /// The number of requests of the principal that wait for an answer.
    pub pending: u32,
    /// The time of the last request, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_asked_ms: Option<u64>,
    /// The times of denied requests, the newest first, as many as the limit needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials_ms: Vec<u64>,
}

/// The limits on permission requests of one principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestLimits {
    /// The limit of requests that wait for an answer.
    pub pending_max: u32,
    /// The least time between two requests, in milliseconds.
    pub cooldown_ms: u64,
    /// The number of denials within a day that blocks further requests.
    pub denials_max: u32,
    /// The length of such a block, in milliseconds.
    pub block_ms: u64,
    /// The time that a request waits for its answer, in milliseconds.
    pub expires_ms: u64,
}
