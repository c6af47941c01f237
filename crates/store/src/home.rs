//! The directory in which everything that is remembered lives.
//!
//! `ledger.sqlite3` is the ledger, `artifacts/` its long strings, `locks/` says who works on which
//! session, and `anchor` and `head` are the second place that knows how far the ledger went.
//!
//! Must never: let anybody but its owner in.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::Error;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A home that exists.
#[derive(Clone, Debug)]
pub struct Home {
    // Invariant: the directories below it were there when this was made, unless it is only looked at.
    root: PathBuf,
}

impl Home {
    /// Makes what is missing of the home.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let home = Self { root: root.to_owned() };
        for directory in [home.root.clone(), home.artifacts(), home.locks()] {
            make_directory(&directory)?;
        }
        for file in [home.ledger(), home.anchor()] {
            let made = private_file().append(true).open(&file);
            made.map_err(|source| Error::File { path: file, doing: "make", source })?;
        }
        sync_directory(&home.root)?;
        Ok(home)
    }

    /// The home as it is; nothing is made.
    pub(crate) fn read_only(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Whether files can be made in it.
    pub(crate) fn is_writable(&self) -> bool {
        rustix::fs::access(&self.root, rustix::fs::Access::WRITE_OK).is_ok()
    }

    /// Whether there is a home with a ledger in a directory.
    pub fn is_there(root: &Path) -> bool {
        Self { root: root.to_owned() }.ledger().exists()
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The ledger.
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger.sqlite3")
    }

    /// The long strings.
    pub fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts")
    }

    /// Who works on which session.
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// How far the ledger went.
    pub fn anchor(&self) -> PathBuf {
        self.root.join("anchor")
    }

    /// The newest entry of the ledger.
    pub fn head(&self) -> PathBuf {
        self.root.join("head")
    }
}

/// Options for a file that only its owner reads; it is made if it is missing.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).mode(FILE_MODE);
    options
}

/// Makes a directory that only its owner enters, on disk before this returns.
pub(crate) fn make_directory(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Ok(());
    }
    let fault = |source| Error::File { path: path.to_owned(), doing: "make", source };
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path).map_err(fault)?;
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => Ok(()),
    }
}

/// Waits until the names in a directory are on disk.
pub(crate) fn sync_directory(path: &Path) -> Result<(), Error> {
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.map_err(|source| Error::File { path: path.to_owned(), doing: "sync", source })
}

/// The content of a file, or nothing if there is no such file.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::File { path: path.to_owned(), doing: "read", source }),
    }
}
