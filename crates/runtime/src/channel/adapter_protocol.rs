//! The lines of the protocol between a channel's adapter and the runtime.
//!
//! Must never: accept a field that only the runtime sets, or ignore an unknown field.

use agentry_protocol::inbound::{EventId, Inbound, PeerKind};
use agentry_protocol::inbound_request::{InboundMetadata, RequestField};
use agentry_protocol::intake::DeliveryError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ChannelCapabilities, OutgoingChunk};
use crate::limits::TEXT_LIMIT_CHARS_MIN;

/// The fields that an event may have.
const EVENT_FIELDS: [&str; 21] = [
    "type",
    "event_id",
    "source_id",
    "timestamp",
    "content",
    "content_type",
    "attachments",
    "channel",
    "account_id",
    "peer_id",
    "peer_kind",
    "guild",
    "thread_id",
    "reply_to_id",
    "sender_id",
    "sender_name",
    "metadata",
    "direction",
    "backfill",
    "event_type",
    "hook_id",
];
/// Metadata that only the runtime sets, beside the fields of a request.
const RUNTIME_METADATA: [&str; 7] =
    ["turn_id", "run_id", "session", "session_id", "persona", "in_reply_to", "agentry"];
/// Event types that no adapter may use.
const RUNTIME_EVENT_TYPES: [&str; 5] = ["timer", "timer_tick", "webhook", "agent", "heartbeat"];

/// A message of an adapter.
#[derive(Debug)]
pub(super) enum AdapterMessage {
    Event(Box<Inbound>),
    Health { connected: bool, error: Option<String> },
    Capabilities(ChannelCapabilities),
    Sent { id: String, message_id: Option<String> },
    Failed { id: String, error: DeliveryError },
    Log { level: String, message: String },
}

/// A line that was refused, with the reason.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AdapterLineError {
    pub(super) event_id: Option<String>,
    pub(super) why: String,
}

/// The channel and account that an adapter speaks for.
pub(super) struct AdapterIdentity<'a> {
    pub(super) channel: &'a str,
    pub(super) account_id: Option<&'a str>,
    pub(super) peer_kind: Option<PeerKind>,
}

/// Parses a line of an adapter.
pub(super) fn read(
    line: &[u8],
    own: &AdapterIdentity<'_>,
    now_ms: u64,
) -> Result<AdapterMessage, AdapterLineError> {
    let plain = |why: String| AdapterLineError { event_id: None, why };
    let text = std::str::from_utf8(line).map_err(|_| plain("the line is not UTF-8".to_owned()))?;
    let value: Value = serde_json::from_str(text)
        .map_err(|error| plain(format!("the line is not JSON: {error}")))?;
    let Value::Object(map) = value else {
        return Err(plain("the line is not a JSON object".to_owned()));
    };
    let kind = map.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    match kind.as_str() {
        "event" => event(map, own, now_ms),
        "" => Err(plain("the line has no `type`".to_owned())),
        _ => other(&kind, map).map_err(plain),
    }
}

fn other(kind: &str, map: Map<String, Value>) -> Result<AdapterMessage, String> {
    #[derive(Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum PlainAdapterMessage {
        Health { connected: bool, error: Option<String> },
        Capabilities(ChannelCapabilities),
        Sent { id: String, message_id: Option<String> },
        Failed { id: String, error: DeliveryError },
        Log { level: Option<String>, message: String },
    }
    let known = ["health", "capabilities", "sent", "failed", "log"];
    if !known.contains(&kind) {
        return Err(format!("unknown line type `{kind}`; write event, {}", known.join(", ")));
    }
    let read = serde_json::from_value(Value::Object(map));
    Ok(match read.map_err(|error| format!("the line `{kind}` cannot be read: {error}"))? {
        PlainAdapterMessage::Health { connected, error } => {
            AdapterMessage::Health { connected, error }
        }
        PlainAdapterMessage::Capabilities(said) => {
            if said.limit() < TEXT_LIMIT_CHARS_MIN {
                return Err(format!("`text_limit` must be at least {TEXT_LIMIT_CHARS_MIN}"));
            }
            AdapterMessage::Capabilities(said)
        }
        PlainAdapterMessage::Sent { id, message_id } => AdapterMessage::Sent { id, message_id },
        PlainAdapterMessage::Failed { id, error } => AdapterMessage::Failed { id, error },
        PlainAdapterMessage::Log { level, message } => {
            AdapterMessage::Log { level: level.unwrap_or_else(|| "info".to_owned()), message }
        }
    })
}

fn event(
    mut map: Map<String, Value>,
    own: &AdapterIdentity<'_>,
    now_ms: u64,
) -> Result<AdapterMessage, AdapterLineError> {
    let said_id = ["event_id", "source_id"]
        .iter()
        .find_map(|name| Some(map.get(*name)?.as_str()?.to_owned()));
    let refuse = |why: String| AdapterLineError { event_id: said_id.clone(), why };
    own_words(&map, own).map_err(refuse)?;
    let id = event_id(&map, own.channel).map_err(refuse)?;
    map.remove("type");
    map.remove("source_id");
    map.insert("event_id".to_owned(), id.into());
    let usual = [
        ("channel", Some(own.channel.into())),
        ("timestamp", Some(now_ms.into())),
        ("account_id", own.account_id.map(Value::from)),
        ("peer_kind", own.peer_kind.map(|kind| kind.as_str().into())),
    ];
    for (name, value) in usual {
        if let Some(value) = value {
            map.entry(name).or_insert(value);
        }
    }
    // The metadata is of the adapter: it is not read as that of a record would be.
    let outside = match map.remove("metadata") {
        Some(Value::Object(fields)) => InboundMetadata::from_outside(fields),
        Some(wrong) => {
            return Err(refuse(format!("the event cannot be read: `metadata` is {wrong}")));
        }
        None => InboundMetadata::default(),
    };
    let mut inbound: Inbound = serde_json::from_value(Value::Object(map))
        .map_err(|error| refuse(format!("the event cannot be read: {error}")))?;
    inbound.metadata = outside;
    inbound.check().map_err(|wrong| refuse(wrong.to_string()))?;
    Ok(AdapterMessage::Event(Box::new(inbound)))
}

/// Checks that an event is of the adapter's own channel and account, with no reserved field.
fn own_words(map: &Map<String, Value>, own: &AdapterIdentity<'_>) -> Result<(), String> {
    if let Some(name) = map.keys().find(|name| !EVENT_FIELDS.contains(&name.as_str())) {
        return Err(format!("an event has no field `{name}`; put other data into `metadata`"));
    }
    let text = |name: &str| map.get(name).and_then(Value::as_str);
    if let Some(channel) = text("channel").filter(|channel| *channel != own.channel) {
        let channel = channel.escape_debug();
        return Err(format!("the event is of the channel `{channel}`, not of `{}`", own.channel));
    }
    if let (Some(said), Some(own)) = (text("account_id"), own.account_id)
        && said != own
    {
        let said = said.escape_debug();
        return Err(format!("the event is of the account `{said}`, not of `{own}`"));
    }
    if text("direction") == Some("sent") {
        return Err("the direction `sent` is reserved for answers of agents".to_owned());
    }
    if map.contains_key("hook_id") {
        return Err("`hook_id` is reserved for timers; leave it out".to_owned());
    }
    if let Some(kind) = text("event_type").filter(|kind| RUNTIME_EVENT_TYPES.contains(kind)) {
        return Err(format!("the runtime reserves events of the type `{kind}`"));
    }
    let metadata = map.get("metadata").and_then(Value::as_object);
    let mut names = metadata.into_iter().flat_map(Map::keys);
    let is_reserved = |name: &&String| {
        RUNTIME_METADATA.contains(&name.as_str()) || RequestField::named(name).is_some()
    };
    match names.find(is_reserved) {
        Some(name) => Err(format!("`metadata.{name}` is reserved for the runtime; leave it out")),
        None => Ok(()),
    }
}

fn event_id(map: &Map<String, Value>, channel: &str) -> Result<String, String> {
    let made = match map.get("source_id") {
        Some(Value::String(source)) => {
            Some(EventId::of(channel, source).map_err(|wrong| wrong.to_string())?.to_string())
        }
        Some(_) => return Err("the `source_id` is not a string".to_owned()),
        None => None,
    };
    let said = match map.get("event_id") {
        Some(Value::String(said)) => Some(said.clone()),
        Some(_) => return Err("the `event_id` is not a string".to_owned()),
        None => None,
    };
    match (said, made) {
        (Some(said), Some(made)) if said != made => {
            Err("the `event_id` must be the channel, a colon and the `source_id`".to_owned())
        }
        (Some(id), _) | (None, Some(id)) => Ok(id),
        (None, None) => Err("the event has neither `event_id` nor `source_id`".to_owned()),
    }
}

/// The reason why an adapter need not send an event again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckKind {
    New,
    Repeated,
    Filtered,
}

/// Returns the line that acknowledges an event.
pub(super) fn ack(event_id: &EventId, acked: AckKind) -> String {
    let mut line = json!({ "type": "ack", "event_id": event_id });
    match acked {
        AckKind::New => {}
        AckKind::Repeated => line["repeated"] = true.into(),
        AckKind::Filtered => line["filtered"] = true.into(),
    }
    line.to_string()
}

/// Returns the line that reports a refused line to the adapter.
pub(super) fn refused(number: u64, unread: &AdapterLineError) -> String {
    match &unread.event_id {
        Some(id) => {
            json!({ "type": "refused", "event_id": id, "line": number, "why": unread.why })
        }
        None => json!({ "type": "refused", "line": number, "why": unread.why }),
    }
    .to_string()
}

/// Returns the line that asks the adapter to send a chunk.
pub(super) fn send(outgoing: &OutgoingChunk) -> String {
    json!({ "type": "send", "id": outgoing.id, "to": outgoing.to, "content": outgoing.content })
        .to_string()
}

#[cfg(test)]
mod tests {
    use agentry_protocol::inbound::Direction;

    use super::*;

    fn own() -> AdapterIdentity<'static> {
        AdapterIdentity { channel: "chat", account_id: Some("me"), peer_kind: None }
    }

    fn refusal(line: &str) -> String {
        read(line.as_bytes(), &own(), 5).map(|said| format!("{said:?}")).unwrap_err().why
    }

    fn taken(line: &str) -> Inbound {
        let said = read(line.as_bytes(), &own(), 5).expect("it can be read");
        let AdapterMessage::Event(inbound) = said else { panic!("{said:?}") };
        *inbound
    }

    /// Returns an event line with one more field.
    fn with(part: &str) -> String {
        format!(r#"{{"type":"event","source_id":"1","sender_id":"u",{part}}}"#)
    }

    #[test]
    fn what_an_event_does_not_say_is_put_in() {
        let inbound = taken(&with(r#""content":"hi""#));
        assert_eq!(inbound.event_id.as_str(), "chat:1");
        assert_eq!(inbound.timestamp, 5);
        assert_eq!(inbound.place.channel, "chat");
        assert_eq!(inbound.place.account_id.as_deref(), Some("me"));
        let said = r#"{"type":"event","event_id":"chat:2","channel":"chat","account_id":"me","timestamp":9,"sender_id":"u","direction":"deleted","metadata":{"a":1},"backfill":true}"#;
        let inbound = taken(said);
        assert_eq!((inbound.event_id.as_str(), inbound.timestamp), ("chat:2", 9));
        assert_eq!((inbound.direction, inbound.backfill), (Direction::Deleted, true));
    }

    #[test]
    fn a_program_speaks_only_for_itself() {
        let cases = [
            (r#""channel":"terminal""#, "the event is of the channel `terminal`, not of `chat`"),
            (r#""account_id":"you""#, "the event is of the account `you`, not of `me`"),
            (r#""direction":"sent""#, "the direction `sent` is reserved for answers of agents"),
            (r#""hook_id":"h""#, "`hook_id` is reserved for timers; leave it out"),
            (
                r#""event_type":"timer_tick""#,
                "the runtime reserves events of the type `timer_tick`",
            ),
            (
                r#""metadata":{"turn_id":"t"}"#,
                "`metadata.turn_id` is reserved for the runtime; leave it out",
            ),
            (
                r#""metadata":{"run":{"mode":"wiggum"}}"#,
                "`metadata.run` is reserved for the runtime; leave it out",
            ),
            (
                r#""metadata":{"a":1,"target":{"session":"main"}}"#,
                "`metadata.target` is reserved for the runtime; leave it out",
            ),
            (
                r#""metadata":{"delivery":"interrupt"}"#,
                "`metadata.delivery` is reserved for the runtime; leave it out",
            ),
            (
                r#""metadata":{"program":true}"#,
                "`metadata.program` is reserved for the runtime; leave it out",
            ),
            (
                r#""event_id":"other:1""#,
                "the `event_id` must be the channel, a colon and the `source_id`",
            ),
        ];
        for (part, why) in cases {
            assert_eq!(refusal(&with(part)), why);
        }
        let foreign = r#"{"type":"event","event_id":"terminal:1","sender_id":"u"}"#;
        assert!(refusal(foreign).contains("begins the event's id"), "{}", refusal(foreign));
    }

    #[test]
    fn a_wrong_part_is_told() {
        let cases = [
            ("[1]", "the line is not a JSON object"),
            ("{}", "the line has no `type`"),
            (
                r#"{"type":"evnt"}"#,
                "unknown line type `evnt`; write event, health, capabilities, sent, failed, log",
            ),
            (
                r#"{"type":"event","sender_id":"u"}"#,
                "the event has neither `event_id` nor `source_id`",
            ),
            (
                r#"{"type":"event","source_id":7,"sender_id":"u"}"#,
                "the `source_id` is not a string",
            ),
            (
                r#"{"type":"event","source_id":"a b","sender_id":"u"}"#,
                "the source_id holds a space or a sign that cannot be printed",
            ),
            (r#"{"type":"capabilities","text_limit":39}"#, "`text_limit` must be at least 40"),
        ];
        for (line, why) in cases {
            assert_eq!(refusal(line), why);
        }
        let misspelt = refusal(&with(r#""peer_knd":"dm""#));
        assert_eq!(misspelt, "an event has no field `peer_knd`; put other data into `metadata`");
        for part in [r#""peer_kind":"crowd""#, r#""timestamp":-1"#, r#""metadata":3"#] {
            assert!(refusal(&with(part)).starts_with("the event cannot be read"), "{part}");
        }
        for line in [r#"{"type":"health"}"#, r#"{"type":"failed","id":"1","error":{"type":"odd"}}"#]
        {
            assert!(refusal(line).contains("cannot be read"), "{line}");
        }
        assert_eq!(
            refusal(&with(r#""peer_id":"""#)),
            "the peer_id is empty; the channel must give one"
        );
    }
}
