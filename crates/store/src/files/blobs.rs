//! Contents in files that are named by the hashes of the contents.
//!
//! Must never: show a file under its name before all of it is on disk.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::blob_store::{BlobName, BlobStore};
use crate::error::Error;
use crate::home::{self, Home};

static TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// The directory of the contents.
#[derive(Debug)]
pub(crate) struct FileBlobs {
    root: PathBuf,
}

impl FileBlobs {
    pub(crate) fn new(home: &Home) -> Self {
        Self { root: home.artifacts() }
    }
}

impl BlobStore for FileBlobs {
    fn put(&self, name: BlobName<'_>, content: &[u8]) -> Result<(), Error> {
        let path = name.path_below(&self.root);
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
        home::sync_directory(&shelf)
    }

    fn get(&self, name: BlobName<'_>) -> Result<Option<Vec<u8>>, Error> {
        home::read_if_there(&name.path_below(&self.root))
    }

    fn holds(&self, name: BlobName<'_>) -> bool {
        name.path_below(&self.root).is_file()
    }
}
