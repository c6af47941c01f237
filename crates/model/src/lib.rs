//! Queries language models and streams their answers.
//!
//! Each wire format stays inside its module; callers see one request, one answer and one failure.
//!
//! Must never: run a tool, know a session, or treat a truncated answer as complete.
#![deny(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod anthropic;
mod arguments;
mod codec;
mod error_status;
#[cfg(test)]
mod fixture;
mod gemini;
mod http;
mod http_failure;
pub mod limits;
mod local;
mod openai;
mod openai_chat;
pub mod prices;
mod provider;
mod provider_request;
mod recording;
mod registry;
mod retry;
mod scripted;
mod transcript;
pub mod weights;

use std::time::Duration;

use agentry_local::LocalError;
use agentry_protocol::message::{ModelFailure, ModelRequest, RawToolCall, SealedContent, Usage};

pub use agentry_local::Embedder;
pub use http::{HttpError, HttpSettings, HttpTimeouts, ProviderClient, Proxy};
pub use local::LocalModels;
pub use prices::Prices;
pub use provider::{Protocol, Provider, list, open};
pub use recording::{RecordingError, RecordingMode, RedactFn};
pub use registry::{LOCAL, ProviderRegistry};
pub use retry::{RetryPolicy, RetryingModel};
pub use scripted::ScriptedModel;

/// A language model that answers queries.
pub trait Model: Send + Sync {
    /// Sends the query, streams the pieces, and blocks until the complete answer.
    fn ask(&self, question: &ModelQuery<'_>) -> Result<ModelAnswer, ModelFailure>;
}

/// A query to a model.
pub struct ModelQuery<'a> {
    /// The request to answer.
    pub request: &'a ModelRequest,
    /// The number of the request in its run, from one. A repeated number repeats the same request.
    pub number: u64,
    /// The session of the transcript; a provider may cache what it has read under this name.
    pub session: &'a str,
    /// Receives each piece of the answer as it arrives.
    pub hear: &'a dyn Fn(Delta),
    /// Receives retries and replacements of the model, to be recorded.
    pub tell: &'a dyn Fn(RetryNotice),
    /// Waits for this time; returns false if the answer is no longer wanted.
    pub wait: &'a dyn Fn(Duration) -> bool,
}

/// A piece of an answer while it streams; never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// A piece of the text.
    Text(String),
    /// A piece of the thinking.
    Thinking(String),
    /// A piece of the arguments of a call. The first piece may be empty and gives the name.
    Call {
        /// The index of the call in the answer, from zero.
        index: usize,
        /// The tool.
        name: String,
        /// A piece of the arguments, as JSON text.
        piece: String,
    },
    /// Voids all earlier pieces: the model is queried again.
    Restart,
}

/// A failed attempt, and the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryNotice {
    /// A new attempt with the same model.
    Retry {
        /// The number of the failed attempt, from one.
        attempt: u32,
        /// The failure of the attempt.
        failure: ModelFailure,
        /// The time until the next attempt.
        wait: Duration,
    },
    /// An attempt with the next model.
    Replace {
        /// The failed model, as provider and model.
        from: String,
        /// The next model, as provider and model.
        to: String,
        /// The failure of the first one.
        failure: ModelFailure,
    },
}

/// A complete answer. Its calls have no ids yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAnswer {
    /// The text.
    pub text: String,
    /// The thinking.
    pub thinking: String,
    /// The requested tool calls.
    pub calls: Vec<RawToolCall>,
    /// The content that the provider wants back with the next request.
    pub sealed: Option<SealedContent>,
    /// The model that answered, as provider and model.
    pub model: Option<String>,
    /// The token usage, if the provider reports it.
    pub usage: Option<Usage>,
}

/// The reason why a model cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ModelOpenError {
    /// No provider serves the model.
    #[error("no provider serves the model `{name}`")]
    Unknown {
        /// The name.
        name: String,
    },
    /// The provider's settings are unusable.
    #[error("the provider `{id}` cannot be used: {why}")]
    Provider {
        /// The provider.
        id: String,
        /// The defect of the settings.
        why: String,
    },
    /// The weights of a local model are not on this machine.
    #[error("the model `{name}` is not on this machine; `agentry pull {name}` gets it")]
    NotInstalled {
        /// The name.
        name: String,
    },
    /// A local model cannot be opened.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// The HTTP client cannot be used at all.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The script cannot be read.
    #[error("cannot read the script {file}: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// The error of the system.
        error: std::io::Error,
    },
    /// A line of the script is invalid.
    #[error("{file}:{line}: {why}")]
    Line {
        /// The file.
        file: String,
        /// The line, from one.
        line: usize,
        /// The defect of the line.
        why: String,
    },
}
