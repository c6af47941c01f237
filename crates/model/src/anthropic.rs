//! Codec of the Anthropic Messages protocol.
//!
//! Must never: send back thinking that another model signed, or accept a truncated call.

mod body;
mod names;
mod reader;

use agentry_protocol::message::{FailureKind, ModelFailure};
use serde::Deserialize;
use serde_json::Value;

use crate::codec::{AnswerReader, CodecInput, EncodedRequest, KeyHeader, ProtocolCodec};
use crate::http_failure::shown;

/// The supported version of the protocol.
const VERSION: &str = "2023-06-01";

/// The codec.
pub(crate) struct Anthropic;

impl ProtocolCodec for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::Named("x-api-key")
    }

    fn write(&self, asked: CodecInput<'_>) -> EncodedRequest {
        EncodedRequest {
            path: "/v1/messages".to_owned(),
            headers: self.list_headers(),
            body: body::write(asked),
        }
    }

    fn reader(&self, asked: CodecInput<'_>) -> Box<dyn AnswerReader> {
        Box::new(reader::AnthropicReader::new(asked))
    }

    fn failure(&self, status: u16, body: &str) -> ModelFailure {
        match serde_json::from_str::<ErrorBody>(body) {
            Ok(ErrorBody { error }) => {
                let kind = kind(&error, Some(status));
                let what = error.kind.as_deref().unwrap_or("no type");
                let said = shown(error.message.as_deref().unwrap_or_default());
                ModelFailure::new(kind, format!("{said} (status {status}, {what})"))
            }
            Err(_) => {
                let said = shown(body);
                let message = if said.is_empty() {
                    format!("status {status} without a reason")
                } else {
                    format!("status {status}: {said}")
                };
                ModelFailure::new(kind(&ErrorPart::default(), Some(status)), message)
            }
        }
    }

    fn models_path(&self) -> &'static str {
        "/v1/models?limit=1000"
    }

    fn list_headers(&self) -> Vec<(&'static str, String)> {
        vec![("anthropic-version", VERSION.to_owned())]
    }

    fn models(&self, body: &str) -> Result<Vec<String>, ModelFailure> {
        match serde_json::from_str::<AnthropicModelList>(body) {
            Ok(models) => Ok(models.data.into_iter().map(|model| model.id).collect()),
            Err(error) => {
                let message =
                    format!("the list of models cannot be read: {error}: {}", shown(body));
                Err(ModelFailure::new(FailureKind::Malformed, message))
            }
        }
    }
}

/// Returns the id under which content is sealed: a signature is valid for one model.
fn sealer(model: &str) -> String {
    format!("{}:{model}", Anthropic.name())
}

#[derive(Deserialize)]
struct AnthropicModelList {
    data: Vec<ModelEntry>,
}

#[derive(Deserialize)]
struct ModelEntry {
    id: String,
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorPart,
}

/// An error in the body of an answer or in a stream.
#[derive(Default, Deserialize)]
struct ErrorPart {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
    details: Option<Value>,
}

/// Returns the kind of a failure, by its name or, if that is unknown, by its status.
fn kind(error: &ErrorPart, status: Option<u16>) -> FailureKind {
    let message = error.message.as_deref().unwrap_or_default().to_ascii_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
    let spent = error.details.as_ref().and_then(|details| details["error_code"].as_str());
    match error.kind.as_deref() {
        Some("invalid_request_error")
            if says(&["prompt is too long", "exceed context limit", "context window"]) =>
        {
            FailureKind::ContextOverflow
        }
        // The account's limit is spent: neither a wait nor another request helps.
        Some("invalid_request_error")
            if says(&["credit balance", "usage limit", "spend limit"]) =>
        {
            FailureKind::Other
        }
        Some("rate_limit_error") if spent == Some("enforced_spend_limit_reached") => {
            FailureKind::Other
        }
        Some("billing_error") => FailureKind::Other,
        Some("invalid_request_error") if status == Some(413) => FailureKind::TooLarge,
        Some("invalid_request_error") => FailureKind::InvalidRequest,
        Some("authentication_error" | "permission_error") => FailureKind::Authentication,
        Some("not_found_error") if says(&["model"]) => FailureKind::UnknownModel,
        Some("not_found_error") => FailureKind::InvalidRequest,
        Some("request_too_large") => FailureKind::TooLarge,
        Some("rate_limit_error") => FailureKind::RateLimited,
        Some("timeout_error") => FailureKind::Timeout,
        Some("api_error" | "overloaded_error") => FailureKind::Overloaded,
        Some(_) | None => match status {
            Some(401 | 403) => FailureKind::Authentication,
            Some(408) => FailureKind::Timeout,
            Some(413) => FailureKind::TooLarge,
            Some(429) => FailureKind::RateLimited,
            Some(409 | 500..600) => FailureKind::Overloaded,
            Some(400..500) => FailureKind::InvalidRequest,
            Some(_) => FailureKind::Malformed,
            // An error of a new name in the middle of an answer is the provider's fault.
            None => FailureKind::Overloaded,
        },
    }
}
