//! The storage of long contents, by the hash of the content.
//!
//! Must never: be asked for a name that is not a hash; such a name could lead to another file.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use crate::error::Error;

const HASH_PREFIX: &str = "blake3:";
const HASH_DIGITS: usize = 64;
/// Number of digits of the hash that name the directory.
const SHELF_DIGITS: usize = 2;

/// The storage of contents. Equal contents have one name, so writing again changes nothing.
pub(crate) trait BlobStore: Debug + Send + Sync {
    /// Stores a content; it is on disk when this returns.
    fn put(&self, name: BlobName<'_>, content: &[u8]) -> Result<(), Error>;

    /// Returns the content as stored, or None if there is none.
    fn get(&self, name: BlobName<'_>) -> Result<Option<Vec<u8>>, Error>;

    /// Returns true if a content is stored.
    fn holds(&self, name: BlobName<'_>) -> bool;
}

/// The name of a content: the digits of its hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlobName<'a> {
    // Invariant: as many lower-case hexadecimal digits as a hash has.
    digits: &'a str,
}

impl<'a> BlobName<'a> {
    /// Returns the name for the printed form of a hash; None if the text is not one.
    pub(crate) fn of_hash(hash: &'a str) -> Option<Self> {
        let digits = hash.strip_prefix(HASH_PREFIX)?;
        let fits = digits.len() == HASH_DIGITS
            && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        fits.then_some(Self { digits })
    }

    /// Returns the path of the content below the directory of artifacts.
    pub(crate) fn path_below(self, root: &Path) -> PathBuf {
        let (shelf, rest) = self.digits.split_at(SHELF_DIGITS);
        root.join(shelf).join(rest)
    }
}
