//! Walks the roots and lists their protected entries.
//!
//! A file is inspected only if its name is protected, or if it is in a protected directory. Mounts
//! below a root are walked too, because a writable root includes them; only virtual file systems of
//! the kernel are left out. A root inside of a root is walked once, as a root.
//!
//! Must never: follow a link, continue past a bound, or leave an entry out without a report.

mod explicit;
mod listing;
mod opening;
mod repository;

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agentry_protocol::confinement::GitAccess;
use agentry_protocol::protected::{self, AncestorContext};

use super::dir::{self, DirectoryReader, FileId, FileStatus, FileTime, Kind};
use super::names::ProtectedNames;
use super::rooted_path::{ProtectionRole, RootedPath, Survey, SurveyEntry, WritableRoot};
use super::secret_name::SecretName;
use crate::limits::{
    NOTED_BYTES_MAX, NOTED_PATH_BYTES_MAX, OPEN_LEVELS_MAX, WALK_DEPTH_MAX, WALK_ENTRIES_MAX,
    WALK_MS_MAX, WATCHED_ENTRIES_MAX,
};
use listing::DirectoryEntries;
use opening::{is_made_up, parent_of};

/// The number of entries visited between two readings of the clock.
const ENTRIES_PER_CLOCK: usize = 256;
/// The number of parts of a very long path that a message shows.
const PATH_PARTS_SHOWN: usize = 8;

/// The limits of a scan; one that exceeds them is reported as incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkBounds {
    /// The number of directory entries.
    pub entries: usize,
    /// The duration.
    pub time: Duration,
    /// The depth inside of a protected directory; elsewhere the depth is not limited.
    pub depth: usize,
    /// The number of entries in protected directories; they are watched individually.
    pub watched: usize,
}

impl Default for WalkBounds {
    fn default() -> Self {
        Self {
            entries: WALK_ENTRIES_MAX,
            time: Duration::from_millis(WALK_MS_MAX),
            depth: WALK_DEPTH_MAX,
            watched: WATCHED_ENTRIES_MAX,
        }
    }
}

/// The input of a walk.
pub(crate) struct WalkTask<'a> {
    pub(crate) roots: &'a [WritableRoot],
    pub(crate) names: &'a ProtectedNames,
    pub(crate) git: GitAccess,
    pub(crate) whole_repositories: bool,
    pub(crate) bounds: &'a WalkBounds,
    /// Protected paths without a protected name, and their roles.
    pub(crate) explicit: &'a [(RootedPath, ProtectionRole)],
    /// Paths whose names are prefixes of protected ones.
    pub(crate) beginnings: &'a [RootedPath],
    /// Names that are hidden at any depth.
    pub(crate) secrets: &'a [SecretName],
    /// The start of the call; a directory made unreadable since then is opened by force.
    pub(crate) since: Option<FileTime>,
}

/// Scans all roots.
pub(crate) fn survey(task: &WalkTask<'_>) -> io::Result<Survey> {
    let mut walk = ProtectionWalk::new(task);
    walk.roots()?;
    for (place, role) in task.explicit {
        walk.explicit(place, *role)?;
    }
    for beginning in task.beginnings {
        for place in walk.with_prefix(beginning)? {
            walk.explicit(&place, ProtectionRole::Protected)?;
        }
    }
    Ok(walk.survey)
}

/// Scans the explicit paths only, and adds them to a survey.
pub(crate) fn survey_more(task: &WalkTask<'_>, survey: Survey) -> io::Result<Survey> {
    let mut walk = ProtectionWalk::new(task);
    walk.survey = survey;
    for (place, role) in task.explicit {
        walk.explicit(place, *role)?;
    }
    Ok(walk.survey)
}

/// Finds the present paths of directories by identity; visits every directory.
pub(crate) fn locate(
    task: &WalkTask<'_>,
    ids: HashSet<FileId>,
) -> io::Result<HashMap<FileId, RootedPath>> {
    let mut walk = ProtectionWalk::new(task);
    walk.search = IdentitySearch { is_all: true, ids, ..IdentitySearch::default() };
    if !walk.search.ids.is_empty() {
        walk.roots()?;
    }
    Ok(walk.search.located)
}

/// A directory whose entries are being visited.
struct WalkFrame {
    /// Present on the first `OPEN_LEVELS_MAX` levels only.
    handle: Option<OwnedFd>,
    id: FileId,
    here: AncestorContext,
    /// The directories that are still to be visited.
    below: Vec<CString>,
}

/// Searches for hidden names and for names of files by identity, and for nothing else.
pub(crate) fn search(
    roots: &[WritableRoot],
    bounds: &WalkBounds,
    secrets: &[SecretName],
    ids: HashSet<FileId>,
) -> io::Result<Survey> {
    let task = WalkTask {
        roots,
        names: &ProtectedNames::default(),
        git: GitAccess::Read,
        whole_repositories: false,
        bounds,
        explicit: &[],
        beginnings: &[],
        secrets,
        since: None,
    };
    let mut walk = ProtectionWalk::new(&task);
    walk.search = IdentitySearch { is_all: true, ids, ..IdentitySearch::default() };
    walk.roots()?;
    Ok(walk.survey)
}

/// The files and directories that a walk searches by identity.
#[derive(Default)]
struct IdentitySearch {
    /// True if the walk searches for nothing else.
    is_all: bool,
    ids: HashSet<FileId>,
    located: HashMap<FileId, RootedPath>,
}

struct ProtectionWalk<'a> {
    task: &'a WalkTask<'a>,
    listing: DirectoryReader,
    started: Instant,
    entries: usize,
    watched: usize,
    root: usize,
    /// The visited directory, relative to the root, and the status of each directory on the way.
    path: PathBuf,
    stack: Vec<FileStatus>,
    /// The depth of the walk inside a protected directory.
    nested: usize,
    /// The total length of all recorded paths, in bytes.
    noted: usize,
    survey: Survey,
    search: IdentitySearch,
}

impl<'a> ProtectionWalk<'a> {
    fn new(task: &'a WalkTask<'a>) -> Self {
        Self {
            task,
            listing: DirectoryReader::new(),
            started: Instant::now(),
            entries: 0,
            watched: 0,
            root: 0,
            path: PathBuf::new(),
            stack: Vec::new(),
            nested: 0,
            noted: 0,
            survey: Survey::default(),
            search: IdentitySearch::default(),
        }
    }

    fn roots(&mut self) -> io::Result<()> {
        for (index, root) in self.task.roots.iter().enumerate() {
            self.root = index;
            self.path = PathBuf::new();
            self.stack.clear();
            let dir = dir::open_dir(&root.dir, c".")?;
            self.tree(dir)?;
        }
        Ok(())
    }

    /// Visits a directory and all below it, at any depth. Neither the thread's stack nor the number
    /// of open handles grows with it: a deep directory is closed and found again through its child.
    fn tree(&mut self, root: OwnedFd) -> io::Result<()> {
        let (id, here) = (dir::status_of(&root)?.id, AncestorContext::default());
        let below = self.visit(&root, here)?;
        let mut frames = vec![WalkFrame { handle: None, id, here, below }];
        let mut current = root;
        while let Some(frame) = frames.last_mut() {
            if self.is_over() {
                return Ok(());
            }
            let (dev, here) = (frame.id.dev, frame.here);
            let Some(name) = frame.below.pop() else {
                frames.pop();
                let Some(parent) = frames.last_mut() else { return Ok(()) };
                self.path.pop();
                self.stack.pop();
                current = match parent.handle.take() {
                    Some(handle) => handle,
                    None => match parent_of(&current, parent.id)? {
                        Some(handle) => handle,
                        None => {
                            self.incomplete(&format!("{:?} was moved meanwhile", self.here()));
                            return Ok(());
                        }
                    },
                };
                continue;
            };
            self.path.push(OsStr::from_bytes(name.to_bytes()));
            let opened = self.opened(&current, &name)?;
            let is_own = |(inner, status): &(OwnedFd, FileStatus)| {
                status.id.dev == dev || !is_made_up(inner)
            };
            let Some((inner, status)) = opened.filter(is_own) else {
                self.path.pop();
                continue;
            };
            let here = here.inside(name.to_bytes());
            let id = status.id;
            self.stack.push(status);
            let below = self.visit(&inner, here)?;
            let parent = std::mem::replace(&mut current, inner);
            if frames.len() <= OPEN_LEVELS_MAX {
                frame_of(&mut frames).handle = Some(parent);
            }
            frames.push(WalkFrame { handle: None, id, here, below });
        }
        Ok(())
    }

    /// Records the protected entries of a directory, and returns the directories below it.
    fn visit(&mut self, dir: &OwnedFd, here: AncestorContext) -> io::Result<Vec<CString>> {
        let DirectoryEntries { hits, below, marks } = self.listed(dir, here)?;
        for name in hits {
            self.protected(dir, &name)?;
        }
        if marks.are_of_repository() {
            self.bare_repository(dir)?;
        }
        Ok(below)
    }

    /// Enters a directory, calls back, and leaves it again.
    fn enter(
        &mut self,
        dir: &OwnedFd,
        name: &CStr,
        inside: impl FnOnce(&mut Self, &OwnedFd, &FileStatus) -> io::Result<()>,
    ) -> io::Result<()> {
        self.path.push(OsStr::from_bytes(name.to_bytes()));
        let outcome = self.entered(dir, name, inside);
        self.path.pop();
        outcome
    }

    fn entered(
        &mut self,
        dir: &OwnedFd,
        name: &CStr,
        inside: impl FnOnce(&mut Self, &OwnedFd, &FileStatus) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.nested >= self.task.bounds.depth {
            let depth = self.task.bounds.depth;
            self.incomplete(&format!(
                "{:?} is more than {depth} directories deep in something protected",
                self.here()
            ));
            return Ok(());
        }
        let Some((inner, status)) = self.opened(dir, name)? else { return Ok(()) };
        self.stack.push(status.clone());
        self.nested += 1;
        let outcome = inside(self, &inner, &status);
        self.nested -= 1;
        self.stack.pop();
        outcome
    }

    /// Records the entry of a protected name.
    fn protected(&mut self, dir: &OwnedFd, name: &CStr) -> io::Result<()> {
        let Some(status) = dir::status(dir, name)? else { return Ok(()) };
        if status.kind == Kind::Directory && protected::is_repository(name.to_bytes()) {
            return self.repository(dir, name, status);
        }
        self.whole(dir, name, status, ProtectionRole::Protected)
    }

    /// Records an entry that is protected with all that is in it.
    fn whole(
        &mut self,
        dir: &OwnedFd,
        name: &CStr,
        status: FileStatus,
        role: ProtectionRole,
    ) -> io::Result<()> {
        let is_directory = status.kind == Kind::Directory;
        self.path.push(OsStr::from_bytes(name.to_bytes()));
        let skipped = is_directory && self.is_another_root();
        self.path.pop();
        if skipped {
            return Ok(());
        }
        self.note(name, status, role);
        if !is_directory {
            return Ok(());
        }
        self.enter(dir, name, |walk, inner, _| {
            let Some(entries) = walk.listing.names(inner, walk.task.bounds.watched)? else {
                walk.too_much_inside();
                return Ok(());
            };
            for entry in entries {
                walk.watched += 1;
                if walk.watched > walk.task.bounds.watched {
                    walk.too_much_inside();
                    return Ok(());
                }
                if let Some(status) = dir::status(inner, &entry)? {
                    walk.whole(inner, &entry, status, ProtectionRole::Inner)?;
                }
            }
            Ok(())
        })
    }

    /// Records an entry of the visited directory, and the directories on the way to it.
    fn note(&mut self, name: &CStr, status: FileStatus, role: ProtectionRole) {
        let length = self.path.as_os_str().len();
        self.noted += length + name.to_bytes().len();
        if self.noted > NOTED_BYTES_MAX {
            self.survey.is_cut = true;
        }
        let is_long = length > NOTED_PATH_BYTES_MAX;
        if is_long && self.task.since.is_none() {
            let start = self.path.iter().take(PATH_PARTS_SHOWN).collect::<PathBuf>();
            self.incomplete(&format!("{start:?} holds something protected too many levels below"));
        }
        let found = &mut self.survey.found;
        let root = self.root;
        let known_way = if is_long { Path::new("") } else { &self.path };
        let ancestors: Vec<&Path> = known_way.ancestors().collect();
        // The last ancestor is the root itself, which a call cannot move.
        for (path, status) in ancestors.iter().rev().skip(1).zip(&self.stack) {
            let place = RootedPath { root, path: path.to_path_buf() };
            let ancestor =
                || SurveyEntry { role: ProtectionRole::Ancestor, status: status.clone() };
            found.entry(place).or_insert_with(ancestor);
        }
        let place = RootedPath { root, path: self.path.join(OsStr::from_bytes(name.to_bytes())) };
        let is_stronger = found.get(&place).is_none_or(|one| one.role == ProtectionRole::Ancestor);
        if is_stronger || role == ProtectionRole::Protected {
            found.insert(place, SurveyEntry { role, status });
        }
    }

    fn here(&self) -> PathBuf {
        self.task.roots[self.root].path.join(&self.path)
    }

    fn is_another_root(&self) -> bool {
        let roots = self.task.roots;
        roots.len() > 1 && roots.iter().any(|root| root.path == self.here())
    }

    fn is_over(&mut self) -> bool {
        if self.started.elapsed() > self.task.bounds.time {
            self.over();
        }
        self.survey.is_cut || self.entries > self.task.bounds.entries
    }

    fn over(&mut self) {
        let entries = self.entries.min(self.task.bounds.entries);
        let ms = self.started.elapsed().as_millis();
        self.incomplete(&format!("the look ended after {entries} entries and {ms} ms"));
        self.entries = self.task.bounds.entries.saturating_add(1);
    }

    fn too_much_inside(&mut self) {
        let text = format!(
            "protected directories hold more than {} entries, at {:?}",
            self.task.bounds.watched,
            self.here()
        );
        self.incomplete(&text);
    }

    /// Marks the survey as incomplete; the first reason is kept.
    fn incomplete(&mut self, reason: &str) {
        if self.survey.incomplete.is_none() {
            self.survey.incomplete = Some(reason.to_owned());
            self.survey.stuck_at = Some(RootedPath { root: self.root, path: self.path.clone() });
        }
    }
}

fn frame_of(frames: &mut [WalkFrame]) -> &mut WalkFrame {
    frames.last_mut().expect("a directory below another is visited only from there")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks over one directory.
    pub(super) fn check(
        root: &Path,
        bounds: &WalkBounds,
        since: Option<FileTime>,
        test: impl FnOnce(ProtectionWalk<'_>),
    ) {
        let roots = WritableRoot::open_all(&[root.to_owned()]).unwrap();
        let task = WalkTask {
            roots: &roots,
            names: &ProtectedNames::default(),
            git: GitAccess::Read,
            whole_repositories: false,
            bounds,
            explicit: &[],
            beginnings: &[],
            secrets: &[],
            since,
        };
        test(ProtectionWalk::new(&task));
    }

    pub(super) fn open(path: &Path) -> OwnedFd {
        dir::open_dir(rustix::fs::CWD, &dir::c_name(path.as_os_str()).unwrap()).unwrap()
    }

    #[test]
    fn a_walk_is_over_at_either_bound() {
        let scene = tempfile::tempdir().unwrap();
        let bounds = WalkBounds { entries: 2, ..WalkBounds::default() };
        check(scene.path(), &bounds, None, |mut walk| {
            walk.entries = 2;
            assert!(!walk.is_over());
            walk.entries = 3;
            assert!(walk.is_over());
        });
        check(scene.path(), &bounds, None, |mut walk| {
            walk.survey.is_cut = true;
            assert!(walk.is_over());
        });
    }

    #[test]
    fn a_name_that_is_gone_is_not_hidden() {
        let scene = tempfile::tempdir().unwrap();
        check(scene.path(), &WalkBounds::default(), None, |mut walk| {
            walk.note_secrets(vec![c"gone".to_owned()], &open(scene.path()));
            assert_eq!(walk.survey.secrets, Vec::<PathBuf>::new());
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_file_system_is_walked_unless_the_kernel_makes_it_up() {
        let found = |root: &str, entry: String| {
            let roots = WritableRoot::open_all(&[root.into()]).unwrap();
            let secrets = SecretName::all(&[entry]);
            search(&roots, &WalkBounds::default(), &secrets, HashSet::new()).unwrap().secrets
        };
        let scene = tempfile::tempdir_in("/dev/shm").unwrap();
        let name = scene.path().file_name().unwrap().to_str().unwrap();
        assert_eq!(found("/dev", format!("/dev/**/{name}")), [scene.path()]);
        assert_eq!(found("/sys/fs", "/sys/fs/**/cgroup.procs".to_owned()), Vec::<PathBuf>::new());
    }
}
