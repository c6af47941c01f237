//! The interface of a provider's protocol: requests to write, frames to read, errors to name.
//!
//! Each protocol is one module beside this one. It handles bytes, not connections: `http` sends and
//! reads, `retry` asks again. So a protocol can be tested with text alone, cut at every byte.
//!
//! Must never: open a connection, wait, or see a key.

use agentry_protocol::message::{ModelFailure, ModelRequest};

use crate::{Delta, ModelAnswer};

/// A request in the form of one protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncodedRequest {
    /// The path after the base URL, with its slash: `/v1/messages`.
    pub(crate) path: String,
    /// Headers other than the key, the content type and the length.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The JSON body, stable parts first, so that each body begins with most of the one before.
    pub(crate) body: Vec<u8>,
}

/// One frame of a stream of server-sent events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnswerFrame {
    /// The name, if it has one.
    pub(crate) event: Option<String>,
    /// The data; several lines are joined by line breaks.
    pub(crate) data: String,
}

/// The header that carries the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `authorization: Bearer <key>`.
    Bearer,
    /// A header of this name that holds the key alone.
    Named(&'static str),
}

/// The input of a codec.
#[derive(Clone, Copy)]
pub(crate) struct CodecInput<'a> {
    /// The request. Its `model` holds provider and model.
    pub(crate) request: &'a ModelRequest,
    /// The model, as the provider names it.
    pub(crate) model: &'a str,
    /// The session of the transcript: a provider may cache what it has read under this name.
    pub(crate) session: &'a str,
}

/// A provider's protocol.
pub(crate) trait ProtocolCodec: Send + Sync {
    /// Returns the name in records: `anthropic`, `openai`, `openai-chat`, `gemini`.
    fn name(&self) -> &'static str;

    /// Returns the header that carries the key.
    fn key_header(&self) -> KeyHeader;

    /// Writes the request.
    fn write(&self, asked: CodecInput<'_>) -> EncodedRequest;

    /// Returns a reader for the answer to that request.
    fn reader(&self, asked: CodecInput<'_>) -> Box<dyn AnswerReader>;

    /// Names the failure of an error answer. The body may be empty, no JSON, or any other text.
    fn failure(&self, status: u16, body: &str) -> ModelFailure;

    /// Returns the path below the base URL that lists the provider's models.
    fn models_path(&self) -> &'static str;

    /// Returns the headers, other than the key, for the list of models.
    fn list_headers(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Parses the names in such a list.
    fn models(&self, body: &str) -> Result<Vec<String>, ModelFailure>;
}

/// Reads one answer.
pub(crate) trait AnswerReader: Send {
    /// Reads the next frame. Returns true if the answer is complete and needs no further frame.
    fn take(&mut self, frame: &AnswerFrame, hear: &dyn Fn(Delta)) -> Result<bool, ModelFailure>;

    /// Returns the complete answer after the last frame. A truncated answer is a failure of the
    /// kind `Cut`, and has no calls.
    fn finish(self: Box<Self>) -> Result<ModelAnswer, ModelFailure>;
}
