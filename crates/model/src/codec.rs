//! What a provider's protocol is to the rest: a request to send, frames to read, errors to name.
//!
//! Each protocol is one file beside this one. It knows bytes, not connections: `http` sends and reads, `retry`
//! asks again. So a protocol can be tested with nothing but text, cut at every byte.
//!
//! Must never: open a connection, wait, or see a key.

use agentry_protocol::message::{ModelFailure, ModelRequest};

use crate::{Delta, ModelAnswer};

/// A request as one protocol writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncodedRequest {
    /// What comes after the base URL, with its slash: `/v1/messages`.
    pub(crate) path: String,
    /// Headers beside the key, the content type and the length.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The body: JSON. Stable first, so that each begins with most of the one before.
    pub(crate) body: Vec<u8>,
}

/// One frame of a stream of server-sent events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnswerFrame {
    /// Its name, if it has one.
    pub(crate) event: Option<String>,
    /// Its data; several lines are joined by line breaks.
    pub(crate) data: String,
}

/// How a key is shown to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `authorization: Bearer <key>`.
    Bearer,
    /// A header of this name that holds the key alone.
    Named(&'static str),
}

/// What a request is written from.
#[derive(Clone, Copy)]
pub(crate) struct CodecInput<'a> {
    /// The request. Its `model` holds provider and model.
    pub(crate) request: &'a ModelRequest,
    /// The model, as the provider names it.
    pub(crate) model: &'a str,
    /// Which talk it belongs to: a provider may keep what it read of it under this name.
    pub(crate) session: &'a str,
}

/// A provider's protocol.
pub(crate) trait ProtocolCodec: Send + Sync {
    /// The name in records: `anthropic`, `openai`, `openai-chat`, `gemini`.
    fn name(&self) -> &'static str;

    /// How the key is shown.
    fn key_header(&self) -> KeyHeader;

    /// The request.
    fn write(&self, asked: CodecInput<'_>) -> EncodedRequest;

    /// A reader for the answer to that request.
    fn reader(&self, asked: CodecInput<'_>) -> Box<dyn AnswerReader>;

    /// What an answer with an error status means. The body may be anything, also empty or not JSON.
    fn failure(&self, status: u16, body: &str) -> ModelFailure;

    /// The path below the base URL that lists the provider's models.
    fn models_path(&self) -> &'static str;

    /// Headers beside the key when the models are listed.
    fn list_headers(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The names in such a list.
    fn models(&self, body: &str) -> Result<Vec<String>, ModelFailure>;
}

/// Reads one answer.
pub(crate) trait AnswerReader: Send {
    /// Takes the next frame. True means that the answer is whole and that nothing more is wanted.
    fn take(&mut self, frame: &AnswerFrame, hear: &dyn Fn(Delta)) -> Result<bool, ModelFailure>;

    /// The whole answer, once no frame is left. An answer that was cut is a failure of the kind `Cut`, and
    /// has no calls.
    fn finish(self: Box<Self>) -> Result<ModelAnswer, ModelFailure>;
}
