//! The programs that the owner reviewed and trusts: those of a directory, by their content.
//!
//! Must never: apply to anything but exactly these files in exactly this place.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::hash::ContentHash;

/// A change to the programs, addresses and definitions that may be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum TrustChange {
    /// The owner trusts the programs of a directory in their present content. World.
    Trusted(Box<TrustedPrograms>),
    /// The owner trusts the addresses in a project: for prompts and other services. World.
    Addresses(Box<TrustedAddresses>),
    /// The definitions of a directory differ from the last record of them. World.
    Definitions(Box<KnownDefinitions>),
    /// The owner withdraws the trust in the programs and addresses of a directory. World.
    Withdrawn {
        /// The directory, without links.
        path: String,
        /// The person who withdraws it.
        by: String,
    },
}

/// The trusted addresses that the files of a project name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedAddresses {
    /// The directory of the project, without links.
    pub path: String,
    /// Each address in the form that the owner saw, with all that belongs to it.
    pub addresses: BTreeSet<String>,
    /// The person who reviewed them.
    pub by: String,
}

/// The definitions of a directory at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownDefinitions {
    /// The directory, without links.
    pub path: String,
    /// The hash of each file, by path.
    pub files: BTreeMap<String, ContentHash>,
    /// The person who confirmed them for `serve`; none if a run only recorded them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_by: Option<String>,
}

/// The programs of a directory that may run in their present content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedPrograms {
    /// The directory, without links.
    pub path: String,
    /// The hash of all files together.
    pub hash: ContentHash,
    /// The hash of each file, by path; the ledger keeps the texts.
    pub files: BTreeMap<String, ContentHash>,
    /// The person who reviewed them.
    pub by: String,
}
