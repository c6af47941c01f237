//! A directory that receives planted files and makes them harmless.
//!
//! Every entry gets a numbered directory of its own and keeps its name in it, so no file is ever
//! overwritten. Files lose the right to be executed; a file that has another name elsewhere is
//! copied, so that it cannot be changed through that name.
//!
//! Must never: delete an entry that could not be moved here, or follow a link in it.

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, RawMode};
use rustix::io::Errno;

use super::dir::{self, DirectoryEntry, DirectoryReader, FileId, FileStatus, Kind};
use crate::limits::{
    QUARANTINE_BYTES_MAX, QUARANTINE_ENTRIES_MAX, QUARANTINE_FILE_BYTES_MAX, QUARANTINE_THINGS_MAX,
    WALK_DEPTH_MAX,
};

const DIRECTORY_MODE: RawMode = 0o700;
/// The permissions that a file may keep.
const FILE_MODE: RawMode = 0o666;

/// An opened quarantine.
#[derive(Debug)]
pub(crate) struct Quarantine {
    path: PathBuf,
    dir: OwnedFd,
    next: u32,
}

impl Quarantine {
    /// Opens the quarantine, and creates it if it is missing.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        match rustix::fs::mkdir(path, Mode::from_raw_mode(DIRECTORY_MODE)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(told(path, error)),
        }
        let dir = dir::open_dir(rustix::fs::CWD, &dir::c_name(path.as_os_str())?)
            .map_err(|error| told(path, error))?;
        rustix::fs::fchmod(&dir, Mode::from_raw_mode(DIRECTORY_MODE))?;
        let mut next = 1;
        DirectoryReader::new().each(&dir, |name, _| {
            let number = name.to_str().ok().and_then(|name| name.parse::<u32>().ok());
            next = next.max(number.map_or(0, |number| number.saturating_add(1)));
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(Self { path: path.to_owned(), dir, next })
    }

    /// Moves an entry of a directory into the quarantine; returns its new path.
    ///
    /// A tree that is or has a `kept` directory goes `aside` instead: it was moved since the scan.
    pub(crate) fn take(
        &mut self,
        entry: DirectoryEntry<'_>,
        directory: &Path,
        kept: &HashSet<FileId>,
        aside: DirectoryEntry<'_>,
    ) -> io::Result<PathBuf> {
        let (cell, number) = self.cell()?;
        let DirectoryEntry { dir: from, name } = entry;
        let to = DirectoryEntry { dir: &cell, name };
        let outcome = match dir::rename(entry, to) {
            Ok(()) => spare(to, kept, aside).and_then(|()| defuse(&cell, name, 0)),
            Err(error) if error.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => {
                let left = meaningless(&number)?;
                let renamed = DirectoryEntry { dir: from, name: &left };
                dir::rename(entry, renamed)?;
                spare(renamed, kept, aside)?;
                match take_over(renamed, to) {
                    Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                        self.remove_cell(&number);
                        return defuse(from, &left, 0).map(|()| directory.join(os(&left)));
                    }
                    other => other,
                }
            }
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            self.remove_cell(&number);
            return Err(error);
        }
        Ok(self.path.join(os(&number)).join(os(name)))
    }

    /// Makes a new numbered directory.
    fn cell(&mut self) -> io::Result<(OwnedFd, CString)> {
        while self.next <= QUARANTINE_THINGS_MAX {
            let number = CString::new(format!("{:04}", self.next)).map_err(|_| Errno::INVAL)?;
            self.next += 1;
            match rustix::fs::mkdirat(&self.dir, &number, Mode::from_raw_mode(DIRECTORY_MODE)) {
                Ok(()) => return Ok((dir::open_dir(&self.dir, &number)?, number)),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other(format!("the quarantine {:?} is full; empty it", self.path)))
    }

    /// Removes an empty numbered directory. A directory with the files that could not be made
    /// harmless is not empty, and stays with them.
    fn remove_cell(&self, number: &CStr) {
        rustix::fs::unlinkat(&self.dir, number, AtFlags::REMOVEDIR).ok();
    }
}

fn told(path: &Path, error: Errno) -> io::Error {
    let text = format!("the quarantine {path:?} cannot be used: {error}");
    io::Error::new(io::Error::from(error).kind(), text)
}

fn os(name: &CStr) -> &OsStr {
    OsStr::from_bytes(name.to_bytes())
}

/// Returns a name without meaning to any program, for an entry that cannot be quarantined.
fn meaningless(number: &CStr) -> io::Result<CString> {
    Ok(CString::new(format!("agentry-quarantined-{}", number.to_string_lossy()))?)
}

/// Moves a tree aside if it is or has one of the `kept` directories; that is an error.
fn spare(
    entry: DirectoryEntry<'_>,
    kept: &HashSet<FileId>,
    aside: DirectoryEntry<'_>,
) -> io::Result<()> {
    if !holds(entry.dir, entry.name, kept, 0)? {
        return Ok(());
    }
    dir::rename(entry, aside)?;
    let text = "a directory that was there before was moved into it meanwhile";
    Err(io::Error::new(io::ErrorKind::NotFound, text))
}

/// Returns true if a tree is or has one of some directories.
fn holds(dir: &OwnedFd, name: &CStr, ids: &HashSet<FileId>, depth: usize) -> io::Result<bool> {
    let Some(status) = dir::status(dir, name)? else { return Ok(false) };
    if status.kind != Kind::Directory || depth >= WALK_DEPTH_MAX {
        return Ok(false);
    }
    if ids.contains(&status.id) {
        return Ok(true);
    }
    // The call made it unreadable; a directory of the user's is opened before the scan.
    let Ok(inner) = dir::open_dir(dir, name) else { return Ok(false) };
    for name in DirectoryReader::new().names(&inner, QUARANTINE_ENTRIES_MAX)?.unwrap_or_default() {
        if holds(&inner, &name, ids, depth + 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the dangerous permissions from all entries of a quarantined tree.
fn defuse(dir: &OwnedFd, name: &CStr, depth: usize) -> io::Result<()> {
    let Some(status) = dir::status(dir, name)? else { return Ok(()) };
    match status.kind {
        Kind::Link | Kind::Other => Ok(()),
        Kind::File if status.links > 1 => unshare(dir, name, &status),
        Kind::File => {
            if status.mode & !FILE_MODE == 0 {
                return Ok(());
            }
            dir::set_mode(dir, name, status.mode & FILE_MODE)
        }
        Kind::Directory => {
            dir::set_mode(dir, name, DIRECTORY_MODE)?;
            // Deeper than any path that is ever used by name.
            if depth >= WALK_DEPTH_MAX {
                return Ok(());
            }
            let inner = dir::open_dir(dir, name)?;
            let names = DirectoryReader::new().names(&inner, QUARANTINE_ENTRIES_MAX)?;
            names.unwrap_or_default().iter().try_for_each(|name| defuse(&inner, name, depth + 1))
        }
    }
}

/// Replaces a file that has another name elsewhere by a copy.
fn unshare(dir: &OwnedFd, name: &CStr, status: &FileStatus) -> io::Result<()> {
    let copy = c".agentry-copy";
    let mut left = QUARANTINE_FILE_BYTES_MAX;
    // Too long: it stays under its other name, and only there.
    let to = DirectoryEntry { dir, name: copy };
    if copy_file(DirectoryEntry { dir, name }, to, status, &mut left)? {
        rustix::fs::renameat(dir, copy, dir, name)?;
    } else {
        rustix::fs::unlinkat(dir, name, AtFlags::empty())?;
    }
    Ok(())
}

/// Copies to another file system, then removes.
fn take_over(from: DirectoryEntry<'_>, to: DirectoryEntry<'_>) -> io::Result<()> {
    let mut room = QuarantineQuota { bytes: QUARANTINE_BYTES_MAX, entries: QUARANTINE_ENTRIES_MAX };
    match copy(from, to, &mut room, 0) {
        Ok(()) => remove(from.dir, from.name, 0),
        Err(error) => {
            remove_partial(to);
            Err(error)
        }
    }
}

/// Removes a partial copy. The original is still in place, so the error of the copy is the one to
/// return; a rest stays in the quarantine, where it does no harm.
fn remove_partial(copy: DirectoryEntry<'_>) {
    remove(copy.dir, copy.name, 0).ok();
}

struct QuarantineQuota {
    bytes: u64,
    entries: usize,
}

fn too_large() -> io::Error {
    let text = "it is too large to be copied; put the quarantine on the same file system";
    io::Error::new(io::ErrorKind::FileTooLarge, text)
}

fn copy(
    entry: DirectoryEntry<'_>,
    copied: DirectoryEntry<'_>,
    room: &mut QuarantineQuota,
    depth: usize,
) -> io::Result<()> {
    let DirectoryEntry { dir: from, name } = entry;
    let DirectoryEntry { dir: to, name: new_name } = copied;
    room.entries = room.entries.checked_sub(1).ok_or_else(too_large)?;
    let Some(status) = dir::status(from, name)? else { return Ok(()) };
    match status.kind {
        // A FIFO or a socket has no content.
        Kind::Other => Ok(()),
        Kind::Link => {
            let target = rustix::fs::readlinkat(from, name, Vec::new())?;
            Ok(rustix::fs::symlinkat(target, to, new_name)?)
        }
        Kind::File => {
            if status.size > QUARANTINE_FILE_BYTES_MAX
                || !copy_file(entry, copied, &status, &mut room.bytes)?
            {
                return Err(too_large());
            }
            Ok(())
        }
        Kind::Directory => {
            if depth >= WALK_DEPTH_MAX {
                return Err(too_large());
            }
            rustix::fs::mkdirat(to, new_name, Mode::from_raw_mode(DIRECTORY_MODE))?;
            let (from, to) = (dir::open_dir(from, name)?, dir::open_dir(to, new_name)?);
            let names = DirectoryReader::new().names(&from, room.entries)?.ok_or_else(too_large)?;
            names.iter().try_for_each(|name| {
                let (entry, copied) =
                    (DirectoryEntry { dir: &from, name }, DirectoryEntry { dir: &to, name });
                copy(entry, copied, room, depth + 1)
            })
        }
    }
}

/// Copies a regular file without its permissions; false if it exceeds the quota.
fn copy_file(
    from: DirectoryEntry<'_>,
    to: DirectoryEntry<'_>,
    status: &FileStatus,
    left: &mut u64,
) -> io::Result<bool> {
    let Some(source) = dir::open_file(from.dir, from.name)? else { return Ok(true) };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode((status.mode & FILE_MODE) | 0o600);
    let mut target = std::fs::File::from(rustix::fs::openat(to.dir, to.name, flags, mode)?);
    let copied = io::copy(&mut source.take(*left + 1), &mut target)?;
    let fits = copied <= *left;
    if !fits {
        rustix::fs::unlinkat(to.dir, to.name, AtFlags::empty())?;
    }
    *left = left.saturating_sub(copied);
    Ok(fits)
}

/// Removes a tree; an entry deeper than a walk goes is an error.
fn remove(dir: &OwnedFd, name: &CStr, depth: usize) -> io::Result<()> {
    let Some(status) = dir::status(dir, name)? else { return Ok(()) };
    if status.kind != Kind::Directory {
        return Ok(rustix::fs::unlinkat(dir, name, AtFlags::empty())?);
    }
    if depth >= WALK_DEPTH_MAX {
        return Err(too_large());
    }
    if status.mode & 0o700 != 0o700 {
        dir::set_mode(dir, name, DIRECTORY_MODE)?;
    }
    let inner = dir::open_dir(dir, name)?;
    let names =
        DirectoryReader::new().names(&inner, QUARANTINE_ENTRIES_MAX)?.ok_or_else(too_large)?;
    names.iter().try_for_each(|name| remove(&inner, name, depth + 1))?;
    Ok(rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with a directory in a directory and a file, beside a quarantine.
    struct Scene {
        dir: tempfile::TempDir,
        root: OwnedFd,
        quarantine: Quarantine,
    }

    impl Scene {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(dir.path().join("root/outer/inner")).unwrap();
            std::fs::write(dir.path().join("root/file"), "text").unwrap();
            let name = dir::c_name(dir.path().join("root").as_os_str()).unwrap();
            let root = dir::open_dir(rustix::fs::CWD, &name).unwrap();
            let quarantine = Quarantine::open(&dir.path().join("quarantine")).unwrap();
            Self { dir, root, quarantine }
        }

        fn at(&self, path: &str) -> PathBuf {
            self.dir.path().join(path)
        }

        fn take(&mut self, name: &CStr, kept: &[&CStr]) -> io::Result<PathBuf> {
            let id = |path: &&CStr| dir::status(&self.root, path).unwrap().unwrap().id;
            let kept: HashSet<FileId> = kept.iter().map(id).collect();
            let entry = |name| DirectoryEntry { dir: &self.root, name };
            self.quarantine.take(entry(name), Path::new("/w"), &kept, entry(c"aside"))
        }
    }

    #[test]
    fn a_tree_with_a_directory_that_was_there_before_is_not_taken() {
        for kept in [c"outer", c"outer/inner"] {
            let mut scene = Scene::new();
            let error = scene.take(c"outer", &[kept]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
            assert!(scene.at("root/aside/inner").is_dir());
            assert!(!scene.at("root/outer").exists() && !scene.at("quarantine/0001").exists());
        }
        // Only directories count: a file is quarantined even if it was there before.
        let mut scene = Scene::new();
        assert_eq!(scene.take(c"file", &[c"file"]).unwrap(), scene.at("quarantine/0001/file"));
        assert_eq!(scene.take(c"outer", &[]).unwrap(), scene.at("quarantine/0002/outer"));
    }

    #[test]
    fn a_file_is_copied_as_a_whole_or_not_at_all() {
        let scene = Scene::new();
        let status = dir::status(&scene.root, c"file").unwrap().unwrap();
        for (room, is_copied) in [(5, true), (4, true), (3, false)] {
            let mut left = room;
            let entry = |name| DirectoryEntry { dir: &scene.root, name };
            let (from, to) = (entry(c"file"), entry(c"copy"));
            assert_eq!(copy_file(from, to, &status, &mut left).unwrap(), is_copied, "{room}");
            let copy = std::fs::read_to_string(scene.at("root/copy")).ok();
            assert_eq!(copy.as_deref(), is_copied.then_some("text"), "{room}");
            assert_eq!(left, room.saturating_sub(4));
            std::fs::remove_file(scene.at("root/copy")).ok();
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_tree_that_may_not_be_written_is_removed() {
        use std::os::unix::fs::PermissionsExt as _;
        crate::protect::tests::as_ordinary_user(|| {
            for mode in [0, 0o500, 0o700] {
                let scene = Scene::new();
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(scene.at("root/outer"), mode).unwrap();
                remove(&scene.root, c"outer", 0).unwrap();
                assert!(!scene.at("root/outer").exists());
            }
        });
    }
}
