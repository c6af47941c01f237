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

/// What a file may be.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AccessYml {
    /// A list under a name.
    Named(PoliciesYml),
    /// A list.
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
    /// Its name, which no other policy has: lower-case words with `-` between.
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$"))]
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whom and when it concerns; everybody and always, if it does not say.
    #[serde(rename = "match")]
    pub matching: Option<MatchYml>,
    /// Whether it lets an event through or stops it; one that stops wins over all that let through.
    pub effect: Effect,
    /// What those it concerns may do.
    pub permissions: Option<PermissionsYml>,
    /// Where their messages go.
    pub session: Option<SessionYml>,
    /// How their messages are handled.
    pub modifiers: Option<ModifiersYml>,
    /// 0 to 100, 50 if it does not say; the highest chooses session and modifiers.
    #[schemars(range(min = 0, max = 100))]
    pub priority: Option<u8>,
    /// false switches it off.
    pub enabled: Option<bool>,
    /// true: nobody it concerns gets more than its permissions, whatever other policies give.
    pub ceiling: Option<bool>,
    /// true: its session wins over that of every policy that does not isolate.
    pub isolate: Option<bool>,
    /// Events with what must come of them; tried when the policies are read.
    pub examples: Option<Vec<ExampleYml>>,
}

/// Whom and when a policy concerns.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MatchYml {
    /// Who; all that is said must hold.
    pub principal: Option<PrincipalYml>,
    /// Where and when; one of them must hold.
    #[schemars(length(min = 1))]
    pub conditions: Option<Vec<ConditionYml>>,
}

/// Who speaks.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrincipalYml {
    /// true: the owner; false: everybody else.
    pub is_user: Option<bool>,
    /// What they are to the owner: partner, family, friend, work.
    #[schemars(length(min = 1))]
    pub relationship: Option<String>,
    /// Tags, all of which they must have.
    #[schemars(length(min = 1))]
    pub tags: Option<Vec<String>>,
    /// One entity.
    #[schemars(length(min = 1))]
    pub person_id: Option<String>,
    /// true: strangers; false: everybody else.
    pub unknown: Option<bool>,
    /// true: timers and what else the runtime does; false: everybody else.
    pub system: Option<bool>,
    /// The program that called, or `*` for every one.
    #[schemars(length(min = 1))]
    pub webhook: Option<String>,
    /// The agent that speaks, or `*` for every one.
    #[schemars(length(min = 1))]
    pub agent: Option<String>,
}

/// Where and when; all that is said must hold.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConditionYml {
    /// The channel.
    #[schemars(length(min = 1))]
    pub channel: Option<String>,
    /// One person, a group, or a channel anybody may join.
    pub peer_kind: Option<PeerKind>,
    /// Which account of ours heard it.
    #[schemars(length(min = 1))]
    pub account: Option<String>,
    /// The server or workspace.
    #[schemars(length(min = 1))]
    pub guild: Option<String>,
    /// `HH:MM-HH:MM` in the owner's zone, `weekends` or `weekdays`.
    pub time: Option<String>,
    /// The hook that a timer woke.
    #[schemars(length(min = 1))]
    pub hook_id: Option<String>,
    /// The kind of event, such as `timer`.
    #[schemars(length(min = 1))]
    pub event_type: Option<String>,
}

/// What somebody may do.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionsYml {
    /// `"*"`, a list, or `allow` and `deny`.
    pub tools: Option<ToolsYml>,
    /// Credentials by name, or `"*"`.
    pub credentials: Option<NamesYml>,
    /// none, minimal, contextual or full; `restricted` means contextual.
    pub data: Option<String>,
}

/// Tools in one of three shapes.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ToolsYml {
    /// All, or a list.
    Names(NamesYml),
    /// What is allowed and what is denied.
    Both(AllowDenyYml),
}

/// What is allowed and what is denied.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowDenyYml {
    /// Tools that may be called, or `"*"`.
    pub allow: Option<NamesYml>,
    /// Tools that may not, whoever else allows them; `"*"` stands for all that `allow` does not name.
    pub deny: Option<NamesYml>,
}

/// All, or a list.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NamesYml {
    /// `"*"`.
    Word(Wildcard),
    /// Names or patterns with `*` and `?`.
    List(#[schemars(inner(length(min = 1)))] Vec<String>),
}

/// The word for all.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
pub enum Wildcard {
    /// `"*"`.
    #[serde(rename = "*")]
    All,
}

/// Where messages go.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionYml {
    /// Who answers.
    #[schemars(length(min = 1))]
    pub persona: Option<String>,
    /// The session's key; `{principal.name}` and the like stand for what is known of the event.
    pub key: String,
}

/// How messages are handled.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModifiersYml {
    /// How a message reaches a busy session: steer, followup, collect, interrupt.
    pub queue_mode: Option<String>,
    /// true: the answer waits until the quiet time is over.
    pub delay_response: Option<bool>,
}

/// An event, and what must come of it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExampleYml {
    /// Who speaks.
    pub principal: ExamplePrincipalYml,
    /// The channel; `terminal` if it does not say.
    pub channel: Option<String>,
    /// One person, a group, or a channel anybody may join.
    pub peer_kind: Option<PeerKind>,
    /// The other side.
    pub peer_id: Option<String>,
    /// Which account of ours heard it.
    pub account: Option<String>,
    /// The server or workspace.
    pub guild: Option<String>,
    /// The hook that a timer woke.
    pub hook_id: Option<String>,
    /// The kind of event.
    pub event_type: Option<String>,
    /// When: `HH:MM`, or a day before it as in `sat 23:30`; a Monday at noon if it does not say.
    pub at: Option<String>,
    /// What must come of it.
    pub expect: Effect,
    /// Tools that must then be allowed.
    pub tools: Option<Vec<String>>,
    /// Tools that must then be refused.
    pub no_tools: Option<Vec<String>>,
    /// The key of the session that it must go to.
    pub session: Option<String>,
}

/// Who speaks in an example: a kind, or a kind with what is known.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExamplePrincipalYml {
    /// Only the kind.
    Kind(PrincipalKind),
    /// What is known.
    Known(ExamplePersonYml),
}

/// What is known of who speaks in an example.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExamplePersonYml {
    /// The kind; `known` if it does not say.
    pub kind: Option<PrincipalKind>,
    /// The name.
    pub name: Option<String>,
    /// What they are to the owner.
    pub relationship: Option<String>,
    /// Their tags.
    pub tags: Option<Vec<String>>,
    /// The entity.
    pub person_id: Option<String>,
    /// The program, for a webhook.
    pub webhook: Option<String>,
    /// The agent, for an agent.
    pub agent: Option<String>,
}
