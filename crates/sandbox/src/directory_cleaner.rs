//! The removal of a directory's content that a confined program may have made.
//!
//! It may hold unreadable directories, or deeper ones than any path.
//!
//! Must never: go down by recursion, follow a link, cross into another file system, or be used
//! while a process still writes there.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dev, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

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
