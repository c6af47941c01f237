//! Puts files back to what they were before a turn.
//!
//! Must never: follow a link, or begin before it is known that nothing was changed since.

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use git2::{ObjectType, Oid, Repository};

use super::{FileVersion, SnapshotDiff, read};

/// Puts all of them back, or none.
pub(super) fn restore(repository: &Repository, changed: &SnapshotDiff) -> Result<(), String> {
    let root = repository.workdir().ok_or("the repository has no work tree")?;
    let mut touched = Vec::new();
    for (path, (_, after)) in changed {
        let full = inside(root, path)?;
        if now(&full) != after.as_ref().map(|(id, mode)| (*id, *mode)) {
            touched.push(path.as_str());
        }
    }
    if !touched.is_empty() {
        let list = touched.join(", ");
        return Err(format!("Nothing was taken back, since these were changed again: {list}"));
    }
    // First away with what is there, so that a file can take the place of a directory.
    for path in changed.keys() {
        let full = inside(root, path)?;
        if full.symlink_metadata().is_ok() {
            fs::remove_file(&full).map_err(|error| format!("{path}: {error}"))?;
        }
    }
    for (path, (before, _)) in changed {
        put(repository, &inside(root, path)?, before)
            .map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

/// A path below the work tree, with no link on the way.
fn inside(root: &Path, path: &str) -> Result<PathBuf, String> {
    let mut full = root.to_owned();
    let parts: Vec<Component<'_>> = Path::new(path).components().collect();
    for (at, part) in parts.iter().enumerate() {
        let Component::Normal(name) = part else {
            return Err(format!("{path} is no path below the work tree"));
        };
        full.push(name);
        let is_link = full.symlink_metadata().is_ok_and(|found| found.is_symlink());
        if is_link && at + 1 < parts.len() {
            return Err(format!("{path} leads over a link, so nothing was taken back"));
        }
    }
    Ok(full)
}

/// What is there now, in the terms of a snapshot.
fn now(path: &Path) -> FileVersion {
    let (content, mode) = read(path)?;
    let id = Oid::hash_object(ObjectType::Blob, &content).ok()?;
    Some((id, i32::try_from(mode).ok()?))
}

fn put(repository: &Repository, path: &Path, before: &FileVersion) -> std::io::Result<()> {
    let Some((id, mode)) = before else { return Ok(()) };
    let blob = repository.find_blob(*id).map_err(std::io::Error::other)?;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    if *mode == 0o120_000 {
        return symlink(std::ffi::OsStr::from_bytes(blob.content()), path);
    }
    let mode = if *mode == 0o100_755 { 0o755 } else { 0o644 };
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(blob.content())
}
