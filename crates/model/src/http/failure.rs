//! Names what went wrong on the way: where it happened, what the server asks for, what it said.
//!
//! Must never: show a key, or bytes that a terminal would obey.

use std::error::Error;
use std::time::Duration;

use agentry_protocol::message::{FailureKind, ModelFailure};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::HeaderMap;

use crate::limits::SHOWN_CHARS_MAX;

/// An error with all that caused it, without the address, which stands elsewhere.
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

/// The request could not be sent, or no answer came.
pub(super) fn sending(error: reqwest::Error, host: &str, connect: Duration) -> ModelFailure {
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

/// The answer broke off.
pub(super) fn reading(error: reqwest::Error, host: &str) -> ModelFailure {
    let why = causes(&error.without_url());
    let message = format!("the connection to {host} broke in the middle of the answer: {why}");
    ModelFailure::new(FailureKind::Cut, message)
}

/// The start of what a server said, on one line and harmless to a terminal.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.trim().chars();
    for c in chars.by_ref().take(SHOWN_CHARS_MAX) {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() => out.extend(c.escape_unicode()),
            // Marks that change the direction of what follows.
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

/// How long the server asks to wait.
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

/// The name under which the provider can find the request again.
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
        assert_eq!(shown(&"ä".repeat(400)).chars().count(), SHOWN_CHARS_MAX + 1);
    }
}
