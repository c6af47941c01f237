//! Signatures of calls, in the forms that senders use, and the data that each covers.
//!
//! | header | covers | the event's id |
//! |---|---|---|
//! | `X-Hub-Signature-256`, `X-Agentry-Signature` | the body | the hash of the body |
//! | `Webhook-Signature` (Standard Webhooks) | id, time, body | `Webhook-Id` |
//! | `X-Slack-Signature` | time, body | the hash of time and body |
//! | `Stripe-Signature` | time, body | the hash of time and body |
//!
//! Must never: compare a signature in variable time, or trust data that no signature covers.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use super::{WebhookCall, WebhookError, digits};
use crate::limits::WEBHOOK_TIME_MS_MAX;

/// Headers with a signature over the body alone, in hexadecimal, with or without `sha256=`.
const OF_BODY: [&str; 2] = ["x-hub-signature-256", "x-agentry-signature"];
const STANDARD: &str = "webhook-signature";
const STANDARD_ID: &str = "webhook-id";
const STANDARD_TIME: &str = "webhook-timestamp";
const SLACK: &str = "x-slack-signature";
const SLACK_TIME: &str = "x-slack-request-timestamp";
const STRIPE: &str = "stripe-signature";
/// The prefix of secrets of Standard Webhooks; the rest is Base64.
const STANDARD_SECRET: &str = "whsec_";

/// An event id, and the header that it comes from.
type WebhookEventId = (String, &'static str);

/// Checks that each signature present is valid, and that there is one. Returns the id of the
/// signature that covers the most.
pub(super) fn check(
    call: &WebhookCall<'_>,
    secret: &SecretString,
) -> Result<WebhookEventId, WebhookError> {
    let secret = secret.expose_secret();
    let checks = [standard(call, secret)?, slack(call, secret)?, stripe(call, secret)?];
    let of_body = of_body(call, secret)?;
    let mut found = checks.into_iter().chain([of_body]).flatten();
    found.next().ok_or(WebhookError::Unsigned)
}

fn of_body(call: &WebhookCall<'_>, secret: &str) -> Result<Option<WebhookEventId>, WebhookError> {
    let mut found = None;
    for header in OF_BODY {
        let Some(said) = call.header(header) else { continue };
        let said = said.strip_prefix("sha256=").unwrap_or(said);
        must_be_one(call, [bytes_of(said)], || mac(secret.as_bytes(), &[call.body]))?;
        found = Some((digits(&Sha256::digest(call.body)), header));
    }
    Ok(found)
}

fn standard(call: &WebhookCall<'_>, secret: &str) -> Result<Option<WebhookEventId>, WebhookError> {
    let Some(said) = call.header(STANDARD) else { return Ok(None) };
    let wrong = || WebhookError::WrongSignature { name: call.name.to_owned() };
    let id = call.header(STANDARD_ID).filter(|id| !id.is_empty()).ok_or_else(wrong)?;
    let time = call.header(STANDARD_TIME).ok_or_else(wrong)?;
    let key = match secret.strip_prefix(STANDARD_SECRET) {
        Some(encoded) => BASE64_STANDARD.decode(encoded).map_err(|_| wrong())?,
        None => secret.as_bytes().to_vec(),
    };
    let all = said.split(' ').filter_map(|one| one.strip_prefix("v1,"));
    let all = all.map(|one| BASE64_STANDARD.decode(one).ok());
    let parts = [id.as_bytes(), b".", time.as_bytes(), b".", call.body];
    must_be_one(call, all, || mac(&key, &parts))?;
    must_be_fresh(call, time, STANDARD_TIME)?;
    Ok(Some((id.to_owned(), STANDARD_ID)))
}

fn slack(call: &WebhookCall<'_>, secret: &str) -> Result<Option<WebhookEventId>, WebhookError> {
    let Some(said) = call.header(SLACK) else { return Ok(None) };
    let wrong = || WebhookError::WrongSignature { name: call.name.to_owned() };
    let time = call.header(SLACK_TIME).ok_or_else(wrong)?;
    let said = said.strip_prefix("v0=").ok_or_else(wrong)?;
    let parts = [b"v0:", time.as_bytes(), b":", call.body];
    must_be_one(call, [bytes_of(said)], || mac(secret.as_bytes(), &parts))?;
    must_be_fresh(call, time, SLACK_TIME)?;
    Ok(Some((hash(&parts), SLACK)))
}

fn stripe(call: &WebhookCall<'_>, secret: &str) -> Result<Option<WebhookEventId>, WebhookError> {
    let Some(said) = call.header(STRIPE) else { return Ok(None) };
    let wrong = || WebhookError::WrongSignature { name: call.name.to_owned() };
    let pairs = || said.split(',').filter_map(|pair| pair.trim().split_once('='));
    let mut times = pairs().filter(|(name, _)| *name == "t").map(|(_, value)| value);
    let time = times.next().filter(|_| times.next().is_none()).ok_or_else(wrong)?;
    let all = pairs().filter(|(name, _)| *name == "v1").map(|(_, value)| bytes_of(value));
    let parts = [time.as_bytes(), b".", call.body];
    must_be_one(call, all, || mac(secret.as_bytes(), &parts))?;
    must_be_fresh(call, time, STRIPE)?;
    Ok(Some((hash(&parts), STRIPE)))
}

/// Checks that one of the signatures is valid; senders that rotate their secret send several.
fn must_be_one(
    call: &WebhookCall<'_>,
    said: impl IntoIterator<Item = Option<Vec<u8>>>,
    right: impl Fn() -> Hmac<Sha256>,
) -> Result<(), WebhookError> {
    // Compares in constant time.
    let is_right =
        |said: Option<Vec<u8>>| said.is_some_and(|said| right().verify_slice(&said).is_ok());
    if said.into_iter().any(is_right) {
        Ok(())
    } else {
        Err(WebhookError::WrongSignature { name: call.name.to_owned() })
    }
}

/// Checks that a signed time, in seconds since 1970, is near ours.
fn must_be_fresh(
    call: &WebhookCall<'_>,
    time: &str,
    header: &'static str,
) -> Result<(), WebhookError> {
    let Ok(seconds) = time.parse::<u64>() else {
        return Err(WebhookError::Delivery {
            header,
            why: "it is not a time in seconds".to_owned(),
        });
    };
    let off = seconds.saturating_mul(1000).abs_diff(call.now_ms);
    if off <= WEBHOOK_TIME_MS_MAX {
        Ok(())
    } else {
        Err(WebhookError::Stale { header, off_s: off / 1000 })
    }
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    parts.iter().for_each(|part| mac.update(part));
    mac
}

fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    digits(&hasher.finalize())
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
