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

use crate::status;
use crate::wire::{Asked, KeyHeader, Reader, Wire, Written};

/// Who it is that speaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenAI itself.
    Openai,
    /// Everybody else.
    Compatible,
}

/// The protocol.
pub(crate) struct OpenaiChat {
    dialect: Dialect,
}

impl OpenaiChat {
    /// As they speak it.
    pub(crate) const fn new(dialect: Dialect) -> Self {
        Self { dialect }
    }
}

impl Wire for OpenaiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::Bearer
    }

    fn write(&self, asked: Asked<'_>) -> Written {
        Written {
            path: "/chat/completions".to_owned(),
            headers: Vec::new(),
            body: request::body(self.dialect, asked),
        }
    }

    fn reader(&self, asked: Asked<'_>) -> Box<dyn Reader> {
        Box::new(reader::Chat::new(asked))
    }

    fn failure(&self, status: u16, body: &str) -> ModelFailure {
        status::failure(status, body)
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
    struct List {
        data: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        id: String,
    }
    let list: List = serde_json::from_str(body).map_err(|error| {
        ModelFailure::new(
            FailureKind::Malformed,
            format!("the list of models is not one ({error}): {}", status::shown(body)),
        )
    })?;
    Ok(list.data.into_iter().map(|entry| entry.id).collect())
}
