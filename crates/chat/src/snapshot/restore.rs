//! Restores files to their state before a turn.
//!
//! Must never: follow a link, or start before all files are known to be unchanged since the turn.

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use git2::{ObjectType, Oid, Repository};

use super::{FileVersion, SnapshotDiff, read};

/// Restores all files, or none if one of them changed since the turn.
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
        return Err(format!("Nothing was reverted, because these files changed again: {list}"));
    }
    // All files are removed first, so that a file can replace a directory.
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

/// Returns the absolute path of a file; fails if it leaves the work tree or crosses a link.
fn inside(root: &Path, path: &str) -> Result<PathBuf, String> {
    let mut full = root.to_owned();
    let parts: Vec<Component<'_>> = Path::new(path).components().collect();
    for (at, part) in parts.iter().enumerate() {
        let Component::Normal(name) = part else {
            return Err(format!("{path} is not a path below the work tree"));
        };
        full.push(name);
        let is_link = full.symlink_metadata().is_ok_and(|found| found.is_symlink());
        if is_link && at + 1 < parts.len() {
            return Err(format!("{path} crosses a link, so nothing was reverted"));
        }
    }
    Ok(full)
}

/// Returns the current version of a file, in the form of a snapshot.
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
