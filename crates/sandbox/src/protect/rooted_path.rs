//! Writable roots, and paths in them.
//!
//! Must never: name a file by anything but an opened root and a path below it without links.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{CString, OsString};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use agentry_protocol::{ContentHash, ContentHasher};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::dir::{self, FileId, FileStatus, Kind};
use crate::limits::READ_BYTES_MAX;

/// A directory that a call may write.
#[derive(Debug)]
pub(crate) struct WritableRoot {
    pub(crate) path: PathBuf,
    pub(crate) dir: OwnedFd,
}

impl WritableRoot {
    /// Restores the permissions of the root itself that are needed to list and enter it.
    pub(crate) fn make_readable(&self) -> io::Result<()> {
        let mode = dir::status_of(&self.dir)?.mode;
        // Only the owner and root can, and only they need it.
        if mode & 0o700 != 0o700 && !rustix::process::geteuid().is_root() {
            rustix::fs::fchmod(&self.dir, Mode::from_raw_mode(mode | 0o700))?;
        }
        Ok(())
    }

    /// Opens the existing directories; a missing root cannot be written either.
    pub(crate) fn open_all(paths: &[PathBuf]) -> io::Result<Vec<Self>> {
        let mut paths: Vec<&PathBuf> = paths.iter().collect();
        paths.sort();
        paths.dedup();
        let mut roots = Vec::new();
        for path in paths {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            match rustix::fs::open(path, flags, Mode::empty()) {
                Ok(dir) => roots.push(Self { path: path.clone(), dir }),
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => {
                    let text = format!("the writable root {path:?} cannot be looked at: {error}");
                    return Err(io::Error::new(io::Error::from(error).kind(), text));
                }
            }
        }
        Ok(roots)
    }
}

/// A path below a root; a directory comes before what is in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RootedPath {
    pub(crate) root: usize,
    pub(crate) path: PathBuf,
}

impl RootedPath {
    /// Returns true if it is the other path, or inside of it.
    pub(crate) fn is_in(&self, other: &Self) -> bool {
        self.root == other.root && self.path.starts_with(&other.path)
    }

    /// Iterates over itself and the directories around it, from the inside out.
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = Self> {
        let parts = self.path.ancestors().filter(|path| !path.as_os_str().is_empty());
        parts.map(|path| Self { root: self.root, path: path.to_owned() })
    }

    pub(crate) fn name(&self) -> OsString {
        self.path.file_name().unwrap_or_default().to_owned()
    }

    pub(crate) fn absolute(&self, roots: &[WritableRoot]) -> PathBuf {
        roots[self.root].path.join(&self.path)
    }

    /// Returns a path relative to its innermost root; None for a root itself or a path outside.
    pub(crate) fn of(path: &Path, roots: &[WritableRoot]) -> Option<Self> {
        let inner = |(root, one): (usize, &WritableRoot)| {
            let below = path.strip_prefix(&one.path).ok()?;
            Some(Self { root, path: below.to_owned() })
        };
        let innermost = |place: &Self| roots[place.root].path.components().count();
        let place = roots.iter().enumerate().filter_map(inner).max_by_key(innermost)?;
        (!place.path.as_os_str().is_empty()).then_some(place)
    }

    /// Opens the directory around it, and returns its name there.
    pub(crate) fn open_parent(&self, roots: &[WritableRoot]) -> Result<(OwnedFd, CString), Errno> {
        let parent = self.path.parent().unwrap_or_else(|| Path::new(""));
        let name = dir::c_name(&self.name())?;
        Ok((dir::open_below(&roots[self.root].dir, parent)?, name))
    }

    /// Returns the present status; None if there is no entry.
    pub(crate) fn status(&self, roots: &[WritableRoot]) -> io::Result<Option<FileStatus>> {
        match self.open_parent(roots) {
            Ok((parent, name)) => dir::status(&parent, &name),
            Err(error) if dir::is_absent(error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the target of the link there; None if there is no link.
    pub(crate) fn target(&self, roots: &[WritableRoot]) -> io::Result<Option<CString>> {
        let target = self
            .open_parent(roots)
            .and_then(|(parent, name)| rustix::fs::readlinkat(parent, &name, Vec::new()));
        match target {
            Ok(target) => Ok(Some(target)),
            Err(error) if dir::is_absent(error) || error == Errno::INVAL => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the digest of the regular file there, of any length; None if there is none.
    pub(crate) fn digest(&self, roots: &[WritableRoot]) -> io::Result<Option<ContentHash>> {
        let (parent, name) = match self.open_parent(roots) {
            Ok(opened) => opened,
            Err(error) if dir::is_absent(error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Some(mut file) = dir::open_file(&parent, &name)? else { return Ok(None) };
        let mut hasher = ContentHasher::default();
        let mut buffer = vec![0; READ_BYTES_MAX];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(Some(hasher.finish())),
                count => {
                    hasher.piece(&buffer[..count]);
                }
            }
        }
    }

    /// Returns the content of the regular file there; None if it is too long or another kind.
    pub(crate) fn read(&self, roots: &[WritableRoot], max: u64) -> io::Result<Option<Vec<u8>>> {
        match self.open_parent(roots) {
            Ok((parent, name)) => dir::read_file(&parent, &name, max),
            Err(error) if dir::is_absent(error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The reason why a path is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ProtectionRole {
    /// An unprotected directory around a protected entry.
    Ancestor,
    /// Protected by its name or by configuration, with all that is in it.
    Protected,
    /// In a directory that is protected as a whole.
    Inner,
    /// A directory `.git`.
    Repository,
    /// A part of a repository that can make git run a program.
    Part,
}

/// An entry that a scan found.
#[derive(Clone, Debug)]
pub(crate) struct SurveyEntry {
    pub(crate) role: ProtectionRole,
    pub(crate) status: FileStatus,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) found: BTreeMap<RootedPath, SurveyEntry>,
    /// The reason why the scan is incomplete.
    pub(crate) incomplete: Option<String>,
    /// The path where the scan had to stop.
    pub(crate) stuck_at: Option<RootedPath>,
    /// True if the scan stopped because it recorded too much; it continues after a repair.
    pub(crate) is_cut: bool,
    /// The files that must stay hidden.
    pub(crate) secrets: Vec<PathBuf>,
    /// The directories that were there before a call.
    pub(crate) directories: HashSet<FileId>,
}

impl Survey {
    /// Returns the entries inside of a path, without the path itself.
    pub(crate) fn below(
        &self,
        place: &RootedPath,
    ) -> impl Iterator<Item = (&RootedPath, &SurveyEntry)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let inner = (Excluded(place.clone()), Unbounded);
        self.found.range(inner).take_while(move |(one, _)| one.is_in(place))
    }
}

/// The saved content of a protected entry, for comparison and restoring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SavedContent {
    Bytes(Vec<u8>),
    /// The target of a link.
    Target(CString),
    /// Too long to keep; good for comparison only.
    Digest(ContentHash),
    /// Unreadable for this process; only the status is compared.
    Unreadable,
    Nothing,
}

/// An entry as it was before a call.
#[derive(Clone, Debug)]
pub(crate) struct BaselineEntry {
    pub(crate) role: ProtectionRole,
    pub(crate) status: FileStatus,
    pub(crate) content: SavedContent,
}

impl BaselineEntry {
    pub(crate) fn id(&self) -> FileId {
        self.status.id
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.status.kind == Kind::Directory
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_directories_are_roots() {
        let scene = tempfile::tempdir().unwrap();
        let path = |name: &str| scene.path().join(name);
        std::fs::create_dir(path("directory")).unwrap();
        std::fs::write(path("file"), "").unwrap();
        let paths = ["missing", "file", "directory", "directory"].map(path);
        let roots = WritableRoot::open_all(&paths).unwrap();
        assert_eq!(roots.len(), 1);
        assert_eq!(roots[0].path, path("directory"));
        WritableRoot::open_all(&[path(&"x".repeat(300))]).unwrap_err();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_root_of_somebody_else_that_is_open_keeps_its_rights() {
        crate::protect::tests::as_ordinary_user(|| {
            let roots = WritableRoot::open_all(&["/usr".into()]).unwrap();
            roots[0].make_readable().unwrap();
        });
    }

    #[test]
    fn a_place_without_anything_is_told_from_one_that_cannot_be_looked_at() {
        let scene = tempfile::tempdir().unwrap();
        std::fs::write(scene.path().join("file"), "text").unwrap();
        symlink("elsewhere", scene.path().join("link")).unwrap();
        let roots = WritableRoot::open_all(&[scene.path().to_owned()]).unwrap();
        let place = |path: &str| RootedPath { root: 0, path: path.into() };
        for path in ["missing", "missing/below", "file/below", "link/below"] {
            let place = place(path);
            assert_eq!(place.status(&roots).unwrap(), None, "{path}");
            assert_eq!(place.target(&roots).unwrap(), None, "{path}");
            assert_eq!(place.digest(&roots).unwrap(), None, "{path}");
            assert_eq!(place.read(&roots, 100).unwrap(), None, "{path}");
        }
        assert_eq!(place("file").target(&roots).unwrap(), None);
        assert_eq!(place("link").target(&roots).unwrap(), Some(c"elsewhere".to_owned()));
        assert_eq!(place("link").digest(&roots).unwrap(), None);
        assert_eq!(place("file").digest(&roots).unwrap(), Some(ContentHash::of(b"text")));
        for path in ["x".repeat(300), format!("{}/below", "x".repeat(300))] {
            let place = place(&path);
            place.status(&roots).unwrap_err();
            place.target(&roots).unwrap_err();
            place.digest(&roots).unwrap_err();
            place.read(&roots, 100).unwrap_err();
        }
    }
}
