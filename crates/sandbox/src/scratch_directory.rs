//! The temporary directory of a process that has no file system of its own; it goes with all that is in it.
//!
//! Whoever was confined has filled it: with directories that cannot be opened, or that go deeper than any path.
//!
//! Must never: go down by recursion, follow a link, cross into another file system, or be used while a process
//! still writes there.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dev, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::private_directory::PrivateDirectory;

/// A temporary directory; it is removed when this goes.
#[derive(Debug)]
pub(crate) struct ScratchDirectory(PrivateDirectory);

impl ScratchDirectory {
    /// A new one.
    pub(crate) fn new() -> io::Result<Self> {
        PrivateDirectory::new().map(Self)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// How a directory is opened that whoever was confined could have made a link.
pub(crate) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory that is being emptied.
pub(crate) struct DirectoryCleaner<'a> {
    top: &'a OwnedFd,
    device: Dev,
    /// How many entries may still be looked at.
    entries_left: usize,
    moved: u64,
}

impl<'a> DirectoryCleaner<'a> {
    /// Begins with a directory in which at most so many entries are looked at.
    pub(crate) fn of(top: &'a OwnedFd, entries_max: usize) -> io::Result<Self> {
        let device = rustix::fs::fstat(top)?.st_dev;
        Ok(Self { top, device, entries_left: entries_max, moved: 0 })
    }

    /// Empties it but for some names. What lies in a directory in it is moved up first, so that nothing is ever deep.
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

    /// Moves what is in an inner directory up, but for some names; files go at once.
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
                // It must be a new name: another directory would take its place, or be taken for it.
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

    /// Makes sure that a directory can be opened; false when it is something else.
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
