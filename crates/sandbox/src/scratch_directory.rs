//! The temporary directory of a process without a file system of its own; removed with its content.
//!
//! Must never: be dropped while a process still writes there.

use std::io;
use std::path::Path;

use crate::private_directory::PrivateDirectory;

/// A temporary directory; it is removed on drop.
#[derive(Debug)]
pub(crate) struct ScratchDirectory(PrivateDirectory);

impl ScratchDirectory {
    /// Makes a new directory.
    pub(crate) fn new() -> io::Result<Self> {
        PrivateDirectory::new().map(Self)
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use rustix::fs::{CWD, Mode, OFlags};

    use super::*;

    #[test]
    fn whatever_was_put_there_goes_and_nothing_else() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("mine"), "mine").unwrap();
        let scratch = ScratchDirectory::new().unwrap();
        let path = scratch.path().to_owned();
        symlink(outside.path(), path.join("link")).unwrap();
        fs::create_dir_all(path.join("a/b/c")).unwrap();
        fs::write(path.join("a/b/c/file"), "x").unwrap();
        fs::write(path.join("moved-1"), "x").unwrap();
        symlink(outside.path(), path.join("a/b/link")).unwrap();
        for closed in ["a/b/c", "a/b", "a", ""] {
            fs::set_permissions(path.join(closed), fs::Permissions::from_mode(0o000)).unwrap();
        }
        drop(scratch);
        assert!(!path.exists());
        assert_eq!(fs::read_to_string(outside.path().join("mine")).unwrap(), "mine");
    }

    #[test]
    fn depth_does_not_matter() {
        let scratch = ScratchDirectory::new().unwrap();
        let path = scratch.path().to_owned();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = rustix::fs::openat(CWD, &path, flags, Mode::empty()).unwrap();
        for _ in 0..3_000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, "d", flags, Mode::empty()).unwrap();
        }
        drop((at, scratch));
        assert!(!path.exists());
    }
}
