//! Long strings, each stored under the hash of its content.
//!
//! A content is complete on disk before the entry that names it is committed. Equal content is
//! stored once; storing it again changes nothing.
//!
//! Must never: return content that does not match its hash.

use std::path::PathBuf;
use std::sync::Arc;

use agentry_protocol::ContentHash;

use crate::blob_store::{BlobName, BlobStore};
use crate::error::Error;
use crate::home::Home;

/// The artifacts of a home.
#[derive(Clone, Debug)]
pub(crate) struct Artifacts {
    /// The directory that errors name.
    root: PathBuf,
    blobs: Arc<dyn BlobStore>,
}

impl Artifacts {
    pub(crate) fn new(home: &Home, blobs: Arc<dyn BlobStore>) -> Self {
        Self { root: home.artifacts(), blobs }
    }

    /// Stores the content and returns its hash; the content is on disk when this returns.
    pub(crate) fn keep(&self, content: &[u8]) -> Result<ContentHash, Error> {
        let hash = ContentHash::of(content);
        let name = BlobName::of_hash(hash.as_str()).expect("a fresh hash has the form of one");
        self.blobs.put(name, content)?;
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
        // A forged body must not lead elsewhere.
        let Some(name) = BlobName::of_hash(hash) else {
            return Err(fault(self.root.clone(), "has a name that is not a hash"));
        };
        let path = name.path_below(&self.root);
        let Some(bytes) = self.blobs.get(name)? else { return Err(fault(path, "is missing")) };
        if ContentHash::of(&bytes).as_str() != hash {
            return Err(fault(path, "was changed"));
        }
        Ok((path, bytes))
    }

    /// Returns true if there is a content for this hash.
    pub(crate) fn holds(&self, hash: &str) -> bool {
        BlobName::of_hash(hash).is_some_and(|name| self.blobs.holds(name))
    }
}
