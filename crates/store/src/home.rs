//! The home: the directory that holds the ledger and its files.
//!
//! `ledger.sqlite3` is the ledger, `artifacts/` holds its long strings, `locks/` the locks of
//! sessions; `anchor` and `head` are the second record of the ledger's length.
//!
//! Must never: give access to other users than the owner.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::Error;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The directory of a ledger and its files.
#[derive(Clone, Debug)]
pub struct Home {
    // Invariant: its directories existed when this was created, unless it is open for reading only.
    root: PathBuf,
}

impl Home {
    /// Opens a home and creates missing directories and files, private to the owner.
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

    /// Returns a home for reading; creates no files.
    pub(crate) fn read_only(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns true if the process can create files in the home.
    pub(crate) fn is_writable(&self) -> bool {
        rustix::fs::access(&self.root, rustix::fs::Access::WRITE_OK).is_ok()
    }

    /// Returns true if the directory is a home with a ledger.
    pub fn is_there(root: &Path) -> bool {
        Self { root: root.to_owned() }.ledger().exists()
    }

    /// Returns the path of the home directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of the ledger file.
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger.sqlite3")
    }

    /// Returns the path of the directory of artifacts.
    pub fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts")
    }

    /// Returns the path of the directory of session locks.
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// Returns the path of the anchor file, a list of `seq hash time` lines.
    pub fn anchor(&self) -> PathBuf {
        self.root.join("anchor")
    }

    /// Returns the path of the file with the newest entry.
    pub fn head(&self) -> PathBuf {
        self.root.join("head")
    }
}

/// Returns options that open a file, and create it readable by the owner only.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).mode(FILE_MODE);
    options
}

/// Creates a directory for the owner only; it is on disk when this returns.
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

/// Returns the content of a file, or None if there is no such file.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::File { path: path.to_owned(), doing: "read", source }),
    }
}
