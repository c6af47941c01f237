//! Names the failures behind Gemini's errors.
//!
//! Must never: show more of a body than a person reads.

use agentry_protocol::message::{FailureKind, ModelFailure};
use serde_json::Value;

use crate::error_status::{self, ProviderError};

/// Names the failure of an answer with this status and body.
pub(super) fn of(status: u16, body: &str) -> ModelFailure {
    match serde_json::from_str::<Value>(body) {
        Ok(value) => of_value(status, &value).unwrap_or_else(|| unnamed(status, body)),
        Err(_) => unnamed(status, body),
    }
}

/// Names the failure of an error in the middle of a stream.
pub(super) fn in_stream(event: &Value) -> ModelFailure {
    let code = event.pointer("/error/code").and_then(Value::as_u64);
    let status = code.and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
    of_value(status, event).unwrap_or_else(|| unnamed(status, &event.to_string()))
}

fn unnamed(status: u16, body: &str) -> ModelFailure {
    ModelFailure::new(error_status::by_status(status), error_status::status_message(status, body))
}

fn of_value(status: u16, body: &Value) -> Option<ModelFailure> {
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let told = error_status::parse_error(body)?;
    let mut failure = ModelFailure::new(kind(status, &told), error_status::words(status, &told));
    let details = body.pointer("/error/details").and_then(Value::as_array);
    failure.retry_after_ms = details.and_then(|details| {
        details.iter().find_map(|detail| milliseconds(detail.get("retryDelay")?.as_str()?))
    });
    Some(failure)
}

fn kind(status: u16, told: &ProviderError) -> FailureKind {
    let words = told.message.to_ascii_lowercase();
    let says = |word: &str| words.contains(word);
    if says("api key not valid") || says("api key expired") || says("api key not found") {
        return FailureKind::Authentication;
    }
    if error_status::is_context_overflow(&words) {
        return FailureKind::ContextOverflow;
    }
    if says("payload size exceeds") {
        return FailureKind::TooLarge;
    }
    match told.class.as_str() {
        "RESOURCE_EXHAUSTED" => FailureKind::RateLimited,
        "UNAVAILABLE" | "INTERNAL" => FailureKind::Overloaded,
        "DEADLINE_EXCEEDED" => FailureKind::Timeout,
        "PERMISSION_DENIED" | "UNAUTHENTICATED" => FailureKind::Authentication,
        "NOT_FOUND" if says("model") => FailureKind::UnknownModel,
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" => FailureKind::InvalidRequest,
        _ => error_status::by_status(status),
    }
}

/// Parses a duration as Google writes it: `34.07s`.
fn milliseconds(text: &str) -> Option<u64> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    let time = std::time::Duration::try_from_secs_f64(seconds).ok()?;
    u64::try_from(time.as_millis()).ok()
}
