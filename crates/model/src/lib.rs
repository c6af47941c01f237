//! Asks a language model and streams the answer.
//!
//! A provider's wire form stays inside its file; outside there is one request, one answer, one failure.
//!
//! Must never: run a tool, know a session, or take a cut-off answer for a whole one.
#![deny(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod anthropic;
mod arguments;
mod codec;
mod error_status;
#[cfg(test)]
mod fixture;
mod gemini;
mod http;
pub mod limits;
mod local;
mod openai;
mod openai_chat;
pub mod prices;
mod provider;
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
pub use http::{HttpError, HttpSettings, HttpTimeouts, ProviderClient, Proxy, RedactFn};
pub use local::LocalModels;
pub use prices::Prices;
pub use provider::{Protocol, Provider, list, open};
pub use recording::{RecordingError, RecordingMode};
pub use registry::{LOCAL, ProviderRegistry};
pub use retry::{RetryPolicy, RetryingModel};
pub use scripted::ScriptedModel;

/// Somebody who answers.
pub trait Model: Send + Sync {
    /// Asks, and waits for the whole answer.
    fn ask(&self, question: &ModelQuery<'_>) -> Result<ModelAnswer, ModelFailure>;
}

/// A question to a model.
pub struct ModelQuery<'a> {
    /// The request.
    pub request: &'a ModelRequest,
    /// Which request of its run this is, from one. The same number again is the same question again.
    pub number: u64,
    /// Which talk it belongs to; a provider may keep what it knows of it.
    pub session: &'a str,
    /// Told each piece of the answer as it comes.
    pub hear: &'a dyn Fn(Delta),
    /// Told what happens on the way to an answer, to be recorded.
    pub tell: &'a dyn Fn(RetryNotice),
    /// Waits so long; false means that nobody wants the answer any more.
    pub wait: &'a dyn Fn(Duration) -> bool,
}

/// A piece of an answer while it streams; never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Of what it says.
    Text(String),
    /// Of what it thinks.
    Thinking(String),
    /// Of the arguments of a call. The first piece of a call may be empty and tells its name.
    Call {
        /// Which call of the answer, from zero.
        index: usize,
        /// The tool.
        name: String,
        /// Of its arguments, as JSON.
        piece: String,
    },
    /// All pieces so far are void: the model is asked again.
    Restart,
}

/// What went wrong on the way to an answer, and what is done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryNotice {
    /// The same model is asked again.
    Retry {
        /// Which try failed, from one.
        attempt: u32,
        /// Why.
        failure: ModelFailure,
        /// How long it is waited before the next.
        wait: Duration,
    },
    /// Another model is asked.
    Replace {
        /// Who did not answer: provider and model.
        from: String,
        /// Who is asked now.
        to: String,
        /// Why.
        failure: ModelFailure,
    },
}

/// A whole answer. The calls have no ids yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAnswer {
    /// What it says.
    pub text: String,
    /// What it thinks.
    pub thinking: String,
    /// What it asks for.
    pub calls: Vec<RawToolCall>,
    /// What the provider wants to be shown again.
    pub sealed: Option<SealedContent>,
    /// Who answered: provider and model.
    pub model: Option<String>,
    /// What it cost, if the provider says so.
    pub usage: Option<Usage>,
}

/// Why there is no such model.
#[derive(Debug, thiserror::Error)]
pub enum ModelOpenError {
    /// Nobody serves it.
    #[error("no provider serves the model `{name}`")]
    Unknown {
        /// The name.
        name: String,
    },
    /// The provider cannot be asked as it is set up.
    #[error("the provider `{id}` cannot be used: {why}")]
    Provider {
        /// The provider.
        id: String,
        /// What is wrong with it.
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
    /// Nothing can be sent at all.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The script cannot be read.
    #[error("cannot read the script {file}: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// A line of the script is not what it should be.
    #[error("{file}:{line}: {why}")]
    Line {
        /// The file.
        file: String,
        /// The line, from one.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}
