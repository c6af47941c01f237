//! Webhook calls of other programs, independent of how they arrive over HTTP.
//!
//! A call's id is one that its signature covers, or the hash of all that the signature covers: a
//! repeated call is the same event, and so is a recorded one that an attacker replays under another
//! id. Only without a signature, for authenticated callers, the caller's own id counts.
//!
//! Must never: accept a call without a valid signature from a source with a secret, or with a
//! signed time that is far off; trust a header that no signature covers.

mod signature;

use agentry_protocol::inbound::{ChannelAddress, EventId, Inbound, Sender};
use agentry_protocol::inbound_request::InboundMetadata;
use secrecy::SecretString;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::limits::{WEBHOOK_BODY_BYTES_MAX, WEBHOOK_HEADER_BYTES_MAX, WEBHOOK_TIME_MS_MAX};

/// The name of the channel.
pub const CHANNEL: &str = "webhook";
/// The type of its events.
pub const EVENT_TYPE: &str = "webhook";

/// Headers with the caller's id of a delivery; the first one present counts.
const DELIVERY_HEADERS: [&str; 4] =
    ["x-agentry-delivery", "x-github-delivery", "webhook-id", "idempotency-key"];
/// Headers that hooks may read.
const KEPT_HEADERS: [&str; 6] = [
    "content-type",
    "user-agent",
    "x-agentry-event",
    "x-github-event",
    "x-gitlab-event",
    "x-event-key",
];

/// The source of a call.
pub struct WebhookSource<'a> {
    /// The name of the source in the settings.
    pub name: &'a str,
    /// The secret of its signatures; without one, the receiver must authenticate the caller.
    pub secret: Option<&'a SecretString>,
}

/// The reason why a call is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// The name of the source cannot be part of an event id.
    #[error("invalid source name `{name}`")]
    Source {
        /// The name of the source.
        name: String,
    },
    /// The body is too large.
    #[error("the body has {bytes} bytes; the limit is {WEBHOOK_BODY_BYTES_MAX}")]
    TooLarge {
        /// The length of the body, in bytes.
        bytes: usize,
    },
    /// The body is not UTF-8.
    #[error("the body is not UTF-8")]
    NotText,
    /// The call has no signature.
    #[error(
        "the call is not signed; sign it with HMAC-SHA256 in X-Hub-Signature-256, X-Agentry-Signature or \
         Webhook-Signature"
    )]
    Unsigned,
    /// The signature does not match.
    #[error("the signature does not match this body and the secret of `{name}`")]
    WrongSignature {
        /// The name of the source.
        name: String,
    },
    /// The signature is valid, but the time that it covers is far off.
    #[error(
        "the signed time is too far off: `{header}` differs by {off_s} s; the limit is {} s",
        WEBHOOK_TIME_MS_MAX / 1000
    )]
    Stale {
        /// The header with the time.
        header: &'static str,
        /// The difference between that time and ours, in seconds.
        off_s: u64,
    },
    /// The id of the delivery is invalid.
    #[error("the header `{header}` cannot be used as an id: {why}")]
    Delivery {
        /// The header with the id.
        header: &'static str,
        /// The reason why the id is invalid.
        why: String,
    },
}

/// Returns the event for a call, or the reason to reject it.
pub fn inbound(
    source: &WebhookSource<'_>,
    headers: &[(String, String)],
    body: &[u8],
    now_ms: u64,
) -> Result<Inbound, WebhookError> {
    let name = source.name;
    EventId::of(name, "x").map_err(|_| WebhookError::Source { name: name.to_owned() })?;
    if body.len() > WEBHOOK_BODY_BYTES_MAX {
        return Err(WebhookError::TooLarge { bytes: body.len() });
    }
    let signed = match source.secret {
        Some(secret) => {
            Some(signature::check(&WebhookCall { name, headers, body, now_ms }, secret)?)
        }
        None => None,
    };
    let content = std::str::from_utf8(body).map_err(|_| WebhookError::NotText)?;
    let place = ChannelAddress::of_channel(CHANNEL);
    let sender = Sender { sender_id: name.to_owned(), sender_name: None };
    let (id, header) = signed.unwrap_or_else(|| delivery(headers, body));
    let made = Inbound::new(&format!("{name}:{id}"), now_ms, place, sender);
    let mut inbound =
        made.map_err(|wrong| WebhookError::Delivery { header, why: wrong.to_string() })?;
    inbound.event_type = Some(EVENT_TYPE.to_owned());
    inbound.metadata = metadata(name, headers, content);
    Ok(inbound.with_text(content))
}

/// A call whose caller is not verified yet.
struct WebhookCall<'a> {
    name: &'a str,
    headers: &'a [(String, String)],
    body: &'a [u8],
    now_ms: u64,
}

impl WebhookCall<'_> {
    /// Returns the trimmed value of a header; names ignore case.
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }
}

/// Returns the id of a delivery, and the header that holds it.
fn delivery(headers: &[(String, String)], body: &[u8]) -> (String, &'static str) {
    for wanted in DELIVERY_HEADERS {
        let found = headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(wanted));
        if let Some((_, id)) = found {
            return (id.trim().to_owned(), wanted);
        }
    }
    (digits(&Sha256::digest(body)), "body")
}

/// Formats bytes as hexadecimal digits.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the fields that triggers test: plain fields of a JSON object, overridden by the headers,
/// overridden by the source. A caller cannot request a session or a run.
fn metadata(source: &str, headers: &[(String, String)], content: &str) -> InboundMetadata {
    let kept = headers.iter().filter(|(header, value)| {
        is_one_of(&KEPT_HEADERS, header) && value.len() <= WEBHOOK_HEADER_BYTES_MAX
    });
    // A body that is no JSON object has no fields.
    let body: Option<Map<String, Value>> = serde_json::from_str(content).ok();
    let fields = body.into_iter().flatten().filter(|(_, value)| is_plain(value));
    let mut metadata = InboundMetadata::from_outside(fields.collect());
    for (header, value) in kept {
        metadata.insert(header.to_ascii_lowercase(), value.as_str().into());
    }
    metadata.insert("source".to_owned(), source.into());
    metadata
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.len() <= WEBHOOK_HEADER_BYTES_MAX,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn is_one_of(names: &[&str], header: &str) -> bool {
    names.iter().any(|name| header.eq_ignore_ascii_case(name))
}
