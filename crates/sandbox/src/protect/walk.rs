//! Walks the roots and lists their protected entries.
//!
//! A file is inspected only if its name is protected, or if it is in a protected directory. Mounts
//! below a root are walked too, because a writable root includes them; only virtual file systems of
//! the kernel are left out. A root inside of a root is walked once, as a root.
//!
//! Must never: follow a link, continue past a bound, or leave an entry out without a report.

mod explicit;
mod listing;
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
use rustix::io::Errno;

use super::dir::{self, DirectoryReader, FileId, FileStatus, FileTime, Kind};
use super::names::ProtectedNames;
use super::rooted_path::{ProtectionRole, RootedPath, Survey, SurveyEntry, WritableRoot};
use super::secret_name::SecretName;
use crate::limits::{
    NOTED_BYTES_MAX, NOTED_PATH_BYTES_MAX, OPEN_LEVELS_MAX, WALK_DEPTH_MAX, WALK_ENTRIES_MAX,
    WALK_MS_MAX, WATCHED_ENTRIES_MAX,
};
use listing::DirectoryEntries;

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

    /// Opens the directory at the present path; None if it is missing, another root or reported.
    fn opened(&mut self, dir: &OwnedFd, name: &CStr) -> io::Result<Option<(OwnedFd, FileStatus)>> {
        if self.is_another_root() {
            return Ok(None);
        }
        let inner = match dir::open_dir(dir, name) {
            Ok(inner) => inner,
            Err(Errno::ACCESS) => match self.opened_by_force(dir, name)? {
                Some(inner) => inner,
                None => return Ok(None),
            },
            Err(error) if dir::is_absent(error) => return Ok(None),
            Err(error) => {
                self.incomplete(&format!("{:?} cannot be opened: {error}", self.here()));
                return Ok(None);
            }
        };
        let status = dir::status_of(&inner)?;
        if status.mode & 0o100 == 0 && !rustix::process::geteuid().is_root() {
            // It can be listed, but its entries cannot be inspected.
            return match self.opened_by_force(dir, name)? {
                Some(inner) => Ok(Some((inner, status))),
                None => Ok(None),
            };
        }
        if self.search.ids.contains(&status.id) {
            let place = RootedPath { root: self.root, path: self.path.clone() };
            self.search.located.insert(status.id, place);
        }
        if self.task.since.is_none() {
            self.survey.directories.insert(status.id);
        }
        Ok(Some((inner, status)))
    }

    /// Opens an unreadable directory that changed since the call began; reports it on failure.
    fn opened_by_force(&mut self, dir: &OwnedFd, name: &CStr) -> io::Result<Option<OwnedFd>> {
        let Some(status) = dir::status(dir, name)? else { return Ok(None) };
        let is_new = self.task.since.is_some_and(|since| status.changed >= since);
        if is_new && dir::set_mode(dir, name, status.mode | 0o700).is_ok() {
            return Ok(dir::open_dir(dir, name).ok());
        }
        // Without the right to enter it, a call could not reach anything below it either.
        if is_new || status.mode & 0o111 != 0 {
            self.incomplete(&format!("{:?} may not be read", self.here()));
        }
        Ok(None)
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

/// Opens the parent of a directory; None if it is not the expected one.
fn parent_of(dir: &OwnedFd, expected: FileId) -> io::Result<Option<OwnedFd>> {
    let parent = match dir::open_dir(dir, c"..") {
        Ok(parent) => parent,
        Err(error) if dir::is_absent(error) || error == Errno::ACCESS => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok((dir::status_of(&parent)?.id == expected).then_some(parent))
}

fn frame_of(frames: &mut [WalkFrame]) -> &mut WalkFrame {
    frames.last_mut().expect("a directory below another is visited only from there")
}

/// Returns true if a directory is on a virtual file system of the kernel.
#[cfg(target_os = "linux")]
fn is_made_up(dir: &OwnedFd) -> bool {
    /// proc, sysfs, cgroup, cgroup2, debugfs, tracefs, bpf, securityfs.
    const MADE_UP: [i128; 8] = [
        0x9fa0,
        0x6265_6572,
        0x27_e0eb,
        0x6367_7270,
        0x6462_6720,
        0x7472_6163,
        0xcafe_4a11,
        0x7363_6673,
    ];
    rustix::fs::fstatfs(dir).is_ok_and(|it| MADE_UP.contains(&it.f_type.into()))
}

#[cfg(not(target_os = "linux"))]
fn is_made_up(_: &OwnedFd) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks over one directory.
    fn check(
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

    fn open(path: &Path) -> OwnedFd {
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
    fn a_directory_that_cannot_be_opened_is_told_unless_it_is_gone() {
        let scene = tempfile::tempdir().unwrap();
        check(scene.path(), &WalkBounds::default(), None, |mut walk| {
            let root = open(scene.path());
            walk.path = "inner".into();
            assert!(walk.opened(&root, c"missing").unwrap().is_none());
            assert_eq!(walk.survey.incomplete, None);
            let too_long = CString::new("x".repeat(300)).unwrap();
            assert!(walk.opened(&root, &too_long).unwrap().is_none());
            assert!(walk.survey.incomplete.unwrap().contains("cannot be opened"));
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

    #[test]
    fn the_parent_of_a_directory_is_only_the_one_that_is_expected() {
        let scene = tempfile::tempdir().unwrap();
        let inner = scene.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let (outer, handle) = (open(scene.path()), open(&inner));
        let id = |dir: &OwnedFd| dir::status_of(dir).unwrap().id;
        assert!(parent_of(&handle, id(&outer)).unwrap().is_some());
        assert!(parent_of(&handle, id(&handle)).unwrap().is_none());
        let file = OwnedFd::from(std::fs::File::create(scene.path().join("file")).unwrap());
        assert!(parent_of(&file, id(&outer)).unwrap().is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_parent_of_a_directory_that_was_closed_is_not_found() {
        use std::os::unix::fs::PermissionsExt as _;
        crate::protect::tests::as_ordinary_user(|| {
            let scene = tempfile::tempdir().unwrap();
            let inner = scene.path().join("inner");
            std::fs::create_dir(&inner).unwrap();
            let (outer, handle) = (open(scene.path()), open(&inner));
            let set_mode = |mode| {
                std::fs::set_permissions(&inner, std::fs::Permissions::from_mode(mode)).unwrap();
            };
            set_mode(0o000);
            let id = dir::status_of(&outer).unwrap().id;
            assert!(parent_of(&handle, id).unwrap().is_none());
            // So that it can be removed.
            set_mode(0o700);
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_closed_directory_is_opened_by_force_only_if_it_is_as_new_as_the_call() {
        use std::os::unix::fs::PermissionsExt as _;
        crate::protect::tests::as_ordinary_user(|| {
            let scene = tempfile::tempdir().unwrap();
            let path = scene.path().join("dark");
            std::fs::create_dir(&path).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
            let root = open(scene.path());
            let (seconds, nanos) = dir::status(&root, c"dark").unwrap().unwrap().changed;
            let opened = |since: Option<FileTime>, expected: bool| {
                check(scene.path(), &WalkBounds::default(), since, |mut walk| {
                    walk.path = "dark".into();
                    let opened = walk.opened(&root, c"dark").unwrap();
                    assert_eq!(opened.is_some(), expected, "{since:?}");
                    assert_eq!(walk.survey.incomplete, None);
                });
            };
            opened(None, false);
            opened(Some((seconds, nanos + 1)), false);
            opened(Some((seconds, nanos)), true);
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_file_system_is_walked_unless_the_kernel_makes_it_up() {
        for (path, expected) in [("/proc", true), ("/sys", true), ("/dev/shm", false)] {
            assert_eq!(is_made_up(&open(Path::new(path))), expected, "{path}");
        }
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
