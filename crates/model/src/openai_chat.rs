//! OpenAI Chat Completions, and everything that speaks it: Ollama, the llama.cpp server, vLLM, OpenRouter,
//! Groq, Mistral, DeepSeek and more.
//!
//! Must never: trust that a server follows the protocol to the letter; each leaves something out.

mod reader;
mod request;
#[cfg(test)]
mod tests;

use agentry_protocol::message::{FailureKind, ModelFailure};
use serde::Deserialize;

use crate::codec::{AnswerReader, CodecInput, EncodedRequest, KeyHeader, ProtocolCodec};
use crate::error_status;

/// Who it is that speaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChatDialect {
    /// OpenAI itself.
    Openai,
    /// Everybody else.
    Compatible,
}

/// The protocol.
pub(crate) struct OpenaiChat {
    dialect: ChatDialect,
}

impl OpenaiChat {
    /// As they speak it.
    pub(crate) const fn new(dialect: ChatDialect) -> Self {
        Self { dialect }
    }
}

impl ProtocolCodec for OpenaiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::Bearer
    }

    fn write(&self, asked: CodecInput<'_>) -> EncodedRequest {
        EncodedRequest {
            path: "/chat/completions".to_owned(),
            headers: Vec::new(),
            body: request::body(self.dialect, asked),
        }
    }

    fn reader(&self, asked: CodecInput<'_>) -> Box<dyn AnswerReader> {
        Box::new(reader::ChatCompletionReader::new(asked))
    }

    fn failure(&self, status: u16, body: &str) -> ModelFailure {
        error_status::failure(status, body)
    }

    fn models_path(&self) -> &'static str {
        "/models"
    }

    fn models(&self, body: &str) -> Result<Vec<String>, ModelFailure> {
        models(body)
    }
}

/// Who can read what an answer has sealed.
fn sealer(model: &str) -> String {
    format!("openai-chat:{model}")
}

/// The names in a list of models as OpenAI writes it.
pub(crate) fn models(body: &str) -> Result<Vec<String>, ModelFailure> {
    #[derive(Deserialize)]
    struct OpenaiModelList {
        data: Vec<OpenaiModelEntry>,
    }
    #[derive(Deserialize)]
    struct OpenaiModelEntry {
        id: String,
    }
    let list: OpenaiModelList = serde_json::from_str(body).map_err(|error| {
        ModelFailure::new(
            FailureKind::Malformed,
            format!("the list of models is not one ({error}): {}", error_status::excerpt(body)),
        )
    })?;
    Ok(list.data.into_iter().map(|entry| entry.id).collect())
}
