//! Hooks that look at events and may start work: what they are, what sets them off, what came of it.
//!
//! Who may (access) is decided before; a hook never chooses a session or a power.
//!
//! Must never: decide whether a hook is set off.

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

/// The kind of the events by which hooks have something done. No channel can hand one in.
pub const FIRED: &str = "hook_fired";
/// The field of their metadata that says what set the hooks off.
pub const FIRED_BY: &str = "hook";

/// What set hooks off that have something done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventHookOrigin {
    /// The event.
    pub origin: EventId,
    /// The hooks.
    pub hooks: Vec<EventHookId>,
    /// Who is to do it; none means who answers on the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// A hook that looks at events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventHook {
    /// Which hook; all its versions have the same.
    pub id: EventHookId,
    /// What people call it.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it goes on after it fired.
    #[serde(default)]
    pub mode: HookMode,
    /// What must be so before its program runs.
    #[serde(default)]
    pub triggers: Triggers,
    /// What its program is told each time.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub config: Map<String, Value>,
    /// What runs.
    pub program: HookProgram,
    /// Who made it.
    pub created_by: Author,
    /// Which version, from one.
    pub version: u32,
}

/// What an event hook runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookProgram {
    /// The file that it was taken from.
    pub path: String,
    /// The hash of its text; the text itself is kept, and this is what runs.
    pub hash: ContentHash,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// Whether it may ask the model.
    #[serde(default)]
    pub model: bool,
}

/// Who made something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Author {
    /// A person, by the name of the account or of the entity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// The agent, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// In which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// In which turn.
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

/// Whether a hook goes on after it fired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookMode {
    /// It does.
    #[default]
    Persistent,
    /// It is disabled when it has fired once.
    #[serde(alias = "one_shot", alias = "oneshot")]
    OneShot,
}

impl HookMode {
    /// The word.
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

/// What must be so before a hook's program runs. All that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Triggers {
    /// Who it is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<PrincipalTrigger>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<EventTrigger>,
}

/// Who an event must be from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrincipalTrigger {
    /// The kind of speaker: one, or one of several.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<OneOrMany<PrincipalKind>>,
    /// What the owner calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is to the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relationship: Option<String>,
    /// The entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// The program, for a webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// What an event must be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EventTrigger {
    /// One of these channels; none named means any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// One of these kinds, such as `timer_tick`; none named means any. A message without a kind is `message`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Which way it went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// What its metadata must say, exactly.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
}

/// One, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// Several.
    Many(Vec<T>),
}

impl<T: PartialEq> OneOrMany<T> {
    /// Whether it is among them.
    pub fn contains(&self, wanted: &T) -> bool {
        match self {
            Self::One(one) => one == wanted,
            Self::Many(all) => all.contains(wanted),
        }
    }
}

/// What happened to the hooks that look at events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum EventHookChange {
    /// There is a new one, or a new version. World.
    Registered {
        /// The hook.
        hook: Box<EventHook>,
    },
    /// It may be set off. World.
    Enabled {
        /// Which.
        hook: EventHookId,
        /// Who wants it so.
        by: Author,
    },
    /// It is not set off any more. World, or because it has fired.
    Disabled {
        /// Which.
        hook: EventHookId,
        /// Who wants it so.
        by: Author,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It is gone; what it did stays. World.
    Deleted {
        /// Which.
        hook: EventHookId,
        /// Who wants it so.
        by: Author,
    },
    /// An event set these off; their programs are still to run.
    Matched {
        /// The event.
        event: EventId,
        /// The decision that let it in.
        access: AccessId,
        /// Each with the number that its running will have.
        invocations: Vec<EventHookMatch>,
    },
    /// A program is about to run.
    Begun {
        /// Which running.
        invocation: InvocationId,
    },
    /// A program has run.
    Invoked(Box<Invocation>),
    /// All programs that an event set off have run, and what they want is on its way.
    Settled {
        /// The event.
        event: EventId,
    },
}

/// A hook that was set off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventHookMatch {
    /// Which running.
    pub invocation: InvocationId,
    /// Which hook.
    pub hook: EventHookId,
    /// Which version of it.
    pub version: u32,
}

/// One running of an event hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Invocation {
    /// Which running.
    pub id: InvocationId,
    /// Which hook.
    pub hook_id: EventHookId,
    /// Which version of it.
    pub version: u32,
    /// What set it off.
    pub event_id: EventId,
    /// When it began, in milliseconds since 1970.
    pub started_at: u64,
    /// When it was over.
    pub finished_at: u64,
    /// How long it took.
    pub latency_ms: u64,
    /// Whether it wants something to happen.
    pub fired: bool,
    /// What it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<FireResult>,
    /// What it asked of the runtime.
    #[serde(flatten)]
    pub spent: EventHookUsage,
    /// Why it did not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How its breaker stands from then on.
    pub circuit: Circuit,
}

/// What a hook asked of the runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EventHookUsage {
    /// Questions to the model.
    pub llm_calls: u32,
    /// Tokens read.
    pub llm_tokens_in: u64,
    /// Tokens written.
    pub llm_tokens_out: u64,
    /// What they cost, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm_cost_usd: Option<f64>,
    /// Searches of events.
    pub search_calls: u32,
}

/// What an event hook answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FireResult {
    /// Whether something is to happen.
    pub fire: bool,
    /// Who is to do it; none means the session's own agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// What it is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<FireContext>,
    /// Whether the hook is to be disabled.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_hook: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What an agent is told by a hook that fired.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FireContext {
    /// What it is to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What the hook found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extracted: Option<Value>,
    /// Whether what was said before in the same place goes along.
    #[serde(skip_serializing_if = "is_false")]
    pub include_thread: bool,
}

/// How the breaker of a hook stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Circuit {
    /// Whether it lets through.
    pub state: CircuitState,
    /// Errors since it last worked.
    pub consecutive_errors: u32,
    /// When it opened, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<u64>,
}

/// Whether a breaker lets through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    /// It does.
    #[default]
    Closed,
    /// It does not, for a while.
    Open,
    /// One try is under way.
    HalfOpen,
}

impl CircuitState {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}
