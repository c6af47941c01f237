//! What the owner has looked at and lets run: the programs of a directory, by their content.
//!
//! Must never: stand for anything but exactly these files in exactly this place.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::hash::ContentHash;

/// What changed about what may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum TrustChange {
    /// The owner lets the programs of a directory run as they are. World.
    Trusted(Box<TrustedPrograms>),
    /// The owner lets a project say where prompts go and what else it reaches. World.
    Addresses(Box<TrustedAddresses>),
    /// The definitions of a directory are other than those that were recorded before. World.
    Definitions(Box<KnownDefinitions>),
    /// The owner does not let them run any more, nor the project's addresses be used. World.
    Withdrawn {
        /// The directory, without links.
        path: String,
        /// Who.
        by: String,
    },
}

/// Addresses that a project's files may decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedAddresses {
    /// The project's directory, without links.
    pub path: String,
    /// Each address as it was shown, with everything that belongs to it.
    pub addresses: BTreeSet<String>,
    /// Who looked.
    pub by: String,
}

/// The definitions of a directory at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownDefinitions {
    /// The directory, without links.
    pub path: String,
    /// Each file with its hash.
    pub files: BTreeMap<String, ContentHash>,
    /// Who confirmed them for `serve`; none if a run only met them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_by: Option<String>,
}

/// Programs that may run as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedPrograms {
    /// The directory, without links.
    pub path: String,
    /// The hash of all of them together.
    pub hash: ContentHash,
    /// Each file with its hash; the texts are kept.
    pub files: BTreeMap<String, ContentHash>,
    /// Who looked.
    pub by: String,
}
