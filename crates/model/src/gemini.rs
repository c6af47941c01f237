//! Codec of Google's own Gemini protocol.
//!
//! Must never: send a thought's signature with any part but its own.

mod failure;
mod reader;
mod request;
#[cfg(test)]
mod tests;

use agentry_protocol::message::{FailureKind, ModelFailure};
use serde::Deserialize;

use crate::codec::{AnswerReader, CodecInput, EncodedRequest, KeyHeader, ProtocolCodec};
use crate::error_status;

/// The codec.
pub(crate) struct Gemini;

impl ProtocolCodec for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::Named("x-goog-api-key")
    }

    fn write(&self, asked: CodecInput<'_>) -> EncodedRequest {
        EncodedRequest {
            path: request::path(asked.model),
            headers: Vec::new(),
            body: request::body(asked),
        }
    }

    fn reader(&self, asked: CodecInput<'_>) -> Box<dyn AnswerReader> {
        Box::new(reader::GeminiReader::new(asked))
    }

    fn failure(&self, status: u16, body: &str) -> ModelFailure {
        failure::of(status, body)
    }

    fn models_path(&self) -> &'static str {
        "/v1beta/models?pageSize=1000"
    }

    fn models(&self, body: &str) -> Result<Vec<String>, ModelFailure> {
        #[derive(Deserialize)]
        struct GeminiModelList {
            #[serde(default)]
            models: Vec<GeminiModelEntry>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct GeminiModelEntry {
            name: String,
            #[serde(default)]
            supported_generation_methods: Vec<String>,
        }
        let list: GeminiModelList = serde_json::from_str(body).map_err(|error| {
            let shown = error_status::excerpt(body);
            let what = format!("the list of models is not one ({error}): {shown}");
            ModelFailure::new(FailureKind::Malformed, what)
        })?;
        let answers = |entry: &GeminiModelEntry| {
            entry.supported_generation_methods.iter().any(|way| way == "generateContent")
        };
        Ok(list
            .models
            .into_iter()
            .filter(answers)
            .map(|entry| bare(&entry.name).to_owned())
            .collect())
    }
}

/// Returns the name without the prefix that every name in a list has.
fn bare(model: &str) -> &str {
    model.strip_prefix("models/").unwrap_or(model)
}

/// Returns the id under which content is sealed; a request carries only content of its own id.
fn sealer(model: &str) -> String {
    format!("gemini:{model}")
}
