//! What was decided about who may reach an agent and with what powers, as it is recorded.
//!
//! Each power carries where it came from: the policy or the grant by its name.
//!
//! Must never: decide. The kernel decides; this is what its decision looks like.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{AccessId, GrantId};
use crate::inbound::{EventId, PeerKind};
use crate::principal::Principal;

mod bounds;
mod grant;
mod terms;

pub use bounds::{Bounds, RequestLimits, RequestQuota};
pub use grant::{Grant, GrantConditions, PrincipalQuery, Resource, WrongResource};
pub use terms::{Delivery, DisclosureLevel, Effect, UnknownWord};

/// What was decided about one event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// The outcome.
    pub effect: Effect,
    /// Why it was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny_reason: Option<DenyReason>,
    /// Which tools may be called.
    pub tools: ToolBounds,
    /// Which credentials may be used.
    pub credentials: Credentials,
    /// How much may be told.
    pub data: AttributedDisclosureLevel,
    /// Commands that a grant lets run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exec: Vec<AttributedName>,
    /// Where it goes; the canonical session if no policy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionChoice>,
    /// How it is handled.
    #[serde(default, skip_serializing_if = "Modifiers::is_empty")]
    pub modifiers: Modifiers,
    /// The policies that matched, the first in rank first, each with its part.
    pub matched: Vec<PolicyContribution>,
    /// The grants that were active.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<GrantId>,
}

/// Why an event was denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum DenyReason {
    /// A policy denies it.
    Policy {
        /// Its name.
        policy: Arc<str>,
    },
    /// No policy allows it.
    NobodyAllows,
    /// The session key has a place for something that is not known of this event.
    MissingValue {
        /// The policy with the key.
        policy: Arc<str>,
        /// What is not known.
        variable: String,
    },
    /// The session key came out longer than one may be.
    KeyTooLong {
        /// The policy with the key.
        policy: Arc<str>,
    },
}

impl fmt::Display for DenyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy { policy } => write!(f, "the policy `{policy}` denies it"),
            Self::NobodyAllows => f.write_str("no policy allows it"),
            Self::MissingValue { policy, variable } => {
                write!(f, "the session key of `{policy}` needs `{variable}`, which is not known")
            }
            Self::KeyTooLong { policy } => {
                write!(f, "the session key of `{policy}` comes out too long")
            }
        }
    }
}

/// Which tools may be called, as lists that are asked in turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolBounds {
    /// A tool on one of these is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Arc<NameList>>,
    /// A tool must be on each of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<Arc<NameList>>,
    /// A tool must be on each of these, since a policy denies all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Arc<NameList>>,
    /// A tool on one of these is refused, whatever else holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<Arc<NameList>>,
    /// A tool on one of these is allowed by a grant unless it is denied by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<Arc<NameList>>,
}

/// Names or patterns with `*` and `?`, from one policy or grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NameList {
    /// Who says so.
    pub from: PermissionSource,
    /// The names.
    pub names: Vec<Arc<str>>,
}

/// Who gave a power.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PermissionSource {
    /// The policy with this name.
    Policy(Arc<str>),
    /// The grant with this id.
    Grant(GrantId),
    /// Nobody said anything, so the least holds.
    Default,
}

impl fmt::Display for PermissionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(name) => write!(f, "policy {name}"),
            Self::Grant(id) => write!(f, "grant {id}"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A name, and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttributedName {
    /// The name.
    pub name: Arc<str>,
    /// Who says so.
    pub from: PermissionSource,
}

/// Which credentials may be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Credentials {
    /// All of them.
    All(PermissionSource),
    /// These.
    Named(Vec<AttributedName>),
}

/// How much may be told, and who says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttributedDisclosureLevel {
    /// How much.
    pub level: DisclosureLevel,
    /// Who says so.
    pub from: PermissionSource,
}

/// Where an event goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionChoice {
    /// The session's key, with all values in their places.
    pub key: String,
    /// Who answers there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<Arc<str>>,
    /// The policy that says so.
    pub policy: Arc<str>,
}

/// How an event is handled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Modifiers {
    /// How it reaches a busy session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<PolicyValue<Delivery>>,
    /// Whether the answer waits until the quiet time is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_response: Option<PolicyValue<bool>>,
}

impl Modifiers {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.delivery.is_none() && self.delay_response.is_none()
    }
}

/// A value, and the policy that says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Said_{T}")]
pub struct PolicyValue<T> {
    /// The value.
    pub value: T,
    /// The policy.
    pub policy: Arc<str>,
}

/// One policy's part in a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyContribution {
    /// The policy.
    pub policy: Arc<str>,
    /// Its part.
    pub part: PolicyOutcome,
}

/// What a policy did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyOutcome {
    /// It is switched off.
    Disabled,
    /// It was not concerned, because of this key.
    NotMatched(MatchKey),
    /// It allowed.
    Allowed,
    /// It denied.
    Denied,
    /// It only said how the event is handled.
    Modified,
}

impl fmt::Display for PolicyOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("disabled"),
            Self::NotMatched(key) => write!(f, "not matched: {key}"),
            Self::Allowed => f.write_str("allowed"),
            Self::Denied => f.write_str("denied"),
            Self::Modified => f.write_str("modified"),
        }
    }
}

/// A key by which a policy says whom and when it concerns.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MatchKey {
    /// `is_user`.
    IsUser,
    /// `relationship`.
    Relationship,
    /// `tags`.
    Tags,
    /// `person_id`.
    PersonId,
    /// `unknown`.
    Unknown,
    /// `system`.
    System,
    /// `webhook`.
    Webhook,
    /// `agent`.
    Agent,
    /// `channel`.
    Channel,
    /// `peer_kind`.
    PeerKind,
    /// `account`.
    Account,
    /// `guild`.
    Guild,
    /// `time`.
    Time,
    /// `hook_id`.
    HookId,
    /// `event_type`.
    EventType,
}

impl fmt::Display for MatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IsUser => "is_user",
            Self::Relationship => "relationship",
            Self::Tags => "tags",
            Self::PersonId => "person_id",
            Self::Unknown => "unknown",
            Self::System => "system",
            Self::Webhook => "webhook",
            Self::Agent => "agent",
            Self::Channel => "channel",
            Self::PeerKind => "peer_kind",
            Self::Account => "account",
            Self::Guild => "guild",
            Self::Time => "time",
            Self::HookId => "hook_id",
            Self::EventType => "event_type",
        })
    }
}

/// One decision as the audit keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccessRecord {
    /// Which record.
    pub id: AccessId,
    /// When it was decided, in milliseconds since 1970.
    pub timestamp: u64,
    /// The event, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<EventId>,
    /// Where it was said.
    pub channel: String,
    /// Who the channel says it was.
    pub sender_identifier: String,
    /// What the other side is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_kind: Option<PeerKind>,
    /// Which account of ours heard it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Who it was.
    pub principal: Principal,
    /// The policies that were looked at.
    pub policies_evaluated: Vec<Arc<str>>,
    /// What was decided.
    #[serde(flatten)]
    pub decision: Decision,
    /// The tools that were there, sorted into two heaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<ResolvedTools>,
    /// How long it took, in milliseconds.
    pub processing_time_ms: f64,
}

/// The tools that were there when it was decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedTools {
    /// Those that may be called.
    pub tools_allowed: Vec<String>,
    /// Those that may not.
    pub tools_denied: Vec<String>,
}
