//! Calls of other programs over HTTP, before and without HTTP.
//!
//! The id is the one that the caller gives a delivery, or the hash of what it says, so that a call that is
//! made again is the same event.
//!
//! Must never: take a call without a right signature from a source that has a secret.

use agentry_kernel::route::ORDERS;
use agentry_protocol::inbound::{EventId, Inbound, Place, Sender};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::limits::{WEBHOOK_BODY_BYTES_MAX, WEBHOOK_HEADER_BYTES_MAX};

/// The channel's name.
pub const CHANNEL: &str = "webhook";
/// The kind of its events.
pub const EVENT_TYPE: &str = "webhook";

/// Headers with the caller's id of a delivery, the first that is there counts.
const DELIVERY_HEADERS: [&str; 4] =
    ["x-agentry-delivery", "x-github-delivery", "webhook-id", "idempotency-key"];
/// Headers with a signature, as hexadecimal digits with or without `sha256=` before them.
const SIGNATURE_HEADERS: [&str; 2] = ["x-hub-signature-256", "x-agentry-signature"];
/// Headers that hooks may look at.
const KEPT_HEADERS: [&str; 6] = [
    "content-type",
    "user-agent",
    "x-agentry-event",
    "x-github-event",
    "x-gitlab-event",
    "x-event-key",
];

/// Who calls.
pub struct Source<'a> {
    /// Its name in the settings.
    pub name: &'a str,
    /// What its calls are signed with; without it, whoever takes them must know who calls.
    pub secret: Option<&'a SecretString>,
}

/// Why a call is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// The source cannot be part of an id.
    #[error("a source cannot be called `{name}`")]
    Source {
        /// Its name.
        name: String,
    },
    /// The body is too large.
    #[error("the body has {bytes} bytes, and may have {WEBHOOK_BODY_BYTES_MAX}")]
    TooLarge {
        /// Its length.
        bytes: usize,
    },
    /// The body is not text.
    #[error("the body is not UTF-8")]
    NotText,
    /// There is no signature.
    #[error(
        "the call is not signed; sign it with HMAC-SHA256 in X-Hub-Signature-256 or X-Agentry-Signature"
    )]
    Unsigned,
    /// The signature is another.
    #[error("the signature is not that of this body with the secret of `{name}`")]
    WrongSignature {
        /// The source.
        name: String,
    },
    /// The id of the delivery cannot be used.
    #[error("the header `{header}` cannot be used as an id: {why}")]
    Delivery {
        /// The header.
        header: &'static str,
        /// What is wrong with it.
        why: String,
    },
}

/// The event that a call is.
pub fn inbound(
    source: &Source<'_>,
    headers: &[(String, String)],
    body: &[u8],
    now_ms: u64,
) -> Result<Inbound, WebhookError> {
    let name = source.name;
    EventId::of(name, "x").map_err(|_| WebhookError::Source { name: name.to_owned() })?;
    if body.len() > WEBHOOK_BODY_BYTES_MAX {
        return Err(WebhookError::TooLarge { bytes: body.len() });
    }
    if let Some(secret) = source.secret {
        check_signature(name, secret, headers, body)?;
    }
    let content = std::str::from_utf8(body).map_err(|_| WebhookError::NotText)?;
    let place = Place {
        channel: CHANNEL.to_owned(),
        account_id: None,
        peer_id: None,
        peer_kind: None,
        guild: None,
        thread_id: None,
        reply_to_id: None,
    };
    let sender = Sender { sender_id: name.to_owned(), sender_name: None };
    let (id, header) = delivery(headers, body);
    let made = Inbound::new(&format!("{name}:{id}"), now_ms, place, sender);
    let mut inbound =
        made.map_err(|wrong| WebhookError::Delivery { header, why: wrong.to_string() })?;
    inbound.body.content = content.to_owned();
    inbound.event_type = Some(EVENT_TYPE.to_owned());
    inbound.metadata = metadata(name, headers, content);
    Ok(inbound)
}

/// Each signature that is there must be right, and one must be there.
fn check_signature(
    name: &str,
    secret: &SecretString,
    headers: &[(String, String)],
    body: &[u8],
) -> Result<(), WebhookError> {
    let mut is_signed = false;
    for (_, said) in headers.iter().filter(|(header, _)| is_one_of(&SIGNATURE_HEADERS, header)) {
        let mac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes());
        let mut mac = mac.expect("a key of any length will do");
        mac.update(body);
        let said = said.trim();
        let said = bytes_of(said.strip_prefix("sha256=").unwrap_or(said)).unwrap_or_default();
        // Compares in constant time.
        mac.verify_slice(&said)
            .map_err(|_| WebhookError::WrongSignature { name: name.to_owned() })?;
        is_signed = true;
    }
    if is_signed { Ok(()) } else { Err(WebhookError::Unsigned) }
}

/// The id of a delivery, and the header it is from.
fn delivery(headers: &[(String, String)], body: &[u8]) -> (String, &'static str) {
    for wanted in DELIVERY_HEADERS {
        let found = headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(wanted));
        if let Some((_, id)) = found {
            return (id.trim().to_owned(), wanted);
        }
    }
    let hash = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    (hash, "body")
}

/// What hooks are set off by: plain fields of a JSON object, the headers, and the source, each before the one
/// it follows here. A caller says nothing of what is to become of the event.
fn metadata(source: &str, headers: &[(String, String)], content: &str) -> Map<String, Value> {
    let kept = headers.iter().filter(|(header, value)| {
        is_one_of(&KEPT_HEADERS, header) && value.len() <= WEBHOOK_HEADER_BYTES_MAX
    });
    let mut metadata: Map<String, Value> = serde_json::from_str(content).unwrap_or_default();
    metadata.retain(|name, value| is_plain(value) && !ORDERS.contains(&name.as_str()));
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

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    if !digits.is_ascii() || digits.len() % 2 == 1 {
        return None;
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok())
        .collect()
}
