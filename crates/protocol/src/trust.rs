//! What the owner has looked at and lets run: the programs of a directory, by their content.
//!
//! Must never: stand for anything but exactly these files in exactly this place.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hash::ContentHash;

/// What changed about what may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum TrustChange {
    /// The owner lets the programs of a directory run as they are. World.
    Trusted(Box<Trusted>),
    /// The owner does not let them run any more. World.
    Withdrawn {
        /// The directory, without links.
        path: String,
        /// Who.
        by: String,
    },
}

/// Programs that may run as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    /// The directory, without links.
    pub path: String,
    /// The hash of all of them together.
    pub hash: ContentHash,
    /// Each file with its hash; the texts are kept.
    pub files: BTreeMap<String, ContentHash>,
    /// Who looked.
    pub by: String,
}
