//! Access decisions and their records: which principal may reach an agent, and with what powers.
//!
//! Each power names its source: a policy or a grant.
//!
//! Must never: decide. The kernel decides; these types record its decision.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{AccessId, GrantId};
use crate::inbound::{EventId, PeerKind};
use crate::principal::Principal;

mod bounds;
mod grant;

pub use crate::access_terms::{Delivery, DisclosureLevel, Effect, UnknownWord};
pub use bounds::{Bounds, RequestLimits, RequestQuota};
pub use grant::{Grant, GrantConditions, PrincipalQuery, Resource, WrongResource};

/// The access decision about one event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Allow or deny.
    pub effect: Effect,
    /// The reason of a denial; none if the event is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny_reason: Option<DenyReason>,
    /// The tools that may be called.
    pub tools: ToolBounds,
    /// The credentials that may be used.
    pub credentials: Credentials,
    /// The level of the owner's data that may be disclosed.
    pub data: AttributedDisclosureLevel,
    /// The commands that grants allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exec: Vec<AttributedName>,
    /// The session; the canonical one if no policy names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionChoice>,
    /// The changes of policies to the handling of the event.
    #[serde(default, skip_serializing_if = "Modifiers::is_empty")]
    pub modifiers: Modifiers,
    /// The policies that matched, each with its part, by rank from the first.
    pub matched: Vec<PolicyContribution>,
    /// The grants that were active at the decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<GrantId>,
}

/// The reason why an event was denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum DenyReason {
    /// A policy denies the event.
    Policy {
        /// The name of the policy.
        policy: Arc<str>,
    },
    /// No policy allows the event.
    NobodyAllows,
    /// The session key of a policy has a placeholder without a value in this event.
    MissingValue {
        /// The policy with the key.
        policy: Arc<str>,
        /// The name of the missing value.
        variable: String,
    },
    /// The session key of a policy becomes too long for this event.
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

/// The tools that may be called, as lists for the kernel to compare with a tool's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolBounds {
    /// A tool on one of these lists is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Arc<NameList>>,
    /// A tool must be on each of these lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<Arc<NameList>>,
    /// A tool must be on each of these lists, since a policy denies all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Arc<NameList>>,
    /// A tool on one of these lists is denied; no other list overrides this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<Arc<NameList>>,
    /// A grant allows a tool on one of these lists unless it is denied by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<Arc<NameList>>,
}

/// Names or patterns with `*` and `?`, from one policy or grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NameList {
    /// The policy or grant with these names.
    pub from: PermissionSource,
    /// The names or patterns.
    pub names: Vec<Arc<str>>,
}

/// The source of a power.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PermissionSource {
    /// The policy with this name.
    Policy(Arc<str>),
    /// The grant with this id.
    Grant(GrantId),
    /// No policy and no grant; the lowest level applies.
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

/// A name with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttributedName {
    /// The name, or the pattern of a command.
    pub name: Arc<str>,
    /// The policy or grant that gives it.
    pub from: PermissionSource,
}

/// The credentials that may be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Credentials {
    /// All credentials.
    All(PermissionSource),
    /// Only these credentials.
    Named(Vec<AttributedName>),
}

/// A data level with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttributedDisclosureLevel {
    /// The level of the owner's data that may be disclosed.
    pub level: DisclosureLevel,
    /// The policy or grant that sets the level.
    pub from: PermissionSource,
}

/// The session that an event goes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionChoice {
    /// The key of the session, with all placeholders filled in.
    pub key: String,
    /// The persona that answers in the session; none means the agent's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<Arc<str>>,
    /// The policy that names the session.
    pub policy: Arc<str>,
}

/// The changes of policies to the handling of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Modifiers {
    /// The delivery to a busy session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<PolicyValue<Delivery>>,
    /// True if the answer is held back until the quiet time ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_response: Option<PolicyValue<bool>>,
}

impl Modifiers {
    /// Returns true if no policy changes the handling.
    pub fn is_empty(&self) -> bool {
        self.delivery.is_none() && self.delay_response.is_none()
    }
}

/// A value with its policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Said_{T}")]
pub struct PolicyValue<T> {
    /// The value of the setting.
    pub value: T,
    /// The policy that sets the value.
    pub policy: Arc<str>,
}

/// The part of one policy in a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyContribution {
    /// The name of the policy.
    pub policy: Arc<str>,
    /// The outcome of its evaluation.
    pub part: PolicyOutcome,
}

/// The outcome of the evaluation of one policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyOutcome {
    /// The policy is switched off.
    Disabled,
    /// The policy does not match because of this key.
    NotMatched(MatchKey),
    /// The policy allowed the event.
    Allowed,
    /// The policy denied the event.
    Denied,
    /// The policy only changed the handling of the event.
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

/// A key by which a policy selects its principals, places and times.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MatchKey {
    /// `is_user`: the sender is the owner.
    IsUser,
    /// `relationship`: the relationship of the sender to the owner.
    Relationship,
    /// `tags`: the tags of the sender.
    Tags,
    /// `person_id`: the entity id of the sender.
    PersonId,
    /// `unknown`: the sender is unknown.
    Unknown,
    /// `system`: the sender is the runtime.
    System,
    /// `webhook`: the program behind a webhook.
    Webhook,
    /// `agent`: the agent that sends.
    Agent,
    /// `channel`: the channel of the event.
    Channel,
    /// `peer_kind`: the kind of conversation.
    PeerKind,
    /// `account`: the account that received the event.
    Account,
    /// `guild`: the server or workspace around the conversation.
    Guild,
    /// `time`: the time of the event, in a daily window.
    Time,
    /// `hook_id`: the hook that a timer triggers.
    HookId,
    /// `event_type`: the type of the event.
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

/// An access decision in the form of the audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccessRecord {
    /// The id of the record.
    pub id: AccessId,
    /// The time of the decision, in milliseconds since 1970.
    pub timestamp: u64,
    /// The event; none if the decision was about no event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<EventId>,
    /// The channel of the event.
    pub channel: String,
    /// The id of the sender, as the channel reports it.
    pub sender_identifier: String,
    /// The kind of conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_kind: Option<PeerKind>,
    /// The account of this installation that received the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The principal that the sender was identified as.
    pub principal: Principal,
    /// The policies that were evaluated.
    pub policies_evaluated: Vec<Arc<str>>,
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
    /// The tools of the agent at that time, split by the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<ResolvedTools>,
    /// The time of the evaluation, in milliseconds.
    pub processing_time_ms: f64,
}

/// The tools of the agent at the time of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedTools {
    /// The tools that may be called.
    pub tools_allowed: Vec<String>,
    /// The tools that may not be called.
    pub tools_denied: Vec<String>,
}
