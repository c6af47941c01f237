//! Why a command stopped, in words for the person who ran it.
//!
//! Must never: be told apart by its text; whoever needs to react gets a value, not a failure.

use std::{fmt, path::Path};

#[derive(Debug)]
pub(crate) struct CommandFailure {
    // Invariant: whole sentences, and the last one says what to do where we know it.
    text: String,
}

impl CommandFailure {
    pub(crate) fn new(text: impl Into<String>) -> CommandFailure {
        CommandFailure { text: text.into() }
    }

    /// A file or folder refused what we wanted: `verb` as in "read" or "write".
    pub(crate) fn file(verb: &str, path: &Path, error: &std::io::Error) -> CommandFailure {
        CommandFailure::new(format!("Could not {verb} {}: {error}.", path.display()))
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}
