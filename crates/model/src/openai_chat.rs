//! Codec of OpenAI Chat Completions and compatible servers: Ollama, the llama.cpp server, vLLM,
//! OpenRouter, Groq, Mistral, DeepSeek and more.
//!
//! Must never: rely on a server to follow the protocol exactly; each leaves a part out.

mod reader;
mod request;
#[cfg(test)]
mod tests;

use agentry_protocol::message::{FailureKind, ModelFailure};
use serde::Deserialize;

use crate::codec::{AnswerReader, CodecInput, EncodedRequest, KeyHeader, ProtocolCodec};
use crate::error_status;

/// The kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChatDialect {
    /// OpenAI itself.
    Openai,
    /// Any other server.
    Compatible,
}

/// The codec.
pub(crate) struct OpenaiChat {
    dialect: ChatDialect,
}

impl OpenaiChat {
    /// Creates the codec for a kind of server.
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

/// Returns the id under which content is sealed; a request carries only content of its own id.
fn sealer(model: &str) -> String {
    format!("openai-chat:{model}")
}

/// Returns the names in a list of models in OpenAI's form.
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
