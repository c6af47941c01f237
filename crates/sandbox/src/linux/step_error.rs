//! One step of a confinement that did not work.
//!
//! Must never: be taken for the answer of the command; the command was not started.

use std::io;

/// A failed step and the system's answer.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {cause}")]
pub(crate) struct StepError {
    /// The step, in words a person can search for.
    pub(crate) step: String,
    /// The system's error, with its number.
    pub(crate) cause: io::Error,
}

impl StepError {
    /// Returns the error of a step that the system refused.
    pub(crate) fn new(step: impl Into<String>, cause: impl Into<io::Error>) -> Self {
        Self { step: step.into(), cause: cause.into() }
    }

    /// Returns the error of a step that we refuse ourselves, and the reason.
    pub(crate) fn refused(step: impl Into<String>, why: impl Into<String>) -> Self {
        Self { step: step.into(), cause: io::Error::other(why.into()) }
    }
}
