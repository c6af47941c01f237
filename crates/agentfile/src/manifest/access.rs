//! `access/*.yml`: policies as written.
//!
//! A file holds one policy, a list of them, or a list under `policies`.
//!
//! Must never: be evaluated here. This is the shape only.

use agentry_protocol::access::Effect;
use agentry_protocol::inbound::PeerKind;
use agentry_protocol::principal::PrincipalKind;
use schemars::JsonSchema;
use serde::Deserialize;

/// The forms that a file can have.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AccessYml {
    /// A map with the list `policies`.
    Named(PoliciesYml),
    /// A list of policies.
    List(Vec<PolicyYml>),
    /// One policy.
    One(Box<PolicyYml>),
}

/// All policies of a file.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoliciesYml {
    /// The policies.
    pub policies: Vec<PolicyYml>,
}

/// One policy.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyYml {
    /// The unique name of the policy: lower-case words with `-` between.
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$"))]
    pub name: String,
    /// The purpose of the policy.
    pub description: Option<String>,
    /// The principals and events that it applies to; all of them when absent.
    #[serde(rename = "match")]
    pub matching: Option<MatchYml>,
    /// allow or deny; one matching policy that denies wins over all that allow.
    pub effect: Effect,
    /// The powers of the principals it applies to.
    pub permissions: Option<PermissionsYml>,
    /// The session that receives their messages.
    pub session: Option<SessionYml>,
    /// The handling of their messages.
    pub modifiers: Option<ModifiersYml>,
    /// 0 to 100, 50 when absent; the highest chooses session and modifiers.
    #[schemars(range(min = 0, max = 100))]
    pub priority: Option<u8>,
    /// false disables the policy.
    pub enabled: Option<bool>,
    /// true: its permissions are an upper limit, even if other policies give more.
    pub ceiling: Option<bool>,
    /// true: its session wins over that of every policy that does not isolate.
    pub isolate: Option<bool>,
    /// Events with the expected decision; tested when the policies are read.
    pub examples: Option<Vec<ExampleYml>>,
}

/// The principals and the conditions of a policy.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MatchYml {
    /// The principal; all given fields must match.
    pub principal: Option<PrincipalYml>,
    /// Places and times; one of the conditions must match.
    #[schemars(length(min = 1))]
    pub conditions: Option<Vec<ConditionYml>>,
}

/// A test of the principal.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrincipalYml {
    /// true: the owner; false: every other principal.
    pub is_user: Option<bool>,
    /// The relationship to the owner, such as partner, family, friend or work.
    #[schemars(length(min = 1))]
    pub relationship: Option<String>,
    /// Tags, all of which the entity must have.
    #[schemars(length(min = 1))]
    pub tags: Option<Vec<String>>,
    /// The id of one entity.
    #[schemars(length(min = 1))]
    pub person_id: Option<String>,
    /// true: unknown senders; false: every other principal.
    pub unknown: Option<bool>,
    /// true: timers and other system events; false: every other principal.
    pub system: Option<bool>,
    /// The source of a webhook, or `*` for every source.
    #[schemars(length(min = 1))]
    pub webhook: Option<String>,
    /// The agent that sends the message, or `*` for every agent.
    #[schemars(length(min = 1))]
    pub agent: Option<String>,
}

/// A place and time; all given fields must match.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConditionYml {
    /// The channel.
    #[schemars(length(min = 1))]
    pub channel: Option<String>,
    /// The kind of the other side: one person, a group, or a public channel.
    pub peer_kind: Option<PeerKind>,
    /// Your account that received the event.
    #[schemars(length(min = 1))]
    pub account: Option<String>,
    /// The server or workspace.
    #[schemars(length(min = 1))]
    pub guild: Option<String>,
    /// `HH:MM-HH:MM` in the owner's zone, `weekends` or `weekdays`.
    pub time: Option<String>,
    /// The id of the hook whose timer fired.
    #[schemars(length(min = 1))]
    pub hook_id: Option<String>,
    /// The kind of event, such as `timer`.
    #[schemars(length(min = 1))]
    pub event_type: Option<String>,
}

/// The powers that a policy gives.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionsYml {
    /// Tools: `"*"`, a list, or a map with `allow` and `deny`.
    pub tools: Option<ToolsYml>,
    /// Credentials: a list of names, or `"*"`.
    pub credentials: Option<NamesYml>,
    /// The level of data access: none, minimal, contextual or full; `restricted` means contextual.
    pub data: Option<String>,
}

/// Tools, in one of three forms.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ToolsYml {
    /// `"*"`, or a list.
    Names(NamesYml),
    /// Allowed and denied tools.
    Both(AllowDenyYml),
}

/// Allowed and denied tools.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowDenyYml {
    /// Tools that may be called, or `"*"`.
    pub allow: Option<NamesYml>,
    /// Tools that may not be called, even if a policy allows them; `"*"`: all but those of `allow`.
    pub deny: Option<NamesYml>,
}

/// `"*"`, or a list of names.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NamesYml {
    /// `"*"`.
    Word(Wildcard),
    /// Names or patterns with `*` and `?`.
    List(#[schemars(inner(length(min = 1)))] Vec<String>),
}

/// The wildcard for all names.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
pub enum Wildcard {
    /// `"*"`.
    #[serde(rename = "*")]
    All,
}

/// The session that receives messages.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionYml {
    /// The persona that answers.
    #[schemars(length(min = 1))]
    pub persona: Option<String>,
    /// The key of the session; placeholders such as `{principal.name}` are filled in.
    pub key: String,
}

/// The handling of messages.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModifiersYml {
    /// The delivery to a busy session: steer, followup, collect, interrupt.
    pub queue_mode: Option<String>,
    /// true: the answer waits until the quiet time is over.
    pub delay_response: Option<bool>,
}

/// An event with the expected decision.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExampleYml {
    /// The sender of the event.
    pub principal: ExamplePrincipalYml,
    /// The channel; `terminal` when absent.
    pub channel: Option<String>,
    /// The kind of the other side: one person, a group, or a public channel.
    pub peer_kind: Option<PeerKind>,
    /// The id of the other side.
    pub peer_id: Option<String>,
    /// Your account that received the event.
    pub account: Option<String>,
    /// The server or workspace.
    pub guild: Option<String>,
    /// The id of the hook whose timer fired.
    pub hook_id: Option<String>,
    /// The type of the event.
    pub event_type: Option<String>,
    /// The time: `HH:MM`, or with a day as in `sat 23:30`; a Monday at noon when absent.
    pub at: Option<String>,
    /// The expected decision.
    pub expect: Effect,
    /// Tools that the decision must allow.
    pub tools: Option<Vec<String>>,
    /// Tools that the decision must deny.
    pub no_tools: Option<Vec<String>>,
    /// The expected key of the session.
    pub session: Option<String>,
}

/// The sender of an example: a kind, or a kind with details.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExamplePrincipalYml {
    /// Only the kind.
    Kind(PrincipalKind),
    /// A kind with details.
    Known(ExamplePersonYml),
}

/// The details of an example's sender.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExamplePersonYml {
    /// The kind; `known` when absent.
    pub kind: Option<PrincipalKind>,
    /// The name.
    pub name: Option<String>,
    /// The relationship to the owner.
    pub relationship: Option<String>,
    /// Tags of the entity.
    pub tags: Option<Vec<String>>,
    /// The id of the entity.
    pub person_id: Option<String>,
    /// The source, for a webhook.
    pub webhook: Option<String>,
    /// The agent, for an agent.
    pub agent: Option<String>,
}
