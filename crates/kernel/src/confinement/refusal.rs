//! The parts of a request that a ceiling refuses, as a person reads them.
//!
//! Must never: decide what is refused.

use std::fmt;

use agentry_agentfile::source::Origin;

/// A requested setting that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedSetting {
    /// The name of the setting.
    pub key: &'static str,
    /// The requested value.
    pub asked: String,
    /// The file and line of the request.
    pub origin: Origin,
    /// A complete explanation, with what to do.
    pub text: String,
}

impl fmt::Display for DroppedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text, self.origin)
    }
}

/// An error in settings that cannot be enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfinementError {
    /// A description of the problem.
    pub what: String,
    /// The file and line of the setting.
    pub origin: Origin,
    /// The suggested correction.
    pub help: String,
}

impl fmt::Display for ConfinementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}); {}", self.what, self.origin, self.help)
    }
}

impl std::error::Error for ConfinementError {}
