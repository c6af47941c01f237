//! The reason why a command stopped, in words for the person who ran it.
//!
//! Must never: be matched by its text; code that must react gets a value, not a failure.

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

    /// Reports a file or folder that could not be used: `verb` as in "read" or "write".
    pub(crate) fn file(verb: &str, path: &Path, error: &std::io::Error) -> CommandFailure {
        CommandFailure::new(format!("Could not {verb} {}: {error}.", path.display()))
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}
