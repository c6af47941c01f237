//! Resolves paths: the one function by which rules are checked and files are opened.
//!
//! Every link on the way is followed step by step below the handle of the workspace, so that the
//! real path is known before anything is opened. Opening then follows no link at all: either the
//! checked file is opened, or none.
//!
//! Must never: open another file than the one that was resolved.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use agentry_protocol::call_facts::ResolvedPath;
use cap_std::fs::{Dir, File, Metadata, MetadataExt};
use rustix::fs::{Mode, OFlags};

use crate::limits::{LINKS_MAX, NAMES_COMPARED_MAX};
use crate::workspace::{Error, Workspace, kind, parent, shown};

/// A resolved path in the workspace.
#[derive(Debug)]
pub(crate) struct WorkspacePath {
    /// Relative to the workspace, without links, `.` and `..`; `.` for the workspace itself.
    pub(crate) path: PathBuf,
    /// True if the path does not exist yet.
    pub(crate) is_new: bool,
    folds_case: bool,
}

/// A component of a path that is not resolved yet.
enum PendingComponent {
    Up,
    // The name, and true if it came from a link.
    Name(OsString, bool),
}

impl Workspace {
    /// Resolves a path of a call to the path that rules are matched with.
    pub fn resolve(&self, given: &str) -> ResolvedPath {
        let found = self.relative(given).and_then(|relative| self.real(&relative));
        match found {
            Ok(real) => match real.path.to_str() {
                Some(path) => {
                    ResolvedPath::Inside { path: path.to_owned(), folds_case: real.folds_case }
                }
                None => ResolvedPath::Unclear { why: format!("`{given}` is not text") },
            },
            Err(error) => ResolvedPath::Unclear { why: error.to_string() },
        }
    }

    /// Opens the regular file of a path and returns its real path; None if there is none inside.
    pub fn open_regular(&self, given: &str) -> Option<(String, std::fs::File)> {
        let real = self.real(&self.relative(given).ok()?).ok()?;
        let (file, _) = self.open_real(&real.path).ok()?;
        Some((real.path.to_str()?.to_owned(), file.into_std()))
    }

    /// Returns the identity of a directory: its device and inode numbers, as one text.
    pub fn identity(&self, given: &str) -> Option<String> {
        let real = self.real(&self.relative(given).ok()?).ok()?;
        let metadata = self.open_real_dir(&real.path).ok()?.dir_metadata().ok()?;
        Some(format!("{}:{}", metadata.dev(), metadata.ino()))
    }

    /// Resolves a path of a call; fails if it is not the path that was judged.
    pub(crate) fn locate(
        &self,
        given: &str,
        judged: Option<&ResolvedPath>,
    ) -> Result<WorkspacePath, Error> {
        let real = self.real(&self.relative(given)?)?;
        match judged {
            None => Ok(real),
            Some(ResolvedPath::Inside { path, .. }) if real.path == Path::new(path) => Ok(real),
            Some(ResolvedPath::Inside { .. } | ResolvedPath::Unclear { .. }) => {
                Err(Error::Changed { path: given.to_owned() })
            }
        }
    }

    /// Resolves a path. A missing file has a real path too, if its directory could be created.
    pub(crate) fn real(&self, relative: &Path) -> Result<WorkspacePath, Error> {
        let mut rest = parts(relative, false);
        let mut real = WorkspacePath { path: PathBuf::new(), is_new: false, folds_case: false };
        let mut links = 0;
        while let Some(part) = rest.pop_front() {
            let (name, linked) = match part {
                PendingComponent::Up if real.path.pop() => continue,
                PendingComponent::Up => return Err(Error::Outside { path: shown(relative) }),
                PendingComponent::Name(name, linked) => (name, linked),
            };
            let here = real.path.join(&name);
            let metadata = match self.dir().symlink_metadata(&here) {
                Ok(metadata) => metadata,
                Err(reason) if reason.kind() == ErrorKind::NotFound => {
                    if linked {
                        return Err(Error::Dangling { path: shown(relative) });
                    }
                    real.path =
                        with_rest(here, rest).ok_or_else(|| self.error(relative, reason))?;
                    real.is_new = true;
                    return Ok(real);
                }
                Err(reason) => return Err(self.error(relative, reason)),
            };
            if metadata.is_symlink() {
                links += 1;
                let target = self.target_of(relative, &here, links)?;
                parts(&target, true).into_iter().rev().for_each(|part| rest.push_front(part));
                continue;
            }
            if !metadata.is_dir() && !rest.is_empty() {
                return Err(Error::NotDirectory { path: shown(relative) });
            }
            let (name, folds) = self.stored_name(&real.path, name, &metadata);
            real.path.push(name);
            real.folds_case |= folds;
        }
        if real.path.as_os_str().is_empty() {
            real.path.push(".");
        }
        Ok(real)
    }

    /// Returns the target of a link. An absolute target counts as outside.
    fn target_of(&self, relative: &Path, link: &Path, links: usize) -> Result<PathBuf, Error> {
        if links > LINKS_MAX {
            let reason = io::Error::other("it leads through too many links");
            return Err(Error::Unusable { path: shown(relative), reason });
        }
        let target = self.dir().read_link_contents(link);
        let target = target.map_err(|reason| self.error(relative, reason))?;
        if target.is_absolute() {
            Err(Error::Outside { path: shown(relative) })
        } else {
            Ok(target)
        }
    }

    /// Returns the name as stored in the directory, and true if the directory ignores case.
    fn stored_name(
        &self,
        directory: &Path,
        name: OsString,
        metadata: &Metadata,
    ) -> (OsString, bool) {
        let is_it =
            |other: &Metadata| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino());
        let folds = other_case(&name).is_some_and(|other| {
            self.dir().symlink_metadata(directory.join(other)).is_ok_and(|other| is_it(&other))
        });
        if !folds {
            return (name, false);
        }
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let Ok(entries) = self.dir().read_dir(directory) else { return (name, true) };
        let names: Vec<OsString> = entries
            .take(NAMES_COMPARED_MAX)
            .filter_map(|entry| Some(entry.ok()?.file_name()))
            .filter(|other| same_but_for_case(other, &name))
            .collect();
        let stored = names.iter().find(|other| **other == name).or(names.first()).cloned();
        (stored.unwrap_or(name), true)
    }

    /// Opens a regular file for reading at a path without links. A pipe does not block.
    pub(crate) fn open_real(&self, real: &Path) -> Result<(File, Metadata), Error> {
        self.check_read(real)?;
        let failed = |error| self.error(real, error);
        let Some(name) = real.file_name() else {
            return Err(Error::IsDirectory { path: shown(real) });
        };
        let directory = self.descend(parent(real)).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&directory, name, flags, Mode::empty());
        let opened = opened.map_err(|error| failed(io::Error::from(error)))?;
        let file = File::from_std(std::fs::File::from(opened));
        let metadata = file.metadata().map_err(failed)?;
        match kind(metadata.file_type()) {
            None => Ok((file, metadata)),
            Some("directory") => Err(Error::IsDirectory { path: shown(real) }),
            Some(kind) => Err(Error::NotRegular { path: shown(real), kind }),
        }
    }

    /// Opens a directory at a path without links.
    pub(crate) fn open_real_dir(&self, real: &Path) -> Result<Dir, Error> {
        let failed = |error| self.error(real, error);
        let place = self.descend(real).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&place, ".", flags, Mode::empty());
        let opened = opened.map_err(|error| failed(io::Error::from(error)))?;
        Ok(Dir::from_std_file(std::fs::File::from(opened)))
    }

    /// Opens the directory at a path without following any link.
    pub(crate) fn descend(&self, real: &Path) -> io::Result<OwnedFd> {
        #[cfg(target_os = "linux")]
        const LOOK: OFlags = OFlags::PATH;
        #[cfg(not(target_os = "linux"))]
        const LOOK: OFlags = OFlags::RDONLY;
        let flags = LOOK | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut place = rustix::fs::openat(self.dir(), ".", flags, Mode::empty())?;
        for part in real.components() {
            match part {
                Component::Normal(name) => {
                    place = rustix::fs::openat(&place, name, flags, Mode::empty())?;
                }
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(io::Error::other("the place was not followed to its end"));
                }
            }
        }
        Ok(place)
    }
}

/// Splits a relative path into components.
fn parts(path: &Path, linked: bool) -> VecDeque<PendingComponent> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(PendingComponent::Name(name.to_owned(), linked)),
        Component::ParentDir => Some(PendingComponent::Up),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}

/// Appends the rest to a path that does not exist yet; None if the rest leads up from there.
fn with_rest(mut here: PathBuf, rest: VecDeque<PendingComponent>) -> Option<PathBuf> {
    for part in rest {
        match part {
            PendingComponent::Name(name, _) => here.push(name),
            PendingComponent::Up => return None,
        }
    }
    Some(here)
}

/// Returns the name in another case, if it has letters.
fn other_case(name: &OsStr) -> Option<String> {
    let name = name.to_str()?;
    let swap = |letter: char| {
        if letter.is_lowercase() {
            letter.to_uppercase().collect::<String>()
        } else {
            letter.to_lowercase().collect()
        }
    };
    let other: String = name.chars().map(swap).collect();
    (other != name).then_some(other)
}

fn same_but_for_case(a: &OsStr, b: &OsStr) -> bool {
    match (a.to_str(), b.to_str()) {
        (Some(a), Some(b)) => a.to_lowercase() == b.to_lowercase(),
        (_, _) => false,
    }
}
