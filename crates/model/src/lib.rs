//! Asks a language model and streams the answer.
//!
//! A provider's wire form stays inside its file; outside there is one request, one answer, one failure.
//!
//! Must never: run a tool, know a session, or take a cut-off answer for a whole one.
#![deny(missing_docs, clippy::print_stdout, clippy::print_stderr)]

pub mod limits;
mod scripted;
pub mod weights;

use std::path::Path;
use std::time::Duration;

use agentry_protocol::message::{AskedCall, ModelFailure, ModelRequest, Usage};

pub use scripted::Scripted;

/// Somebody who answers.
pub trait Model: Send + Sync {
    /// Asks, and waits for the whole answer.
    fn ask(&self, question: &Question<'_>) -> Result<Answer, ModelFailure>;
}

/// A question to a model.
pub struct Question<'a> {
    /// The request.
    pub request: &'a ModelRequest,
    /// Which request of its run this is, from one. The same number again is the same question again.
    pub number: u64,
    /// Told each piece of the answer as it comes.
    pub hear: &'a dyn Fn(Delta),
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
}

/// A whole answer. The calls have no ids yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// What it says.
    pub text: String,
    /// What it thinks.
    pub thinking: String,
    /// What it asks for.
    pub calls: Vec<AskedCall>,
    /// What it cost, if the provider says so.
    pub usage: Option<Usage>,
}

/// The model of this name. `scripted:<file>` is a file of answers.
pub fn find(name: &str) -> Result<Box<dyn Model>, NoModel> {
    match name.strip_prefix("scripted:") {
        Some(file) => Ok(Box::new(Scripted::read(Path::new(file))?)),
        None => Err(NoModel::Unknown { name: name.to_owned() }),
    }
}

/// Why there is no such model.
#[derive(Debug, thiserror::Error)]
pub enum NoModel {
    /// Nobody serves it.
    #[error("no provider serves the model `{name}`")]
    Unknown {
        /// The name.
        name: String,
    },
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
