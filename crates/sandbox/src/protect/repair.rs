//! Repairs one path: removes an entry that should not be there, restores one that should.
//!
//! Must never: overwrite an entry, or write through a link.

use std::collections::HashSet;
use std::ffi::CString;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::dir::{self, DirectoryEntry, FileId, Kind};
use super::quarantine::Quarantine;
use super::rooted_path::{BaselineEntry, RootedPath, SavedContent, WritableRoot};

/// The file operations of a check.
pub(crate) struct Repair<'a> {
    roots: &'a [WritableRoot],
    quarantine_path: &'a Path,
    /// Opened with the first quarantined entry.
    quarantine: Option<Quarantine>,
    /// The directories that were there before the call; they are never quarantined.
    kept: HashSet<FileId>,
    count: u32,
}

/// An entry that was moved aside for a moment.
#[derive(Debug)]
pub(crate) struct DisplacedEntry {
    dir: OwnedFd,
    name: CString,
    /// The path where the check found it.
    pub(crate) from: RootedPath,
}

impl DisplacedEntry {
    fn entry(&self) -> DirectoryEntry<'_> {
        DirectoryEntry { dir: &self.dir, name: &self.name }
    }
}

impl<'a> Repair<'a> {
    pub(crate) fn new(
        roots: &'a [WritableRoot],
        quarantine_path: &'a Path,
        kept: HashSet<FileId>,
    ) -> Self {
        Self { roots, quarantine_path, quarantine: None, kept, count: 0 }
    }

    /// Moves the entry of a path into the quarantine; returns its new path.
    pub(crate) fn take(&mut self, place: &RootedPath) -> io::Result<PathBuf> {
        let (parent, name) = place.open_parent(self.roots)?;
        self.take_from(DirectoryEntry { dir: &parent, name: &name }, place)
    }

    fn take_from(&mut self, entry: DirectoryEntry<'_>, place: &RootedPath) -> io::Result<PathBuf> {
        let absolute = place.absolute(self.roots);
        let directory = absolute.parent().unwrap_or(&absolute);
        let aside = self.aside()?;
        let aside = DirectoryEntry { dir: &self.roots[place.root].dir, name: &aside };
        let quarantine = match &mut self.quarantine {
            Some(quarantine) => quarantine,
            None => self.quarantine.insert(Quarantine::open(self.quarantine_path)?),
        };
        quarantine.take(entry, directory, &self.kept, aside)
    }

    /// Moves an entry aside, to the top of the root that it belongs to.
    ///
    /// It may be inside of an entry that is about to be quarantined.
    pub(crate) fn set_aside(
        &mut self,
        id: FileId,
        from: RootedPath,
        to: &RootedPath,
    ) -> io::Result<DisplacedEntry> {
        let (from_dir, from_name) = from.open_parent(self.roots)?;
        let dir = dir::open_dir(&self.roots[to.root].dir, c".")?;
        let name = self.aside()?;
        let aside = DisplacedEntry { dir, name, from };
        dir::rename(DirectoryEntry { dir: &from_dir, name: &from_name }, aside.entry())?;
        match dir::status(&aside.dir, &aside.name)? {
            Some(status) if status.id == id => Ok(aside),
            Some(_) | None => {
                let text = "something else was moved there meanwhile";
                let error = io::Error::new(io::ErrorKind::NotFound, text);
                Err(self.undo(&aside, error))
            }
        }
    }

    /// Moves the displaced entry to `place`; returns the quarantined former occupant's path.
    pub(crate) fn put_back(
        &mut self,
        aside: &DisplacedEntry,
        to: &RootedPath,
    ) -> io::Result<Option<PathBuf>> {
        let done = self.try_put_back(aside, to);
        done.map_err(|error| self.undo(aside, error))
    }

    fn try_put_back(
        &mut self,
        aside: &DisplacedEntry,
        to: &RootedPath,
    ) -> io::Result<Option<PathBuf>> {
        let dir = self.parents(to)?;
        let name = dir::c_name(&to.name())?;
        let entry = DirectoryEntry { dir: &dir, name: &name };
        let taken = match dir::status(&dir, &name)? {
            Some(_) => Some(self.take_from(entry, to)?),
            None => None,
        };
        dir::rename(aside.entry(), entry)?;
        Ok(taken)
    }

    /// Moves an entry back to the path where it was found; a second failure extends the error.
    fn undo(&self, aside: &DisplacedEntry, error: io::Error) -> io::Error {
        let undone = aside.from.open_parent(self.roots).map_err(io::Error::from);
        let undone = undone.and_then(|(dir, name)| {
            dir::rename(aside.entry(), DirectoryEntry { dir: &dir, name: &name })
        });
        match undone {
            Ok(()) => error,
            // Of the same error kind: after a race the next round finds it there.
            Err(_) => {
                let text =
                    format!("{error}; it is called {:?} now, at the top of the root", aside.name);
                io::Error::new(error.kind(), text)
            }
        }
    }

    /// Makes an entry of the baseline again; its path must be free.
    pub(crate) fn make(&mut self, place: &RootedPath, known: &BaselineEntry) -> io::Result<()> {
        let parent = self.parents(place)?;
        let name = dir::c_name(&place.name())?;
        match (&known.content, known.status.kind) {
            (SavedContent::Bytes(bytes), _) => {
                self.make_file(DirectoryEntry { dir: &parent, name: &name }, bytes, known)
            }
            (SavedContent::Target(target), _) => {
                Ok(rustix::fs::symlinkat(target.as_c_str(), &parent, &name)?)
            }
            (SavedContent::Nothing, Kind::Directory) => {
                rustix::fs::mkdirat(&parent, &name, Mode::from_raw_mode(0o700))?;
                dress(&dir::open_dir(&parent, &name)?, known)
            }
            (SavedContent::Digest(_) | SavedContent::Unreadable, _)
            | (SavedContent::Nothing, Kind::File | Kind::Link | Kind::Other) => {
                Err(io::Error::other("its content was too large to be kept"))
            }
        }
    }

    fn make_file(
        &mut self,
        entry: DirectoryEntry<'_>,
        bytes: &[u8],
        known: &BaselineEntry,
    ) -> io::Result<()> {
        let aside = self.aside()?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(entry.dir, &aside, flags, Mode::from_raw_mode(0o600))?;
        let mut file = std::fs::File::from(handle);
        let aside = DirectoryEntry { dir: entry.dir, name: &aside };
        let made = file
            .write_all(bytes)
            .and_then(|()| dress(&OwnedFd::from(file), known))
            .and_then(|()| dir::rename(aside, entry));
        made.map_err(|error| discard(aside, error))
    }

    /// Opens the directory of a path; makes missing directories on the way again.
    fn parents(&self, place: &RootedPath) -> io::Result<OwnedFd> {
        let mut dir = dir::open_dir(&self.roots[place.root].dir, c".")?;
        for name in place.path.parent().into_iter().flat_map(Path::iter) {
            let name = dir::c_name(name)?;
            dir = match dir::open_dir(&dir, &name) {
                Err(Errno::NOENT) => {
                    rustix::fs::mkdirat(&dir, &name, Mode::from_raw_mode(0o755))?;
                    dir::open_dir(&dir, &name)?
                }
                other => other?,
            };
        }
        Ok(dir)
    }

    /// Returns an unused name.
    fn aside(&mut self) -> io::Result<CString> {
        self.count += 1;
        let name = format!(".agentry-aside-{}-{}", std::process::id(), self.count);
        Ok(CString::new(name)?)
    }
}

/// Removes an unfinished file; a second failure extends the error.
fn discard(unfinished: DirectoryEntry<'_>, error: io::Error) -> io::Error {
    match rustix::fs::unlinkat(unfinished.dir, unfinished.name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => error,
        Err(_) => {
            let text = format!("{error}; an unfinished copy is called {:?}", unfinished.name);
            io::Error::new(error.kind(), text)
        }
    }
}

/// Restores the owner and the permissions of an entry.
fn dress(handle: &OwnedFd, known: &BaselineEntry) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(known.status.uid), Gid::from_raw(known.status.gid));
    let now = dir::status_of(handle)?;
    if (now.uid, now.gid) != (known.status.uid, known.status.gid) {
        rustix::fs::fchown(handle, Some(uid), Some(gid))?;
    }
    Ok(rustix::fs::fchmod(handle, Mode::from_raw_mode(known.status.mode))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protect::rooted_path::ProtectionRole;

    /// Returns a root with a directory and a file in it.
    fn scene() -> (tempfile::TempDir, Vec<WritableRoot>) {
        let scene = tempfile::tempdir().unwrap();
        std::fs::create_dir(scene.path().join("directory")).unwrap();
        std::fs::write(scene.path().join("file"), "theirs").unwrap();
        let roots = WritableRoot::open_all(&[scene.path().to_owned()]).unwrap();
        (scene, roots)
    }

    fn place(path: &str) -> RootedPath {
        RootedPath { root: 0, path: path.into() }
    }

    fn names(scene: &tempfile::TempDir) -> Vec<String> {
        let entries = scene.path().read_dir().unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_the_directory_that_was_sought_is_set_aside() {
        let (scene, roots) = scene();
        let mut repair = Repair::new(&roots, Path::new("/nowhere"), HashSet::new());
        let id = |path: &str| place(path).status(&roots).unwrap().unwrap().id;
        let (from, to) = (place("directory"), place("elsewhere"));
        let error = repair.set_aside(id("file"), from.clone(), &to).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(names(&scene), ["directory", "file"]);
        let aside = repair.set_aside(id("directory"), from, &to).unwrap();
        assert_eq!(repair.put_back(&aside, &to).unwrap(), None);
        assert_eq!(names(&scene), ["elsewhere", "file"]);
    }

    #[test]
    fn a_file_that_cannot_be_made_leaves_nothing_behind() {
        let (scene, roots) = scene();
        let mut repair = Repair::new(&roots, Path::new("/nowhere"), HashSet::new());
        let status = place("file").status(&roots).unwrap().unwrap();
        let content = SavedContent::Bytes(b"mine".to_vec());
        let known = BaselineEntry { role: ProtectionRole::Protected, status, content };
        let error = repair.make(&place("file"), &known).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(names(&scene), ["directory", "file"]);
        assert_eq!(std::fs::read_to_string(scene.path().join("file")).unwrap(), "theirs");
    }
}
