//! Inbounds: input from a channel before it is an event, in one form for all channels.
//!
//! The id comes from the channel and the channel's own id of the message, so that a message
//! submitted twice is one event.
//!
//! Must never: hold a field without a size limit, or an id that two messages can share.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::inbound_request::{InboundMetadata, InboundRequest};
use crate::limits::{CHANNEL_BYTES_MAX, CHANNEL_ID_BYTES_MAX};

/// The id of an event: `{channel}:{source_id}`.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct EventId(String);

impl EventId {
    /// Returns the id for a channel and its own id of the message. Fails if either is not valid.
    pub fn of(channel: &str, source_id: &str) -> Result<Self, InboundIdError> {
        check_channel(channel)?;
        check_id(InboundIdField::SourceId, source_id)?;
        Ok(Self(format!("{channel}:{source_id}")))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for EventId {
    type Error = InboundIdError;

    fn try_from(text: String) -> Result<Self, InboundIdError> {
        let (channel, source_id) = text
            .split_once(':')
            .ok_or(InboundIdError { part: InboundIdField::SourceId, why: IdDefect::Empty })?;
        Self::of(channel, source_id)
    }
}

impl From<EventId> for String {
    fn from(id: EventId) -> Self {
        id.0
    }
}

/// An inbound: a message or another input from a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Inbound {
    /// The id of the event.
    pub event_id: EventId,
    /// The time of the message, in milliseconds since 1970.
    pub timestamp: u64,
    /// The content of the message.
    #[serde(flatten)]
    pub body: InboundContent,
    /// The address of the message on its channel.
    #[serde(flatten)]
    pub place: ChannelAddress,
    /// The sender, as the channel reports it.
    #[serde(flatten)]
    pub sender: Sender,
    /// Further data from the channel, and the request of the sender.
    #[serde(default, skip_serializing_if = "InboundMetadata::is_empty")]
    #[schemars(with = "Map<String, Value>")]
    pub metadata: InboundMetadata,
    /// The direction of the message.
    #[serde(default)]
    pub direction: Direction,
    /// True if the message is from the past and is only recorded.
    #[serde(default)]
    pub backfill: bool,
    /// The hook that a timer triggers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_id: Option<String>,
    /// The type of the event, such as `timer`; none means a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
}

/// The content of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboundContent {
    /// The text.
    #[serde(default)]
    pub content: String,
    /// The type of the content.
    #[serde(default)]
    pub content_type: ContentType,
    /// The attachments of the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// The address of a message on its channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelAddress {
    /// The name of the channel.
    pub channel: String,
    /// The account of this installation that received the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// The other side: a person, a group, a channel; timers and webhooks have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_id: Option<String>,
    /// The kind of conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_kind: Option<PeerKind>,
    /// The server or workspace around it, in the channel's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guild: Option<String>,
    /// The thread in the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The message that this one replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_id: Option<String>,
}

impl ChannelAddress {
    /// Returns the address of a channel that has no peers, such as a timer.
    pub fn of_channel(channel: impl Into<String>) -> Self {
        Self {
            channel: channel.into(),
            account_id: None,
            peer_id: None,
            peer_kind: None,
            guild: None,
            thread_id: None,
            reply_to_id: None,
        }
    }

    /// Returns the address of a conversation with one peer.
    pub fn of_peer(channel: impl Into<String>, peer: impl Into<String>) -> Self {
        Self {
            peer_id: Some(peer.into()),
            peer_kind: Some(PeerKind::Dm),
            ..Self::of_channel(channel)
        }
    }
}

/// The sender of a message, as the channel reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sender {
    /// The channel's id of the sender.
    pub sender_id: String,
    /// The displayed name of the sender; senders choose it freely, so it proves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_name: Option<String>,
}

/// The type of a content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContentType {
    /// Text.
    #[default]
    Text,
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// A video.
    Video,
    /// Any other file.
    File,
    /// A reaction to another message, such as an emoji.
    Reaction,
}

/// An attachment of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// The channel's id of the attachment.
    pub id: String,
    /// The name of the file.
    pub filename: String,
    /// The MIME type.
    pub content_type: String,
    /// The size, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// The address to download it from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The path of the file on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// The kind of conversation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PeerKind {
    /// A conversation with one person.
    Dm,
    /// A group of several people.
    Group,
    /// A public place that any user of the channel may join.
    Channel,
}

impl PeerKind {
    /// Returns the word for files and wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dm => "dm",
            Self::Group => "group",
            Self::Channel => "channel",
        }
    }
}

impl fmt::Display for PeerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The direction of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Sent by this installation.
    Sent,
    /// Received by this installation.
    #[default]
    Received,
    /// Between others; this installation only observed it.
    Observed,
    /// A message or another object was created.
    Created,
    /// A message or another object was updated.
    Updated,
    /// A message or another object was deleted.
    Deleted,
}

impl Inbound {
    /// Creates an inbound without content; all inbounds but those that are read begin here. Fails
    /// if an id is empty, too long or malformed.
    pub fn new(
        source_id: &str,
        timestamp: u64,
        place: ChannelAddress,
        sender: Sender,
    ) -> Result<Self, InboundIdError> {
        let event_id = EventId::of(&place.channel, source_id)?;
        check_id(InboundIdField::SenderId, &sender.sender_id)?;
        let inbound = Self {
            event_id,
            timestamp,
            body: InboundContent::default(),
            place,
            sender,
            metadata: InboundMetadata::default(),
            direction: Direction::default(),
            backfill: false,
            hook_id: None,
            event_type: None,
        };
        inbound.check()?;
        Ok(inbound)
    }

    /// Returns the inbound with a text as its content.
    pub fn with_text(mut self, content: impl Into<String>) -> Self {
        self.body = InboundContent { content: content.into(), ..InboundContent::default() };
        self
    }

    /// Returns the inbound with a request. The caller knows that the sender may request this.
    pub fn with_request(mut self, request: InboundRequest) -> Self {
        self.metadata.set_request(request);
        self
    }

    /// Returns the request of the sender.
    pub fn request(&self) -> &InboundRequest {
        self.metadata.request()
    }

    /// Checks every id of an inbound that was parsed and not made with `new`.
    pub fn check(&self) -> Result<(), InboundIdError> {
        check_channel(&self.place.channel)?;
        let own = self.event_id.as_str().strip_prefix(self.place.channel.as_str());
        if !own.is_some_and(|rest| rest.starts_with(':')) {
            return Err(InboundIdError { part: InboundIdField::Channel, why: IdDefect::OddSign });
        }
        check_id(InboundIdField::SenderId, &self.sender.sender_id)?;
        let rest = [
            (InboundIdField::AccountId, &self.place.account_id),
            (InboundIdField::PeerId, &self.place.peer_id),
            (InboundIdField::Guild, &self.place.guild),
            (InboundIdField::ThreadId, &self.place.thread_id),
            (InboundIdField::ReplyToId, &self.place.reply_to_id),
            (InboundIdField::HookId, &self.hook_id),
            (InboundIdField::EventType, &self.event_type),
        ];
        for (part, id) in rest {
            id.as_deref().map_or(Ok(()), |id| check_id(part, id))?;
        }
        Ok(())
    }
}

/// A field of an inbound that holds an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboundIdField {
    /// The name of the channel.
    Channel,
    /// The channel's id of the message.
    SourceId,
    /// The channel's id of the sender.
    SenderId,
    /// The account of this installation.
    AccountId,
    /// The other side of the conversation.
    PeerId,
    /// The server or workspace.
    Guild,
    /// The thread.
    ThreadId,
    /// The message that is replied to.
    ReplyToId,
    /// The hook.
    HookId,
    /// The type of the event.
    EventType,
}

impl fmt::Display for InboundIdField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Channel => "channel",
            Self::SourceId => "source_id",
            Self::SenderId => "sender_id",
            Self::AccountId => "account_id",
            Self::PeerId => "peer_id",
            Self::Guild => "guild",
            Self::ThreadId => "thread_id",
            Self::ReplyToId => "reply_to_id",
            Self::HookId => "hook_id",
            Self::EventType => "event_type",
        })
    }
}

/// The defect of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdDefect {
    /// The id is empty.
    Empty,
    /// The id is longer than its limit.
    TooLong,
    /// The id contains a character that ids must not have.
    OddSign,
}

/// The error for an id that is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboundIdError {
    /// The field with the id.
    pub part: InboundIdField,
    /// The defect of the id.
    pub why: IdDefect,
}

impl fmt::Display for InboundIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = self.part;
        match (self.why, part) {
            (IdDefect::Empty, _) => write!(f, "the {part} is empty; the channel must give one"),
            (IdDefect::TooLong, InboundIdField::Channel) => {
                write!(f, "the name of the channel has more than {CHANNEL_BYTES_MAX} bytes")
            }
            (IdDefect::TooLong, _) => {
                write!(f, "the {part} has more than {CHANNEL_ID_BYTES_MAX} bytes")
            }
            (IdDefect::OddSign, InboundIdField::Channel) => f.write_str(
                "the name of a channel is lower-case letters, digits, `-` and `_`, and begins the event's id",
            ),
            (IdDefect::OddSign, _) => {
                write!(f, "the {part} holds a space or a sign that cannot be printed")
            }
        }
    }
}

impl std::error::Error for InboundIdError {}

/// Accepts lower-case letters, digits, `-` and `_`; no colon, which separates channel and id.
fn check_channel(channel: &str) -> Result<(), InboundIdError> {
    let fail = |why| Err(InboundIdError { part: InboundIdField::Channel, why });
    let is_sign = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
    };
    match channel {
        "" => fail(IdDefect::Empty),
        channel if channel.len() > CHANNEL_BYTES_MAX => fail(IdDefect::TooLong),
        channel if !channel.bytes().all(is_sign) => fail(IdDefect::OddSign),
        _ => Ok(()),
    }
}

fn check_id(part: InboundIdField, id: &str) -> Result<(), InboundIdError> {
    let fail = |why| Err(InboundIdError { part, why });
    match id {
        "" => fail(IdDefect::Empty),
        id if id.len() > CHANNEL_ID_BYTES_MAX => fail(IdDefect::TooLong),
        id if id.chars().any(|sign| sign.is_control() || sign.is_whitespace()) => {
            fail(IdDefect::OddSign)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(channel: &str) -> ChannelAddress {
        ChannelAddress {
            channel: channel.to_owned(),
            account_id: None,
            peer_id: Some("42".to_owned()),
            peer_kind: Some(PeerKind::Dm),
            guild: None,
            thread_id: None,
            reply_to_id: None,
        }
    }

    fn made(channel: &str, source_id: &str, sender_id: &str) -> Result<Inbound, InboundIdError> {
        let sender = Sender { sender_id: sender_id.to_owned(), sender_name: None };
        Inbound::new(source_id, 7, place(channel), sender)
    }

    #[test]
    fn the_same_message_has_the_same_id() {
        let inbound = made("discord", "1:2", "u1").unwrap();
        assert_eq!(inbound.event_id.as_str(), "discord:1:2");
        assert_eq!(made("discord", "1:2", "u2").unwrap().event_id, inbound.event_id);
        assert_ne!(made("discord", "1:3", "u1").unwrap().event_id, inbound.event_id);
    }

    #[test]
    fn an_empty_long_or_odd_part_is_refused() {
        let long = "x".repeat(CHANNEL_ID_BYTES_MAX + 1);
        let longest = "x".repeat(CHANNEL_ID_BYTES_MAX);
        let channel_long = "c".repeat(CHANNEL_BYTES_MAX + 1);
        assert!(made("discord", &longest, &longest).is_ok());
        let cases = [
            ("", "1", "u", InboundIdField::Channel, IdDefect::Empty),
            (&channel_long, "1", "u", InboundIdField::Channel, IdDefect::TooLong),
            ("dis:cord", "1", "u", InboundIdField::Channel, IdDefect::OddSign),
            ("Discord", "1", "u", InboundIdField::Channel, IdDefect::OddSign),
            ("discord", "", "u", InboundIdField::SourceId, IdDefect::Empty),
            ("discord", &long, "u", InboundIdField::SourceId, IdDefect::TooLong),
            ("discord", "a b", "u", InboundIdField::SourceId, IdDefect::OddSign),
            ("discord", "a\0", "u", InboundIdField::SourceId, IdDefect::OddSign),
            ("discord", "1", "", InboundIdField::SenderId, IdDefect::Empty),
            ("discord", "1", "u\n", InboundIdField::SenderId, IdDefect::OddSign),
        ];
        for (channel, source, sender, part, why) in cases {
            let wrong = made(channel, source, sender).unwrap_err();
            assert_eq!(wrong, InboundIdError { part, why }, "{channel:?} {source:?} {sender:?}");
        }
    }

    #[test]
    fn it_is_written_flat_and_read_back() {
        let mut inbound = made("telegram", "9", "u1").unwrap();
        inbound.place.peer_kind = Some(PeerKind::Group);
        inbound.body.content = "hello".to_owned();
        let json = serde_json::to_value(&inbound).unwrap();
        assert_eq!(json["event_id"], "telegram:9");
        assert_eq!(json["peer_kind"], "group");
        assert_eq!(json["sender_id"], "u1");
        assert_eq!(json["content_type"], "text");
        assert_eq!(serde_json::from_value::<Inbound>(json).unwrap(), inbound);
    }

    #[test]
    fn what_was_read_is_checked_too() {
        for id in ["telegram", "telegram:", ":9", "Telegram:9", "telegram:a b"] {
            let json = serde_json::to_string(id).unwrap();
            assert!(serde_json::from_str::<EventId>(&json).is_err(), "{id}");
        }
        let mut inbound = made("telegram", "9", "u1").unwrap();
        inbound.place.guild = Some(String::new());
        assert_eq!(
            inbound.check(),
            Err(InboundIdError { part: InboundIdField::Guild, why: IdDefect::Empty })
        );
        let mut inbound = made("telegram", "9", "u1").unwrap();
        inbound.place.channel = "tele".to_owned();
        assert_eq!(
            inbound.check(),
            Err(InboundIdError { part: InboundIdField::Channel, why: IdDefect::OddSign })
        );
    }
}
