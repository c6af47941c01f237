//! One step of a confinement that did not work.
//!
//! Must never: be taken for the answer of the command; the command was not started.

use std::io;

/// Which step failed, and what the system answered.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {cause}")]
pub(crate) struct StepError {
    /// The step, in words a person can look for.
    pub(crate) step: String,
    /// What the system answered, with its number.
    pub(crate) cause: io::Error,
}

impl StepError {
    /// A step that the system refused.
    pub(crate) fn new(step: impl Into<String>, cause: impl Into<io::Error>) -> Self {
        Self { step: step.into(), cause: cause.into() }
    }

    /// A step that we refuse ourselves, and why.
    pub(crate) fn refused(step: impl Into<String>, why: impl Into<String>) -> Self {
        Self { step: step.into(), cause: io::Error::other(why.into()) }
    }
}
