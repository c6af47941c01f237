//! The stages of an inbound: received, decided, routed to a session, answered; and the changes of
//! grants, entities and keys.
//!
//! Must never: decide. The kernel decides; these types record its decisions.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{AccessRecord, Delivery, Grant, UnknownWord};
use crate::hash::ContentHash;
use crate::id::{AccessId, AgentId, GrantId, TokenId};
use crate::inbound::{EventId, Inbound};
use crate::token::Token;

/// A stage of an inbound between its channel and a session, or of the answer to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum IntakeStage {
    /// A channel submitted an inbound. World.
    Received {
        /// The inbound.
        inbound: Box<Inbound>,
    },
    /// Access decided about the inbound: allowed or not, and with what powers.
    Decided {
        /// The decision in the form of the audit.
        record: Box<AccessRecord>,
    },
    /// The inbound is in the mailbox of a session.
    Routed(Box<RoutedInbound>),
    /// The inbound gets no turn, now and later.
    Unrun {
        /// The id of the event.
        event: EventId,
        /// The reason.
        why: UnrunReason,
        /// Details of the reason, as text; none if there are no details.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// A chunk of the answer was sent.
    ChunkSent {
        /// The id of the event that is answered.
        event: EventId,
        /// The number of the chunk, from zero.
        chunk: u32,
        /// The channel's id of the sent message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    /// The answer was sent, or sending it failed.
    Delivered(Box<DeliveryReport>),
    /// The queue preferences of the session changed; none means the defaults. World.
    QueueSet {
        /// The new preferences.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wish: Option<QueuePreferences>,
    },
}

/// A change of grants, entities, keys or audit records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum AccessChange {
    /// A grant was given.
    GrantGiven {
        /// The grant.
        grant: Box<Grant>,
    },
    /// A grant was revoked.
    GrantRevoked {
        /// The id of the grant.
        grant: GrantId,
        /// The person or program that revoked it.
        by: String,
        /// The reason, as text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A grant reached its end.
    GrantExpired {
        /// The id of the grant.
        grant: GrantId,
    },
    /// An entity was added or changed.
    EntityChanged {
        /// The entity in its new form.
        entity: Box<Entity>,
    },
    /// An entity was removed.
    EntityRemoved {
        /// The id of the entity.
        entity: String,
    },
    /// A key to the server was issued.
    TokenIssued {
        /// The key in its recorded form.
        token: Box<Token>,
    },
    /// A key was revoked, or used up if it works only once.
    TokenRevoked {
        /// The id of the key.
        token: TokenId,
        /// The person or program that revoked it.
        by: String,
        /// The reason, as text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Old audit records are no longer listed.
    AuditTrimmed(AuditCutoff),
}

/// An entity: a known person or persona.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entity {
    /// The id of the entity in policies and grants.
    pub id: String,
    /// The kind of entity.
    #[serde(rename = "type", default)]
    pub kind: EntityKind,
    /// The name that people use.
    pub name: String,
    /// True if the entity is the owner.
    #[serde(default)]
    pub is_user: bool,
    /// The relationship to the owner: partner, friend, colleague.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relationship: Option<String>,
    /// The tags, which policies and grants can match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The identities of the entity on the channels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<Identity>,
}

/// The kind of an entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// A person.
    #[default]
    Person,
    /// A persona that an agent wears.
    Persona,
}

/// The identity of an entity on one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// The name of the channel.
    pub channel: String,
    /// The channel's id of the entity.
    pub identifier: String,
    /// The account of this installation that the id is valid for; none means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// True for an account of this installation; its messages are not input from outside.
    #[serde(default)]
    pub is_owned: bool,
}

/// The rule for an item that exceeds the limit of a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverflowPolicy {
    /// The oldest item of the sender is dropped.
    Old,
    /// The new item is rejected.
    New,
    /// The oldest item of the sender is dropped, and the next prompt has a line about it.
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

/// The kind of sender of an item in a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SenderKind {
    /// A person.
    Person,
    /// A program that calls in from outside.
    Program,
    /// Another agent.
    Agent,
    /// A timer.
    Timer,
    /// A periodic check for open work; a busy session drops it.
    Heartbeat,
}

/// The queue settings of an item in a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueSettings {
    /// The delivery to a busy session.
    pub mode: Delivery,
    /// The quiet time before items are collected, in milliseconds.
    pub debounce_ms: u64,
    /// The limit of waiting items of one sender.
    pub cap: usize,
    /// The rule for an item over this limit.
    pub drop: OverflowPolicy,
}

/// The queue preferences of one level, such as a channel or a session; each field is optional.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueuePreferences {
    /// The delivery to a busy session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Delivery>,
    /// The quiet time before items are collected, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce_ms: Option<u64>,
    /// The limit of waiting items of one sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<usize>,
    /// The rule for an item over this limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<OverflowPolicy>,
}

/// The route of an inbound, with its queue settings. The session is in the envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutedInbound {
    /// The id of the event.
    pub event: EventId,
    /// The access decision that allowed the event.
    pub access: AccessId,
    /// The agent that answers.
    pub agent: AgentId,
    /// The persona that answers; none means the agent's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// The kind of sender.
    pub source: SenderKind,
    /// The hash of the sender's permissions.
    pub authority: ContentHash,
    /// The text of the prompt, if it differs from the text of the inbound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The queue settings of the item.
    pub settings: QueueSettings,
    /// The end of the time that the answer is held back, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_after: Option<u64>,
    /// True if the sender waits at the process that runs it; no other process runs it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub here: bool,
}

/// The reason why an inbound gets no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnrunReason {
    /// No event hook wanted it.
    NoHook,
    /// Event hooks fired; their work was submitted as events of its own.
    Fired,
    /// The whole text was a directive for the queue settings.
    Directive,
    /// The sender's waiting items reached their limit, and new ones are rejected.
    Cap,
    /// The mailbox reached its limit for all senders together.
    Full,
    /// A newer item of the sender took its place.
    Overflow,
    /// A newer item of the sender took its place, and the next prompt has a line about this one.
    Summarized,
    /// The sender interrupted with a newer message.
    Interrupted,
    /// A person or program stopped the session.
    Aborted,
    /// The session was busy, and the item is needed only in an idle session.
    Busy,
    /// The directive in the text does not parse.
    BadDirective,
    /// The agent or persona does not exist or does not load.
    NoAgent,
}

impl UnrunReason {
    /// Returns the word for files and wires.
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

/// The result of sending an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliveryReport {
    /// The id of the event that is answered.
    pub event: EventId,
    /// The number of chunks of the answer.
    pub chunks: u32,
    /// The number of chunks that were sent.
    pub chunks_sent: u32,
    /// The channel's ids of the sent messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub message_ids: Vec<String>,
    /// The length of the answer, in characters.
    pub total_chars: u64,
    /// The error that stopped the rest; none if all chunks were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<DeliveryError>,
    /// The sent text as an event of its own; none if no chunk was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Box<Inbound>>,
}

/// The reason why a channel did not send a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DeliveryError {
    /// The channel limits the rate of messages.
    RateLimited {
        /// The pause that the channel asks for, in milliseconds.
        #[serde(default)]
        retry_after_ms: Option<u64>,
    },
    /// The installation may not write to this place.
    PermissionDenied {
        /// The reason, as the channel reports it.
        reason: String,
    },
    /// The target does not exist.
    NotFound {
        /// The channel's id of the target.
        target: String,
    },
    /// The channel rejects the content.
    ContentRejected {
        /// The reason, as the channel reports it.
        reason: String,
    },
    /// The connection to the channel failed.
    Network {
        /// The error, as text.
        message: String,
    },
    /// An error of no other kind.
    Unknown {
        /// The error, as text.
        message: String,
    },
}

impl DeliveryError {
    /// Returns true if a later attempt may succeed.
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

/// The audit records that are no longer listed. Their ledger entries stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditCutoff {
    /// Decisions from before this time, in milliseconds since 1970.
    pub access_before: u64,
    /// Changes of grants from before this time, in milliseconds since 1970.
    pub grants_before: u64,
}
