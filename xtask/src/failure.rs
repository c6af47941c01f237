//! Why a command stopped, in words for the person who ran it.
//!
//! Must never: be told apart by its text; whoever needs to react gets a value, not a failure.

use std::{fmt, path::Path};

#[derive(Debug)]
pub(crate) struct Failure {
    // Invariant: whole sentences, and the last one says what to do where we know it.
    text: String,
}

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Failure {
        Failure { text: text.into() }
    }

    /// A file or folder refused what we wanted: `verb` as in "read" or "write".
    pub(crate) fn file(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
        Failure::new(format!("Could not {verb} {}: {error}.", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}
