//! The temporary directory of a process without a file system of its own; removed with its content.
//!
//! The confined program has filled it: with unreadable directories, or deeper ones than any path.
//!
//! Must never: go down by recursion, follow a link, cross into another file system, or be used
//! while a process still writes there.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dev, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

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

/// The flags to open a directory that a confined program may have replaced by a link.
pub(crate) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory that is being emptied.
pub(crate) struct DirectoryCleaner<'a> {
    top: &'a OwnedFd,
    device: Dev,
    /// The number of entries that may still be visited.
    entries_left: usize,
    moved: u64,
}

impl<'a> DirectoryCleaner<'a> {
    /// Starts with a directory; an error ends the removal after `entries_max` entries.
    pub(crate) fn of(top: &'a OwnedFd, entries_max: usize) -> io::Result<Self> {
        let device = rustix::fs::fstat(top)?.st_dev;
        Ok(Self { top, device, entries_left: entries_max, moved: 0 })
    }

    /// Removes all but some names. Moves inner entries up first, so that no path becomes deep.
    pub(crate) fn remove_except(&mut self, is_kept: &dyn Fn(&CStr) -> bool) -> io::Result<()> {
        loop {
            let names = self.names(self.top, is_kept)?;
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                if !self.make_open(self.top, &name)? {
                    rustix::fs::unlinkat(self.top, &*name, AtFlags::empty())?;
                    continue;
                }
                let inner = rustix::fs::openat(self.top, &*name, DIRECTORY, Mode::empty())?;
                self.lift(&inner, &|_| false)?;
                rustix::fs::unlinkat(self.top, &*name, AtFlags::REMOVEDIR)?;
            }
        }
    }

    /// Moves the entries of an inner directory up, but for some names; removes files at once.
    pub(crate) fn lift(
        &mut self,
        inner: &OwnedFd,
        is_kept: &dyn Fn(&CStr) -> bool,
    ) -> io::Result<()> {
        for child in self.names(inner, is_kept)? {
            if !self.make_open(inner, &child)? {
                rustix::fs::unlinkat(inner, &*child, AtFlags::empty())?;
                continue;
            }
            loop {
                self.moved += 1;
                let place = format!("moved-{}", self.moved);
                // The name must be new: an existing directory would be replaced or mistaken for it.
                let flags = rustix::fs::RenameFlags::NOREPLACE;
                match rustix::fs::renameat_with(inner, &*child, self.top, place, flags) {
                    Err(Errno::EXIST) => {}
                    result => break result?,
                }
            }
        }
        Ok(())
    }

    fn names(
        &mut self,
        directory: &OwnedFd,
        is_kept: &dyn Fn(&CStr) -> bool,
    ) -> io::Result<Vec<CString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") || is_kept(name) {
                continue;
            }
            let left = self.entries_left.checked_sub(1);
            self.entries_left = left.ok_or_else(|| io::Error::other("there are too many files"))?;
            names.push(name.to_owned());
        }
        Ok(names)
    }

    /// Makes a directory accessible; returns false if it is not a directory.
    fn make_open(&self, parent: &OwnedFd, name: &CStr) -> io::Result<bool> {
        let status = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if status.st_dev != self.device {
            return Err(io::Error::other("another file system begins in there"));
        }
        if !FileType::from_raw_mode(status.st_mode).is_dir() {
            return Ok(false);
        }
        rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use rustix::fs::CWD;

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
