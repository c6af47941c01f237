//! What becomes of something that a channel handed in: who it is from, where it goes, how it waits, and
//! what was sent back.
//!
//! Must never: decide. The kernel decides; this is what is recorded of it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{AccessRecord, Delivery, Grant, UnknownWord};
use crate::hash::ContentHash;
use crate::id::{AccessId, AgentId, GrantId, TokenId};
use crate::inbound::{EventId, Inbound};
use crate::token::Token;

/// What became of something on its way from a channel to a session and back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum IntakeStage {
    /// A channel handed it in. World.
    Received {
        /// What was handed in.
        inbound: Box<Inbound>,
    },
    /// It was decided whether its sender may, and with what powers.
    Decided {
        /// The decision, as the audit keeps it.
        record: Box<AccessRecord>,
    },
    /// It lies in the mailbox of a session.
    Routed(Box<RoutedInbound>),
    /// It has no turn, and will have none.
    Unrun {
        /// What came in.
        event: EventId,
        /// Why.
        why: UnrunReason,
        /// In words, where there is more to say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// A piece of its answer went out.
    ChunkSent {
        /// What is answered.
        event: EventId,
        /// Which piece, from zero.
        chunk: u32,
        /// What the channel calls it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// Its answer went out, or did not.
    Delivered(Box<DeliveryReport>),
    /// From now on messages of the session wait so; nothing said means as elsewhere. World.
    QueueSet {
        /// How.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wish: Option<QueuePreferences>,
    },
}

/// What changed about who may do what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum AccessChange {
    /// Somebody gave a power.
    GrantGiven {
        /// The grant.
        grant: Box<Grant>,
    },
    /// Somebody took a power back.
    GrantRevoked {
        /// The grant.
        grant: GrantId,
        /// Who.
        by: String,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The time of a power is over.
    GrantExpired {
        /// The grant.
        grant: GrantId,
    },
    /// Somebody is known from now on, or is known otherwise.
    EntityChanged {
        /// Who.
        entity: Box<Entity>,
    },
    /// Somebody is not known any more.
    EntityRemoved {
        /// Who.
        entity: String,
    },
    /// Somebody has a key to the server.
    TokenIssued {
        /// The key.
        token: Box<Token>,
    },
    /// A key opens nothing any more.
    TokenRevoked {
        /// The key.
        token: TokenId,
        /// Who took it back.
        by: String,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Old audit records are not listed any more.
    AuditTrimmed(AuditCutoff),
}

/// Somebody or something that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entity {
    /// The id that policies and grants name.
    pub id: String,
    /// A person, or a persona of an agent.
    #[serde(rename = "type", default)]
    pub kind: EntityKind,
    /// What people call it.
    pub name: String,
    /// Whether it is the owner.
    #[serde(default)]
    pub is_user: bool,
    /// What it is to the owner: partner, friend, colleague.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relationship: Option<String>,
    /// Words that policies and grants may ask for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Who it is on each channel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<Identity>,
}

/// What an entity is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// A person.
    #[default]
    Person,
    /// A persona that an agent wears.
    Persona,
}

/// Who an entity is on one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// The channel.
    pub channel: String,
    /// The channel's id of it.
    pub identifier: String,
    /// Our account that knows it so; none means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// Whether it is an account of ours, so that what it says is not from outside.
    #[serde(default)]
    pub is_owned: bool,
}

/// What is done with an item too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverflowPolicy {
    /// The oldest of the sender is dropped.
    Old,
    /// The new one is turned away.
    New,
    /// The oldest of the sender is dropped, and the next prompt says so with a line for each.
    Summarize,
}

impl FromStr for OverflowPolicy {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word.trim().to_ascii_lowercase().as_str() {
            "old" | "oldest" => Ok(Self::Old),
            "new" | "newest" => Ok(Self::New),
            "summarize" | "summary" => Ok(Self::Summarize),
            _ => Err(UnknownWord { word: word.to_owned(), known: "old, new, summarize" }),
        }
    }
}

/// What kind of sender an item is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SenderKind {
    /// A person.
    Person,
    /// A program that calls in.
    Program,
    /// Another agent.
    Agent,
    /// A clock.
    Timer,
    /// A look whether anything is to be done; a busy session does not need it.
    Heartbeat,
}

/// How an item waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueSettings {
    /// How it reaches a busy session.
    pub mode: Delivery,
    /// How long it must be quiet before items are collected.
    pub debounce_ms: u64,
    /// How many items of one sender may wait.
    pub cap: usize,
    /// What is done with one too many.
    pub drop: OverflowPolicy,
}

/// What one level says about how items wait; it may leave anything open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueuePreferences {
    /// How items reach a busy session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Delivery>,
    /// How long it must be quiet before items are collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce_ms: Option<u64>,
    /// How many items of one sender may wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<usize>,
    /// What is done with one too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<OverflowPolicy>,
}

/// Where something that came in goes, and how it waits there. The session is in the envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutedInbound {
    /// What came in.
    pub event: EventId,
    /// The decision that let it in.
    pub access: AccessId,
    /// Who is to answer.
    pub agent: AgentId,
    /// The persona that answers; none means the agent's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// What kind of sender it is from.
    pub source: SenderKind,
    /// The hash of what its sender may do.
    pub authority: ContentHash,
    /// What is said, where that is not what came in word for word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How it waits.
    pub settings: QueueSettings,
    /// Its answer is held back until then, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_after: Option<u64>,
    /// Whoever said it waits for the answer at the process that runs it; no other takes it up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub here: bool,
}

/// Why something that came in has no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnrunReason {
    /// No hook wanted it.
    NoHook,
    /// Hooks took it over: what they want done came in as events of their own.
    Fired,
    /// It was all about how later messages wait.
    Directive,
    /// As many of this sender wait as may, and new ones are turned away.
    Cap,
    /// The mailbox holds no more of anybody.
    Full,
    /// A newer one needed the room.
    Overflow,
    /// A newer one needed the room, and the next prompt has a line about this one.
    Summarized,
    /// The sender interrupted with something newer.
    Interrupted,
    /// Somebody stopped the session.
    Aborted,
    /// It met a busy session and was not needed there.
    Busy,
    /// Its directive cannot be read.
    BadDirective,
    /// There is no such agent or persona, or it does not load.
    NoAgent,
}

impl UnrunReason {
    /// The word, as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoHook => "no_hook",
            Self::Fired => "fired",
            Self::Directive => "directive",
            Self::Cap => "cap",
            Self::Full => "full",
            Self::Overflow => "overflow",
            Self::Summarized => "summarized",
            Self::Interrupted => "interrupted",
            Self::Aborted => "aborted",
            Self::Busy => "busy",
            Self::BadDirective => "bad_directive",
            Self::NoAgent => "no_agent",
        }
    }
}

impl fmt::Display for UnrunReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fired => "hooks took it over",
            Self::NoHook => "no hook wanted it",
            Self::Directive => "it only said how messages wait from now on",
            Self::Cap => "too many of this sender wait, and new ones are turned away",
            Self::Full => "too many wait in this session",
            Self::Overflow => "too many of this sender waited, and a newer one took its place",
            Self::Summarized => {
                "too many of this sender waited; the next prompt has a line about it"
            }
            Self::Interrupted => "its sender interrupted with something newer",
            Self::Aborted => "somebody stopped the session",
            Self::Busy => "the session was busy, and this was not needed then",
            Self::BadDirective => "its directive cannot be read",
            Self::NoAgent => "there is no such agent or persona",
        })
    }
}

/// What came of sending an answer back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliveryReport {
    /// What is answered.
    pub event: EventId,
    /// How many pieces the answer has.
    pub chunks: u32,
    /// How many of them went out.
    pub chunks_sent: u32,
    /// What the channel calls them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub message_ids: Vec<String>,
    /// How long the answer is, in characters.
    pub total_chars: u64,
    /// Why the rest did not go out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<DeliveryError>,
    /// What was sent, as an event of its own; none if nothing went out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Box<Inbound>>,
}

/// Why a channel did not send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DeliveryError {
    /// The channel wants less for a while.
    RateLimited {
        /// How long.
        #[serde(default)]
        retry_after_ms: Option<u64>,
    },
    /// We may not write there.
    PermissionDenied {
        /// In words.
        reason: String,
    },
    /// There is no such place.
    NotFound {
        /// Which.
        target: String,
    },
    /// The channel does not take this content.
    ContentRejected {
        /// In words.
        reason: String,
    },
    /// The way to the channel is broken.
    Network {
        /// In words.
        message: String,
    },
    /// Anything else.
    Unknown {
        /// In words.
        message: String,
    },
}

impl DeliveryError {
    /// Whether the same may work later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Network { .. } | Self::Unknown { .. } => true,
            Self::PermissionDenied { .. }
            | Self::NotFound { .. }
            | Self::ContentRejected { .. } => false,
        }
    }
}

impl fmt::Display for DeliveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RateLimited { retry_after_ms: Some(ms) } => {
                write!(f, "the channel wants less; it may be tried again in {ms} ms")
            }
            Self::RateLimited { retry_after_ms: None } => f.write_str("the channel wants less"),
            Self::PermissionDenied { reason } => write!(f, "the channel does not let us: {reason}"),
            Self::NotFound { target } => write!(f, "the channel does not know `{target}`"),
            Self::ContentRejected { reason } => {
                write!(f, "the channel does not take this: {reason}")
            }
            Self::Network { message } => write!(f, "the channel cannot be reached: {message}"),
            Self::Unknown { message } => write!(f, "the channel failed: {message}"),
        }
    }
}

/// Which audit records are not listed any more. The entries themselves stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditCutoff {
    /// Decisions from before this time, in milliseconds since 1970.
    pub access_before: u64,
    /// What became of grants before this time.
    pub grants_before: u64,
}
