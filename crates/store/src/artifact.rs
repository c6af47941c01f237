//! Long strings, each in a file that is named by the hash of its content.
//!
//! A file is complete on disk before the entry that names it is committed. Equal content has one
//! file; writing it again changes nothing.
//!
//! Must never: return content that does not match its hash.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use agentry_protocol::ContentHash;

use crate::error::Error;
use crate::home::{self, Home};

const HASH_PREFIX: &str = "blake3:";
const HASH_DIGITS: usize = 64;
/// Number of digits of the hash that name the directory.
const SHELF_DIGITS: usize = 2;

static TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// The directory of the artifacts.
#[derive(Clone, Debug)]
pub(crate) struct Artifacts {
    root: PathBuf,
}

impl Artifacts {
    pub(crate) fn new(home: &Home) -> Self {
        Self { root: home.artifacts() }
    }

    /// Stores the content and returns its hash; the file is on disk when this returns.
    pub(crate) fn keep(&self, content: &[u8]) -> Result<ContentHash, Error> {
        let hash = ContentHash::of(content);
        let path = self.path(hash.as_str()).expect("a fresh hash has the form of one");
        let shelf = path.parent().expect("the path of an artifact has a directory").to_owned();
        home::make_directory(&shelf)?;
        let number = TEMPORARY.fetch_add(1, Ordering::Relaxed);
        let temporary = shelf.join(format!("{}-{number}.tmp", process::id()));
        let written = home::private_file()
            .write(true)
            .truncate(true)
            .open(&temporary)
            .and_then(|mut file| {
                file.write_all(content)?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&temporary, &path));
        written.map_err(|source| Error::File { path, doing: "write", source })?;
        home::sync_directory(&shelf)?;
        Ok(hash)
    }

    /// Returns the text with this hash.
    pub(crate) fn fetch(&self, hash: &str) -> Result<String, Error> {
        let (path, bytes) = self.fetch_bytes(hash)?;
        String::from_utf8(bytes).map_err(|_| Error::Artifact { path, why: "is not text" })
    }

    /// Returns the content with this hash, text or not, and the path of its file.
    pub(crate) fn fetch_bytes(&self, hash: &str) -> Result<(PathBuf, Vec<u8>), Error> {
        let fault = |path, why| Error::Artifact { path, why };
        let Some(path) = self.path(hash) else {
            return Err(fault(self.root.clone(), "has a name that is not a hash"));
        };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(fault(path, "is missing"));
            }
            Err(source) => return Err(Error::File { path, doing: "read", source }),
        };
        if ContentHash::of(&bytes).as_str() != hash {
            return Err(fault(path, "was changed"));
        }
        Ok((path, bytes))
    }

    /// Returns true if there is a file for this hash.
    pub(crate) fn holds(&self, hash: &str) -> bool {
        self.path(hash).is_some_and(|path| path.is_file())
    }

    /// Returns the path of a hash. Any other name gets None: a forged body must not lead elsewhere.
    fn path(&self, hash: &str) -> Option<PathBuf> {
        let digits = hash.strip_prefix(HASH_PREFIX)?;
        let fits = digits.len() == HASH_DIGITS
            && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let (shelf, rest) = fits.then(|| digits.split_at(SHELF_DIGITS))?;
        Some(self.root.join(shelf).join(rest))
    }
}
