//! Puts a file in the place of another, whole or not at all.
//!
//! Must never: leave a file half written, or follow a link to write.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Replaces or makes a file. When this fails, nothing was changed.
pub(super) fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays one; what it leads to is replaced.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().filter(|one| !one.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let unfinished = beside(&path);
    let written =
        write_new(&unfinished, &path, bytes).and_then(|()| fs::rename(&unfinished, &path));
    if let Err(error) = written {
        // It may not be there at all; the error says what went wrong.
        fs::remove_file(&unfinished).unwrap_or_default();
        return Err(error);
    }
    File::open(directory)?.sync_all()
}

/// A name that is not read as a policy.
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
