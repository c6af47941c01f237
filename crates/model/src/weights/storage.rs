//! Disk operations of a pull: one pull of a model at a time, and enough free space.
//!
//! Must never: leave a lock behind; the system releases it when the process ends.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use super::PullProgress;
use super::download::report_progress;
use super::failure::{PullError, disk};
use crate::limits::{PULL_LOCK_LOOK_MS, PULL_SPACE_LEFT_BYTES_MIN};

/// The file that is locked while a model is pulled.
const LOCK: &str = ".lock";

/// Locks a model against other pulls until the file is dropped; waits for a running one.
pub(super) fn lock(
    directory: &Path,
    watch: &dyn Fn(PullProgress) -> bool,
) -> Result<File, PullError> {
    let path = directory.join(LOCK);
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(disk(&path))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(disk(&path)(error)),
            Err(TryLockError::WouldBlock) => report_progress(watch, PullProgress::Waiting)?,
        }
        std::thread::sleep(Duration::from_millis(PULL_LOCK_LOOK_MS));
    }
}

/// Checks that this number of bytes fits on the disk of this directory.
pub(super) fn check(directory: &Path, needed: u64) -> Result<(), PullError> {
    let disk_state =
        rustix::fs::statvfs(directory).map_err(|error| disk(directory)(error.into()))?;
    fits(directory, needed, disk_state.f_bavail.saturating_mul(disk_state.f_frsize))
}

/// Checks that the needed bytes fit into the free ones, with a reserve.
fn fits(directory: &Path, needed: u64, free: u64) -> Result<(), PullError> {
    let needed = needed.saturating_add(PULL_SPACE_LEFT_BYTES_MIN);
    if needed <= free {
        return Ok(());
    }
    Err(PullError::NoSpace { dir: directory.to_owned(), needed, free })
}

/// Moves a checked file to its final path, and syncs its content.
pub(super) fn install_file(from: &Path, to: &Path) -> Result<(), PullError> {
    if let Some(directory) = to.parent() {
        std::fs::create_dir_all(directory).map_err(disk(directory))?;
    }
    File::open(from).and_then(|file| file.sync_all()).map_err(disk(from))?;
    std::fs::rename(from, to).map_err(disk(to))
}

/// Syncs a directory, so that its names survive a crash of the machine.
pub(super) fn sync(directory: &Path) -> Result<(), PullError> {
    File::open(directory).and_then(|opened| opened.sync_all()).map_err(disk(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_before_it_is_asked_for() {
        let dir = Path::new("models");
        assert!(fits(dir, 1_000, PULL_SPACE_LEFT_BYTES_MIN + 1_000).is_ok());
        let error = fits(dir, 1_000, PULL_SPACE_LEFT_BYTES_MIN + 999).unwrap_err();
        assert_eq!(error.to_string(), "67109864 bytes are needed in models and 67109863 are free");
        assert!(fits(dir, u64::MAX, u64::MAX - 1).is_err());
    }

    #[test]
    fn the_disk_is_really_asked() {
        let directory = tempfile::tempdir().unwrap();
        let error = check(directory.path(), u64::MAX / 2).unwrap_err();
        assert!(matches!(error, PullError::NoSpace { free, .. } if free > 0), "{error}");
    }
}
