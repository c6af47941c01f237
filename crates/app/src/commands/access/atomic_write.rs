//! Replaces a file atomically: completely or not at all.
//!
//! Must never: leave a file half written, or write through a link in place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Replaces or creates a file. If this fails, the old content is unchanged.
pub(super) fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link; its target is replaced.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().filter(|one| !one.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let unfinished = beside(&path);
    let written =
        write_new(&unfinished, &path, bytes).and_then(|()| fs::rename(&unfinished, &path));
    if let Err(error) = written {
        remove_unfinished(&unfinished);
        return Err(error);
    }
    File::open(directory)?.sync_all()
}

/// Removes the file of a write that failed. It may not exist, no reader takes it for a policy file,
/// and the error of the write is the one to return.
fn remove_unfinished(file: &Path) {
    fs::remove_file(file).ok();
}

/// Returns a name in the same directory that is not read as a policy file.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.unfinished", std::process::id()))
}

fn write_new(unfinished: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(unfinished)?;
    if let Ok(old) = fs::metadata(path) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}
