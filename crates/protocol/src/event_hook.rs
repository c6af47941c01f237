//! Event hooks, which evaluate events and may start work: definitions, triggers and invocations.
//!
//! Access decides about the event before; a hook never chooses a session or a power.
//!
//! Must never: decide whether a hook is triggered.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::UnknownWord;
use crate::hash::ContentHash;
use crate::id::{AccessId, AgentId, EventHookId, InvocationId, SessionId, TurnId};
use crate::inbound::{Direction, EventId};
use crate::principal::PrincipalKind;

/// The event type of work that event hooks start. Channels cannot submit an event of this type.
pub const FIRED: &str = "hook_fired";
/// The metadata field with the `EventHookOrigin` of such an event.
pub const FIRED_BY: &str = "hook";

/// The origin of work that event hooks start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventHookOrigin {
    /// The event that triggered the hooks.
    pub origin: EventId,
    /// The hooks that fired.
    pub hooks: Vec<EventHookId>,
    /// The agent that does the work; none means the agent that answers on the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// An event hook: a program that evaluates events and may start work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventHook {
    /// The id of the hook; all its versions share it.
    pub id: EventHookId,
    /// The name that people use.
    pub name: String,
    /// The purpose of the hook, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The mode: whether the hook stays enabled after it fires.
    #[serde(default)]
    pub mode: HookMode,
    /// The conditions for a run of the program.
    #[serde(default)]
    pub triggers: Triggers,
    /// The configuration that the program gets at each invocation.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub config: Map<String, Value>,
    /// The program.
    pub program: HookProgram,
    /// The author of this version.
    pub created_by: Author,
    /// The number of the version, from one.
    pub version: u32,
}

/// The program of an event hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookProgram {
    /// The file that the text was read from.
    pub path: String,
    /// The hash of the text. The ledger keeps the text, and the kept text is what runs.
    pub hash: ContentHash,
    /// The time limit, in milliseconds.
    pub timeout_ms: u64,
    /// True if the program may send requests to the model.
    #[serde(default)]
    pub model: bool,
}

/// The author of a hook or of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Author {
    /// The person, by the name of the account or of the entity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// The agent, if an agent is the author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The session in which the agent acted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The turn in which the agent acted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.agent, &self.person) {
            (Some(agent), _) => write!(f, "agent {agent}"),
            (None, Some(person)) => f.write_str(person),
            (None, None) => f.write_str("nobody"),
        }
    }
}

/// The mode of an event hook: whether it stays enabled after it fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookMode {
    /// The hook stays enabled.
    #[default]
    Persistent,
    /// The hook is disabled after it fires once.
    #[serde(alias = "one_shot", alias = "oneshot")]
    OneShot,
}

impl HookMode {
    /// Returns the word for files and wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Persistent => "persistent",
            Self::OneShot => "one-shot",
        }
    }
}

impl FromStr for HookMode {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "persistent" => Ok(Self::Persistent),
            "one-shot" | "one_shot" | "oneshot" => Ok(Self::OneShot),
            _ => Err(UnknownWord { word: word.to_owned(), known: "persistent, one-shot" }),
        }
    }
}

/// The conditions for a run of a hook's program. All given conditions must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Triggers {
    /// The condition on the sender; none means any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<PrincipalTrigger>,
    /// The condition on the event; none means any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<EventTrigger>,
}

/// The condition on the sender of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrincipalTrigger {
    /// The kind of principal: one, or one of several.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<OneOrMany<PrincipalKind>>,
    /// The name that the owner gave the principal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The relationship of the principal to the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relationship: Option<String>,
    /// The id of the entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// The name of the program, for a webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The condition on an event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EventTrigger {
    /// The accepted channels; empty means any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// The accepted types, such as `timer_tick`; empty means any. The default type is `message`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// The direction of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Metadata fields that must have exactly these values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
}

/// One value, or a list of values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// A single value.
    One(T),
    /// A list of values.
    Many(Vec<T>),
}

impl<T: PartialEq> OneOrMany<T> {
    /// Returns true if the value is among them.
    pub fn contains(&self, wanted: &T) -> bool {
        match self {
            Self::One(one) => one == wanted,
            Self::Many(all) => all.contains(wanted),
        }
    }
}

/// A change of event hooks, or a step of their invocations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum EventHookChange {
    /// A hook or a new version of it was registered. World.
    Registered {
        /// The hook.
        hook: Box<EventHook>,
    },
    /// A hook was enabled. World.
    Enabled {
        /// The id of the hook.
        hook: EventHookId,
        /// The author of the change.
        by: Author,
    },
    /// A hook was disabled, by an author or because it fired. World.
    Disabled {
        /// The id of the hook.
        hook: EventHookId,
        /// The author of the change.
        by: Author,
        /// The reason, as text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A hook was deleted; its earlier effects stay. World.
    Deleted {
        /// The id of the hook.
        hook: EventHookId,
        /// The author of the change.
        by: Author,
    },
    /// An event triggered hooks; their programs have not run yet.
    Matched {
        /// The id of the event.
        event: EventId,
        /// The access decision that allowed the event.
        access: AccessId,
        /// The triggered hooks, each with the id of its future invocation.
        invocations: Vec<EventHookMatch>,
    },
    /// The program of an invocation is about to run.
    Begun {
        /// The id of the invocation.
        invocation: InvocationId,
    },
    /// The program of an invocation ran.
    Invoked(Box<Invocation>),
    /// All programs that an event triggered ran, and their work was submitted.
    Settled {
        /// The id of the event.
        event: EventId,
    },
}

/// A triggered hook with the id of its invocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventHookMatch {
    /// The id of the invocation.
    pub invocation: InvocationId,
    /// The id of the hook.
    pub hook: EventHookId,
    /// The version of the hook.
    pub version: u32,
}

/// An invocation of an event hook: one run of its program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Invocation {
    /// The id of the invocation.
    pub id: InvocationId,
    /// The id of the hook.
    pub hook_id: EventHookId,
    /// The version of the hook.
    pub version: u32,
    /// The event that triggered the hook.
    pub event_id: EventId,
    /// The time of the start, in milliseconds since 1970.
    pub started_at: u64,
    /// The time of the end, in milliseconds since 1970.
    pub finished_at: u64,
    /// The duration, in milliseconds.
    pub latency_ms: u64,
    /// True if the hook fired: its program asked for work.
    pub fired: bool,
    /// The answer of the program; none if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<FireResult>,
    /// The resources that the program used.
    #[serde(flatten)]
    pub spent: EventHookUsage,
    /// The reason of the failure, as text; none if the program worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The state of the hook's breaker after the invocation.
    pub circuit: Circuit,
}

/// The resources of the runtime that the program of a hook used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EventHookUsage {
    /// The number of requests to the model.
    pub llm_calls: u32,
    /// The number of input tokens.
    pub llm_tokens_in: u64,
    /// The number of output tokens.
    pub llm_tokens_out: u64,
    /// The cost of the requests, in US dollars; none means that it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm_cost_usd: Option<f64>,
    /// The number of searches for events.
    pub search_calls: u32,
}

/// The answer of an event hook's program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FireResult {
    /// True if the hook fires, so that work starts.
    pub fire: bool,
    /// The agent that does the work; none means the session's own agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The texts and data for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<FireContext>,
    /// True if the hook asks to be disabled.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_hook: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The texts and data that a fired hook gives to the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FireContext {
    /// The instruction for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The data that the hook extracted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extracted: Option<Value>,
    /// True if the prompt quotes the earlier messages of the same place.
    #[serde(skip_serializing_if = "is_false")]
    pub include_thread: bool,
}

/// The state of a hook's breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Circuit {
    /// The position of the breaker.
    pub state: CircuitState,
    /// The number of errors since the last success.
    pub consecutive_errors: u32,
    /// The time at which it opened, in milliseconds since 1970; none unless it opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<u64>,
}

/// The position of a breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    /// The hook runs.
    #[default]
    Closed,
    /// The hook is paused after repeated errors.
    Open,
    /// One trial of the hook is running.
    HalfOpen,
}

impl CircuitState {
    /// Returns the word for files and wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}
