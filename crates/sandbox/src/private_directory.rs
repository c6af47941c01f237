//! Temporary directories for this user only, removed with the process that made them.
//!
//! A directory is locked as long as its process lives. It is removed when its value is dropped,
//! when the process ends (`remove_own`), or, after a crash, when another process finds it unlocked.
//!
//! Must never: remove a directory whose lock is held, one of another user, or one behind a link.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{CWD, FlockOperation, Mode};
use rustix::io::Errno;

use crate::directory_cleaner::{DIRECTORY, DirectoryCleaner};
use crate::limits::{PRIVATE_DIRECTORY_TRIES_MAX, USER_FIRST, USERS};

/// The prefix of the directories' names.
pub const PREFIX: &str = "agentry-tmp-";

/// The mode of a directory that only its owner can enter.
const OWNER_ONLY: u32 = 0o700;

/// The directories of this process that still exist.
static OWN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A temporary directory of mode 0700; it is removed on drop.
#[derive(Debug)]
pub struct PrivateDirectory {
    path: PathBuf,
    // Holds the lock.
    handle: OwnedFd,
}

impl PrivateDirectory {
    /// Makes a directory among the temporary files of the machine.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    /// Makes a directory inside of `parent`, and `parent` too if it is missing.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new_in(parent: &Path) -> io::Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(parent)?;
        let parent = parent.canonicalize()?;
        for _ in 0..PRIVATE_DIRECTORY_TRIES_MAX {
            if let Some(made) = Self::try_in(&parent)? {
                return Ok(made);
            }
        }
        let why = format!("{} is cleared by somebody else all the time", parent.display());
        Err(io::Error::other(why))
    }

    /// None when another process took it for a leftover before it was locked.
    fn try_in(parent: &Path) -> io::Result<Option<Self>> {
        let path = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?.keep();
        let handle = match rustix::fs::openat(CWD, &path, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            handle => handle?,
        };
        match rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            locked => locked?,
        }
        let (locked, named) = (rustix::fs::fstat(&handle)?, rustix::fs::stat(&path));
        let is_same =
            |one: rustix::fs::Stat| (one.st_dev, one.st_ino) == (locked.st_dev, locked.st_ino);
        match named {
            Ok(named) if is_same(named) => {}
            Ok(_) | Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        // The umask, or an access control list of the parent, may have changed the mode.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(OWNER_ONLY))?;
        OWN.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone());
        Ok(Some(Self { path, handle }))
    }

    /// Returns the path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory and its content.
    ///
    /// # Errors
    /// When an entry cannot be removed; the next process tries again.
    pub fn remove(self) -> io::Result<()> {
        self.clear_away()
    }

    fn clear_away(&self) -> io::Result<()> {
        if !OWN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path) {
            return Ok(());
        }
        rustix::fs::fchmod(&self.handle, Mode::RWXU)?;
        DirectoryCleaner::of(&self.handle, usize::MAX)?.remove_except(&|_| false)?;
        std::fs::remove_dir(&self.path)
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        leave_rest(self.clear_away());
    }
}

/// Removes the remaining directories of this process. For the end of the process, where some values
/// are not dropped; the directories must not be used afterwards.
pub fn remove_own() {
    let own = std::mem::take(&mut *OWN.lock().unwrap_or_else(PoisonError::into_inner));
    for path in own {
        leave_rest(open_own(&path).and_then(|handle| remove_opened(&path, &handle)));
    }
}

/// Accepts the result of a removal when no caller is left to hear of it. Entries that remain are
/// leftovers: the next process removes them, and reports those that it cannot remove.
fn leave_rest(removed: io::Result<()>) {
    removed.ok();
}

/// Removes directories that crashed processes left in `parent`. Returns a text for each failure.
pub fn remove_leftovers(parent: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let mut stuck = Vec::new();
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let path = entry.path();
        if OWN.lock().unwrap_or_else(PoisonError::into_inner).contains(&path) {
            continue;
        }
        if let Err(error) = remove_if_left(&path) {
            stuck.push(format!("{} cannot be removed: {error}", path.display()));
        }
    }
    stuck
}

fn remove_if_left(path: &Path) -> io::Result<()> {
    let handle = match open_own(path) {
        // Of another user, no directory, or gone meanwhile.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
            ) =>
        {
            return Ok(());
        }
        handle => handle?,
    };
    match rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive) {
        // Its process lives.
        Err(Errno::WOULDBLOCK) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(()) => remove_opened(path, &handle),
    }
}

/// Opens a directory of ours, even if a confined program has removed its permissions.
fn open_own(path: &Path) -> io::Result<OwnedFd> {
    let status = rustix::fs::lstat(path)?;
    let (own, is_root) =
        (rustix::process::geteuid().as_raw(), rustix::process::geteuid().is_root());
    let is_sandbox_user = (USER_FIRST..USER_FIRST + USERS).contains(&status.st_uid);
    let is_ours = status.st_uid == own || (is_root && is_sandbox_user);
    if !is_ours || !rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    if !Mode::from_raw_mode(status.st_mode).contains(Mode::RWXU) {
        // In a directory for temporary files no other user can replace what is ours.
        rustix::fs::chmod(path, Mode::RWXU)?;
    }
    let handle = rustix::fs::openat(CWD, path, DIRECTORY, Mode::empty())?;
    let opened = rustix::fs::fstat(&handle)?;
    if (opened.st_dev, opened.st_ino) != (status.st_dev, status.st_ino) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(handle)
}

fn remove_opened(path: &Path, handle: &OwnedFd) -> io::Result<()> {
    DirectoryCleaner::of(handle, usize::MAX)?.remove_except(&|_| false)?;
    match std::fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    /// Makes a directory as a killed process leaves it: unlocked, and not among the own ones.
    fn leftover(parent: &Path) -> PathBuf {
        let path = parent.join(format!("{PREFIX}left"));
        fs::create_dir(&path).unwrap();
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/c"), "secret").unwrap();
        fs::set_permissions(path.join("a"), fs::Permissions::from_mode(0o000)).unwrap();
        path
    }

    #[test]
    fn a_directory_is_closed_to_all_others_and_goes_with_its_value() {
        let parent = tempfile::tempdir().unwrap();
        let made = PrivateDirectory::new_in(&parent.path().join("new")).unwrap();
        let path = made.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(parent.path().join("new")).unwrap().mode() & 0o777, 0o700);
        fs::create_dir_all(path.join("a/b")).unwrap();
        drop(made);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_dead_process_left_is_removed_and_what_a_live_one_has_stays() {
        let parent = tempfile::tempdir().unwrap();
        let live = PrivateDirectory::new_in(parent.path()).unwrap();
        // As another process would see it.
        OWN.lock().unwrap().remove(live.path());
        let left = leftover(parent.path());
        assert_eq!(remove_leftovers(parent.path()), Vec::<String>::new());
        assert!(!left.exists());
        assert!(live.path().exists());
        OWN.lock().unwrap().insert(live.path().to_owned());
    }

    #[test]
    fn what_another_user_has_and_what_is_a_link_stays() {
        let parent = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("mine"), "mine").unwrap();
        symlink(outside.path(), parent.path().join(format!("{PREFIX}link"))).unwrap();
        let file = parent.path().join(format!("{PREFIX}file"));
        fs::write(&file, "mine").unwrap();
        let other = leftover(parent.path());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&other, Some(65534), Some(65534)).unwrap();
        }
        assert_eq!(remove_leftovers(parent.path()), Vec::<String>::new());
        assert!(outside.path().join("mine").exists() && file.exists());
        assert_eq!(other.exists(), rustix::process::geteuid().is_root());
    }

    #[test]
    fn the_end_of_a_process_removes_what_was_not_dropped() {
        let parent = tempfile::tempdir().unwrap();
        let made = PrivateDirectory::new_in(parent.path()).unwrap();
        fs::write(made.path().join("a"), "a").unwrap();
        let path = made.path().to_owned();
        std::mem::forget(made);
        remove_own();
        assert!(!path.exists());
    }
}
