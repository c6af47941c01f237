//! Describes failures of an exchange: the host, the requested wait, the server's message.
//!
//! Must never: show a key, or bytes that control a terminal.

use std::error::Error;
use std::time::Duration;

use agentry_protocol::message::{FailureKind, ModelFailure};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::HeaderMap;

use crate::limits::SHOWN_CHARS_MAX;

/// Returns an error with all its causes, without the address, which is shown elsewhere.
pub(crate) fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// Describes a request that was not sent or not answered.
pub(crate) fn sending(error: reqwest::Error, host: &str, connect: Duration) -> ModelFailure {
    if error.is_connect() && error.is_timeout() {
        let message = format!("no connection to {host} within {} ms", connect.as_millis());
        return ModelFailure::new(FailureKind::Timeout, message);
    }
    let found = error.is_connect();
    let why = causes(&error.without_url());
    let message = if found {
        format!("cannot connect to {host}: {why}")
    } else {
        format!("the connection to {host} broke before an answer came: {why}")
    };
    ModelFailure::new(FailureKind::Connection, message)
}

/// Describes an answer that broke off.
pub(crate) fn reading(error: reqwest::Error, host: &str) -> ModelFailure {
    let why = causes(&error.without_url());
    let message = format!("the connection to {host} broke in the middle of the answer: {why}");
    ModelFailure::new(FailureKind::Cut, message)
}

/// Returns the beginning of a server's text, on one line and without control characters.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.trim().chars();
    for c in chars.by_ref().take(SHOWN_CHARS_MAX) {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() => out.extend(c.escape_unicode()),
            // Marks that change the direction of the text after them.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.extend(c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// Returns the wait that the server requests, in milliseconds.
pub(crate) fn retry_after_ms(headers: &HeaderMap, now: Timestamp) -> Option<u64> {
    let value = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let whole_ms = |ms: f64| (ms.is_finite() && ms >= 0.0).then_some(ms.ceil() as u64);
    if let Some(ms) = value("retry-after-ms").and_then(|text| text.parse().ok()).and_then(whole_ms)
    {
        return Some(ms);
    }
    let text = value("retry-after")?;
    if let Ok(seconds) = text.parse::<f64>() {
        return whole_ms(seconds * 1000.0);
    }
    let at = DateTimeParser::new().parse_timestamp(text).ok()?;
    let ms = at.as_millisecond().saturating_sub(now.as_millisecond());
    Some(u64::try_from(ms).unwrap_or(0))
}

/// Returns the id under which the provider can find the request.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    ["request-id", "x-request-id"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok())
        .map(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &'static str, value: &'static str) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().expect("a header value"));
        let now = "2026-11-16T08:00:00Z".parse().expect("a time");
        retry_after_ms(&headers, now)
    }

    #[test]
    fn the_wait_is_read_in_all_its_forms() {
        assert_eq!(asked("retry-after", "7"), Some(7_000));
        assert_eq!(asked("retry-after", "0.5"), Some(500));
        assert_eq!(asked("retry-after-ms", "250"), Some(250));
        assert_eq!(asked("retry-after", "Mon, 16 Nov 2026 08:00:09 GMT"), Some(9_000));
        assert_eq!(asked("retry-after", "Mon, 16 Nov 2026 07:00:00 GMT"), Some(0));
        for wrong in ["soon", "-1", "nan", "inf", ""] {
            assert_eq!(asked("retry-after", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_a_server_said_is_cut_and_harmless() {
        assert_eq!(shown(" a\nb\u{1b}[31m\u{202e}x "), "a b\\u{1b}[31m\\u{202e}x");
        assert_eq!(shown(&"ä".repeat(2 * SHOWN_CHARS_MAX)).chars().count(), SHOWN_CHARS_MAX + 1);
    }
}
