//! Codec of the OpenAI Responses protocol.
//!
//! Nothing is stored at the provider: each request holds the whole transcript, with the model's own
//! thinking as the provider sealed it.
//!
//! Must never: ask the provider to store the transcript.

mod reader;
mod request;
#[cfg(test)]
mod tests;

use agentry_protocol::message::ModelFailure;

use crate::codec::{AnswerReader, CodecInput, EncodedRequest, KeyHeader, ProtocolCodec};
use crate::{error_status, openai_chat};

/// The codec.
pub(crate) struct Openai;

impl ProtocolCodec for Openai {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::Bearer
    }

    fn write(&self, asked: CodecInput<'_>) -> EncodedRequest {
        EncodedRequest {
            path: "/responses".to_owned(),
            headers: Vec::new(),
            body: request::body(asked),
        }
    }

    fn reader(&self, asked: CodecInput<'_>) -> Box<dyn AnswerReader> {
        Box::new(reader::ResponsesReader::new(asked))
    }

    fn failure(&self, status: u16, body: &str) -> ModelFailure {
        error_status::failure(status, body)
    }

    fn models_path(&self) -> &'static str {
        "/models"
    }

    fn models(&self, body: &str) -> Result<Vec<String>, ModelFailure> {
        openai_chat::models(body)
    }
}

/// Returns the id under which content is sealed; a request carries only content of its own id.
fn sealer(model: &str) -> String {
    format!("openai:{model}")
}
