//! The mode of a turn: supervised or autonomous.
//!
//! Must never: hold a rule of a mode; the kernel has them.

use serde::{Deserialize, Serialize};

/// The mode of a turn: with the gate, or without it inside of the sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// The gate asks a person. Files and wires say `structured`.
    #[default]
    #[serde(rename = "structured", alias = "supervised")]
    Supervised,
    /// Calls run unless the guard objects; a check ends the work. Files and wires say `wiggum`.
    #[serde(rename = "wiggum", alias = "autonomous")]
    Autonomous,
}

impl Mode {
    /// Returns the word for files and wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Supervised => "structured",
            Self::Autonomous => "wiggum",
        }
    }
}
