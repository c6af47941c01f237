//! Walks the roots and says what stands there that is protected.
//!
//! A file is looked at only if its name is protected, or if it stands in a protected directory. What is
//! mounted below a root is walked too, because a writable root carries it along; only the file systems
//! that the kernel makes up are left out. A root inside of a root is walked once, as a root.
//!
//! Must never: follow a link, go on after a bound, or leave something out without saying so.

mod repository;

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agentry_protocol::confinement::Git;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::dir::{self, Id, Kind, Listing, Stamp, Status};
use super::names::{self, Names, is_supplied};
use super::place::{Found, Place, Role, Root, Survey};
use crate::limits::{WALK_DEPTH_MAX, WALK_ENTRIES_MAX, WALK_MS_MAX, WATCHED_ENTRIES_MAX};
use repository::Marks;

/// How many entries are visited between two looks at the clock.
const ENTRIES_PER_CLOCK: usize = 256;

/// How far a look goes before it gives up and says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkBounds {
    /// Entries of directories.
    pub entries: usize,
    /// Time.
    pub time: Duration,
    /// Directories in directories.
    pub depth: usize,
    /// Entries in protected directories, which are watched one by one.
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

/// What a walk is to do.
pub(crate) struct Task<'a> {
    pub(crate) roots: &'a [Root],
    pub(crate) names: &'a Names,
    pub(crate) git: Git,
    pub(crate) bounds: &'a WalkBounds,
    /// Places that are protected although their names are not, and how.
    pub(crate) explicit: &'a [(Place, Role)],
    /// A directory that was made unreadable since then is opened by force.
    pub(crate) since: Option<Stamp>,
}

/// Walks all roots.
pub(crate) fn survey(task: &Task<'_>) -> io::Result<Survey> {
    let mut walk = Walk::new(task);
    walk.roots()?;
    for (place, role) in task.explicit {
        walk.explicit(place, *role)?;
    }
    Ok(walk.survey)
}

/// Looks at the explicit places only, in addition to what was found before.
pub(crate) fn survey_more(task: &Task<'_>, survey: Survey) -> io::Result<Survey> {
    let mut walk = Walk::new(task);
    walk.survey = survey;
    for (place, role) in task.explicit {
        walk.explicit(place, *role)?;
    }
    Ok(walk.survey)
}

/// Where directories are now, whatever they are called; every directory is visited, protected or not.
pub(crate) fn locate(task: &Task<'_>, ids: HashSet<Id>) -> io::Result<HashMap<Id, Place>> {
    let mut walk = Walk::new(task);
    walk.sought = ids;
    if !walk.sought.is_empty() {
        walk.roots()?;
    }
    Ok(walk.located)
}

struct Walk<'a> {
    task: &'a Task<'a>,
    listing: Listing,
    started: Instant,
    entries: usize,
    watched: usize,
    root: usize,
    /// The directory that is visited, below the root, and what is known of the directories on the way.
    path: PathBuf,
    stack: Vec<Status>,
    survey: Survey,
    /// Directories that are looked for; then nothing else is.
    sought: HashSet<Id>,
    located: HashMap<Id, Place>,
}

impl<'a> Walk<'a> {
    fn new(task: &'a Task<'a>) -> Self {
        Self {
            task,
            listing: Listing::new(),
            started: Instant::now(),
            entries: 0,
            watched: 0,
            root: 0,
            path: PathBuf::new(),
            stack: Vec::new(),
            survey: Survey::default(),
            sought: HashSet::new(),
            located: HashMap::new(),
        }
    }

    fn roots(&mut self) -> io::Result<()> {
        for (index, root) in self.task.roots.iter().enumerate() {
            self.root = index;
            self.path = PathBuf::new();
            let dir = dir::open_dir(&root.dir, c".")?;
            let dev = dir::status_of(&dir)?.id.dev;
            self.directory(&dir, dev)?;
        }
        Ok(())
    }

    /// Visits what is in a directory: first what is protected there, then the directories below.
    fn directory(&mut self, dir: &OwnedFd, dev: i128) -> io::Result<()> {
        let (hits, below, marks) = self.sorted(dir)?;
        for name in hits {
            self.protected(dir, &name)?;
        }
        if marks.are_of_repository() {
            self.bare_repository(dir)?;
        }
        for name in below {
            if self.is_over() {
                return Ok(());
            }
            self.enter(dir, &name, |walk, inner, status| {
                if status.id.dev != dev && is_made_up(inner) {
                    return Ok(());
                }
                walk.directory(inner, status.id.dev)
            })?;
        }
        Ok(())
    }

    /// The protected names in a directory, the directories to be visited, and whether it is a repository.
    fn sorted(&mut self, dir: &OwnedFd) -> io::Result<(Vec<CString>, Vec<CString>, Marks)> {
        let (mut hits, mut below, mut marks) = (Vec::new(), Vec::new(), Marks::default());
        let (mut entries, started) = (self.entries, self.started);
        let (names, bounds, all) = (self.task.names, self.task.bounds, !self.sought.is_empty());
        let supplied = self.path.iter().any(|part| is_supplied(part.as_bytes()));
        let mut over = false;
        self.listing.each(dir, |name, sort| {
            entries += 1;
            let late = entries.is_multiple_of(ENTRIES_PER_CLOCK) && started.elapsed() > bounds.time;
            if entries > bounds.entries || late {
                over = true;
                return ControlFlow::Break(());
            }
            marks.see(name);
            let name_bytes = name.to_bytes();
            let held = match supplied {
                true => names.holds_supplied(name_bytes),
                false => names.holds(name_bytes),
            };
            if !all && held {
                hits.push(name.to_owned());
            } else if matches!(sort, FileType::Directory | FileType::Unknown) {
                below.push(name.to_owned());
            }
            ControlFlow::Continue(())
        })?;
        self.entries = entries;
        if over {
            self.over();
        }
        Ok((hits, below, if all { Marks::default() } else { marks }))
    }

    /// Goes into a directory, calls back, and comes out again.
    fn enter(
        &mut self,
        dir: &OwnedFd,
        name: &CStr,
        inside: impl FnOnce(&mut Self, &OwnedFd, &Status) -> io::Result<()>,
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
        inside: impl FnOnce(&mut Self, &OwnedFd, &Status) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.stack.len() >= self.task.bounds.depth {
            let depth = self.task.bounds.depth;
            self.incomplete(&format!("{:?} is more than {depth} directories deep", self.here()));
            return Ok(());
        }
        if self.is_another_root() {
            return Ok(());
        }
        let inner = match dir::open_dir(dir, name) {
            Ok(inner) => inner,
            Err(Errno::ACCESS) => match self.opened_by_force(dir, name)? {
                Some(inner) => inner,
                None => return Ok(()),
            },
            Err(error) if dir::is_absent(error) => return Ok(()),
            Err(error) => {
                self.incomplete(&format!("{:?} cannot be opened: {error}", self.here()));
                return Ok(());
            }
        };
        let status = dir::status_of(&inner)?;
        if self.sought.contains(&status.id) {
            let place = Place { root: self.root, path: self.path.clone() };
            self.located.insert(status.id, place);
        }
        self.stack.push(status.clone());
        let outcome = inside(self, &inner, &status);
        self.stack.pop();
        outcome
    }

    /// A directory that we may not read: nothing can have happened in it, or it is opened, or it is told.
    fn opened_by_force(&mut self, dir: &OwnedFd, name: &CStr) -> io::Result<Option<OwnedFd>> {
        let Some(status) = dir::status(dir, name)? else { return Ok(None) };
        let is_new = self.task.since.is_some_and(|since| status.changed >= since);
        if is_new && dir::set_mode(dir, name, status.mode | 0o700).is_ok() {
            return Ok(dir::open_dir(dir, name).ok());
        }
        // Without the right to pass through it, a call could not reach anything below it either.
        if is_new || status.mode & 0o111 != 0 {
            self.incomplete(&format!("{:?} may not be read", self.here()));
        }
        Ok(None)
    }

    /// Takes note of what stands under a protected name.
    fn protected(&mut self, dir: &OwnedFd, name: &CStr) -> io::Result<()> {
        let Some(status) = dir::status(dir, name)? else { return Ok(()) };
        if status.kind == Kind::Directory && names::is_repository(name.to_bytes()) {
            return self.repository(dir, name, status);
        }
        self.whole(dir, name, status, Role::Protected)
    }

    /// Takes note of something that is protected with all that is in it.
    fn whole(&mut self, dir: &OwnedFd, name: &CStr, status: Status, role: Role) -> io::Result<()> {
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
                    walk.whole(inner, &entry, status, Role::Inner)?;
                }
            }
            Ok(())
        })
    }

    /// Takes note of a place that is protected because we were told so.
    fn explicit(&mut self, place: &Place, role: Role) -> io::Result<()> {
        self.root = place.root;
        self.path = PathBuf::new();
        let root = dir::open_dir(&self.task.roots[place.root].dir, c".")?;
        let parents = place.path.parent().unwrap_or_else(|| Path::new(""));
        let parents: Result<Vec<_>, _> = parents.iter().map(dir::c_name).collect();
        let name = dir::c_name(&place.name())?;
        self.explicit_below(&root, &parents?, (&name, role))
    }

    fn explicit_below(
        &mut self,
        dir: &OwnedFd,
        parents: &[CString],
        last: (&CStr, Role),
    ) -> io::Result<()> {
        if let Some((first, rest)) = parents.split_first() {
            return match dir::status(dir, first)? {
                // Whoever reads the path follows it, so it stands for what is at its end.
                Some(status) if status.kind == Kind::Link => {
                    self.whole(dir, first, status, Role::Protected)
                }
                Some(_) => {
                    self.enter(dir, first, |walk, inner, _| walk.explicit_below(inner, rest, last))
                }
                None => Ok(()),
            };
        }
        let (name, role) = last;
        match dir::status(dir, name)? {
            None => Ok(()),
            Some(status) if role == Role::Repository && status.kind == Kind::Directory => {
                self.repository(dir, name, status)
            }
            Some(status) => self.whole(dir, name, status, Role::Protected),
        }
    }

    /// Takes note of a thing in the directory that is visited, and of the directories on the way to it.
    fn note(&mut self, name: &CStr, status: Status, role: Role) {
        let found = &mut self.survey.found;
        let root = self.root;
        let ancestors: Vec<&Path> = self.path.ancestors().collect();
        // The last ancestor is the root itself, which is nobody's to move.
        for (path, status) in ancestors.iter().rev().skip(1).zip(&self.stack) {
            let place = Place { root, path: path.to_path_buf() };
            let ancestor = || Found { role: Role::Ancestor, status: status.clone() };
            found.entry(place).or_insert_with(ancestor);
        }
        let place = Place { root, path: self.path.join(OsStr::from_bytes(name.to_bytes())) };
        let is_stronger = found.get(&place).is_none_or(|one| one.role == Role::Ancestor);
        if is_stronger || role == Role::Protected {
            found.insert(place, Found { role, status });
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
        self.entries > self.task.bounds.entries
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

    /// The first reason stands for all.
    fn incomplete(&mut self, reason: &str) {
        self.survey.incomplete.get_or_insert_with(|| reason.to_owned());
    }
}

/// Whether a directory is on a file system that the kernel makes up.
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
