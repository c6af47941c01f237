//! Names the failure behind an error status and its body, for providers with OpenAI's forms.
//!
//! The text counts too: the same 400 may be a transcript that is too long, a model that is not
//! served, or a wrong key. Servers write errors in many forms, and some write none.
//!
//! Must never: show more of a body than a person reads.

use agentry_protocol::message::{FailureKind, ModelFailure};
use serde_json::Value;

use crate::limits::{ERROR_BODY_CHARS_MAX, ERROR_MESSAGE_CHARS_MAX};

/// The advice for status 404, which a wrong base URL can cause.
const LOST: &str = "; look at the base URL";

/// An error as a provider describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderError {
    /// The message of the provider.
    pub(crate) message: String,
    /// The provider's code of the error; empty if it has none.
    pub(crate) code: String,
    /// The provider's type of the error; empty if it has none.
    pub(crate) class: String,
}

/// Names the failure of an answer with this status and body.
pub(crate) fn failure(status: u16, body: &str) -> ModelFailure {
    match serde_json::from_str::<Value>(body).ok().as_ref().and_then(parse_error) {
        Some(told) => named(status, &told),
        None => ModelFailure::new(by_status(status), status_message(status, body)),
    }
}

/// Names the failure of an error in the middle of a stream.
pub(crate) fn failure_in_stream(error: &Value) -> ModelFailure {
    let told = parse_error(error).unwrap_or_else(|| ProviderError {
        message: excerpt(&error.to_string()),
        ..ProviderError::default()
    });
    let names = format!("{} {}", told.code, told.class).to_ascii_lowercase();
    let has = |word: &str| names.contains(word);
    let status = match told.code.parse::<u16>() {
        Ok(status @ 400..=599) => status,
        Ok(_) | Err(_) if has("rate_limit") || has("quota") => 429,
        Ok(_) | Err(_) if has("invalid") || has("context_length") || has("bad") => 400,
        Ok(_) | Err(_) if has("auth") || has("permission") => 401,
        Ok(_) | Err(_) if has("not_found") => 404,
        Ok(_) | Err(_) => 500,
    };
    let mut failure = ModelFailure::new(kind(status, &told), told.message.clone());
    if failure.message.is_empty() {
        "the provider broke off with an error and did not say why".clone_into(&mut failure.message);
    }
    failure
}

/// Parses the error in a body, in any of the usual forms.
pub(crate) fn parse_error(body: &Value) -> Option<ProviderError> {
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
    let mut message = match error {
        Value::String(text) => text.clone(),
        Value::Object(_) => ["message", "detail", "error"]
            .iter()
            .filter_map(|key| error.get(key).or_else(|| body.get(key)))
            .map(text)
            .find(|text| !text.is_empty())?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    // A router reports that its provider failed, and hides the provider's message here.
    if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
        message = format!("{message}: {raw}");
    }
    let name = |key: &str| error.get(key).map(text).unwrap_or_default();
    let class = if name("type").is_empty() { name("status") } else { name("type") };
    Some(ProviderError {
        message: cut(&plain(&message), ERROR_MESSAGE_CHARS_MAX),
        code: name("code"),
        class,
    })
}

/// Returns the beginning of an unexpected body.
pub(crate) fn excerpt(body: &str) -> String {
    cut(&plain(&cut(body.trim(), ERROR_BODY_CHARS_MAX)), ERROR_BODY_CHARS_MAX)
}

/// Returns the message for a body without a message of its own.
pub(crate) fn status_message(status: u16, body: &str) -> String {
    let advice = if status == 404 { LOST } else { "" };
    if body.trim().is_empty() {
        format!("the provider answered with status {status} and no words{advice}")
    } else {
        format!("the provider answered with status {status}: {}{advice}", excerpt(body))
    }
}

/// Names the kind of failure by the status alone.
pub(crate) fn by_status(status: u16) -> FailureKind {
    match status {
        401 | 403 | 407 => FailureKind::Authentication,
        408 => FailureKind::Timeout,
        413 => FailureKind::TooLarge,
        429 => FailureKind::RateLimited,
        400..=499 => FailureKind::InvalidRequest,
        500..=599 => FailureKind::Overloaded,
        _ => FailureKind::Other,
    }
}

/// True if the message reports a transcript longer than the model's window.
pub(crate) fn is_context_overflow(words: &str) -> bool {
    let says = |word: &str| words.contains(word);
    // The message is about the limit of the answer.
    if says("max_tokens") && says("too large") {
        return false;
    }
    let plain = [
        "context_length_exceeded",
        "exceed_context_size",
        "maximum context length",
        "maximum prompt length",
        "context window",
        "available context size",
        "prompt is too long",
        "input is too long",
        "reduce the length of the messages",
    ];
    plain.iter().any(|word| says(word))
        || (says("context length") && (says("exceed") || says("greater")))
        || (says("token") && says("exceeds the maximum number"))
}

fn named(status: u16, told: &ProviderError) -> ModelFailure {
    let start = if has_no_credit(status, told) { "the account has no credit: " } else { "" };
    let kind = kind(status, told);
    let end = if status == 404 && kind == FailureKind::InvalidRequest { LOST } else { "" };
    ModelFailure::new(kind, format!("{start}{}{end}", words(status, told)))
}

/// Returns the provider's message, with the status and the code.
pub(crate) fn words(status: u16, told: &ProviderError) -> String {
    let names = [&told.code, &told.class];
    let name = names.into_iter().find(|name| !name.is_empty() && name.parse::<u16>().is_err());
    match name {
        Some(name) => format!("{} (status {status}, {name})", told.message),
        None => format!("{} (status {status})", told.message),
    }
}

fn kind(status: u16, told: &ProviderError) -> FailureKind {
    let words = format!("{} {} {}", told.code, told.class, told.message).to_ascii_lowercase();
    let says = |word: &str| words.contains(word);
    if has_no_credit(status, told) {
        return FailureKind::Other;
    }
    if status != 429 && is_context_overflow(&words) {
        return FailureKind::ContextOverflow;
    }
    if matches!(status, 400 | 403) {
        if says("content_filter")
            || says("invalid_prompt")
            || says("content_policy")
            || says("moderation")
            || says("flagged")
        {
            return FailureKind::Refused;
        }
        if says("invalid_api_key") || says("api key not valid") || says("incorrect api key") {
            return FailureKind::Authentication;
        }
    }
    let no_model = says("model_not_found")
        || says("not a valid model")
        || says("invalid model")
        || says("unknown model")
        || (says("model") && (says("not found") || says("not exist") || says("no endpoints")));
    if matches!(status, 400 | 403 | 404 | 422) && no_model {
        return FailureKind::UnknownModel;
    }
    by_status(status)
}

fn has_no_credit(status: u16, told: &ProviderError) -> bool {
    let names = [told.code.as_str(), told.class.as_str()];
    status == 402
        || names.iter().any(|name| {
            matches!(
                *name,
                "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active"
            )
        })
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}
