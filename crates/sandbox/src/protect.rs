//! What is protected inside writable roots: found before a call, compared after it, and put right.
//!
//! A sandbox makes what is known here read-only. Two ways are left: a protected name that was not there
//! can be made, and the parent of a protected thing can be renamed. Both are found by looking again. What
//! stands in the roots before a call is the person's and becomes known; what differs after it was done by
//! the call, also if the person did it meanwhile. While calls overlap nothing becomes known.
//!
//! Must never: follow a link, execute anything, delete what it did not make, or call a cut look complete.

mod check;
mod dir;
mod git;
mod names;
mod place;
mod quarantine;
mod repair;
mod violation;
mod walk;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use agentry_protocol::confinement::Git;
use rustix::time::{ClockId, clock_gettime};

pub use self::names::Names;
pub use self::violation::{Violation, What};
pub use self::walk::WalkBounds;

use self::check::Check;
use self::dir::{Id, Kind, Stamp, Status};
use self::place::{Content, Known, Place, Role, Root, Survey};
use self::repair::Repair;
use self::walk::Task;
use crate::limits::{KEPT_BYTES_MAX, KEPT_FILE_BYTES_MAX};

/// What is to be protected.
#[derive(Clone, Debug, Default)]
pub struct Protection {
    /// Names that are protected wherever they stand.
    pub names: Names,
    /// Absolute paths without links that are protected too, whether they exist or not.
    pub paths: Vec<PathBuf>,
    /// Whether a repository may be written, but for its hooks and settings.
    pub git: Git,
}

/// Watches over what is protected in some writable roots.
#[derive(Debug)]
pub struct Guard {
    paths: Vec<PathBuf>,
    protection: Protection,
    bounds: WalkBounds,
    roots: Vec<Root>,
    /// Protected without a protected name: as told, and where links and files `.git` point to.
    explicit: Vec<(Place, Role)>,
    known: BTreeMap<Place, Known>,
    incomplete: Option<String>,
    open: Vec<(Moment, Weak<()>)>,
    /// What an earlier check could not put right; it never becomes known.
    given_up: BTreeMap<Place, Option<Id>>,
}

/// A call that has begun; it is over when it was checked.
#[derive(Debug)]
pub struct Mark {
    call: Arc<()>,
}

/// What a check has found.
#[derive(Debug, Default)]
pub struct Checked {
    /// What the call did to something protected.
    pub violations: Vec<Violation>,
    /// Why the check did not see everything; this must be shown.
    pub incomplete: Option<String>,
}

/// When a call began, by the clock that stamps files and by one that nobody sets.
#[derive(Clone, Copy, Debug)]
struct Moment {
    stamped: Stamp,
    running: Stamp,
}

/// Whether a path below a writable root is protected by one of the names in it.
pub fn is_protected(path: &Path) -> bool {
    Names::default().holds_path(path)
}

impl Guard {
    /// Walks the roots; what is protected in them now is the person's.
    pub fn look(roots: &[PathBuf], protection: Protection, bounds: WalkBounds) -> io::Result<Self> {
        let mut guard = Self {
            paths: roots.to_vec(),
            protection,
            bounds,
            roots: Vec::new(),
            explicit: Vec::new(),
            known: BTreeMap::new(),
            incomplete: None,
            open: Vec::new(),
            given_up: BTreeMap::new(),
        };
        guard.learn()?;
        Ok(guard)
    }

    /// Looks again, so that what the person did since is known, and says that a call begins now.
    ///
    /// What is to be mounted is asked for after this. While another call runs nothing is learnt.
    pub fn begin(&mut self) -> io::Result<Mark> {
        if self.open.is_empty() {
            self.learn()?;
        }
        let call = Arc::new(());
        self.open.push((Moment::now(), Arc::downgrade(&call)));
        Ok(Mark { call })
    }

    /// What is to be made read-only, the outermost first; files and directories, no links.
    pub fn mounts(&self) -> Vec<PathBuf> {
        let mut mounts: Vec<&Place> = Vec::new();
        for (place, known) in &self.known {
            let is_wanted = match known.role {
                Role::Protected => true,
                Role::Repository => self.protection.git == Git::Read,
                Role::Part => self.protection.git == Git::Write,
                Role::Ancestor | Role::Inner => false,
            };
            let is_mountable = matches!(known.status.kind, Kind::File | Kind::Directory);
            let is_covered = mounts.last().is_some_and(|outer| place.is_in(outer));
            if is_wanted && is_mountable && !is_covered {
                mounts.push(place);
            }
        }
        let mut paths: Vec<PathBuf> =
            mounts.into_iter().map(|place| place.absolute(&self.roots)).collect();
        paths.sort();
        paths
    }

    /// Why the last look did not see everything; this must be shown.
    pub fn incomplete(&self) -> Option<&str> {
        self.incomplete.as_deref()
    }

    /// Looks after a call: what was planted goes into the quarantine, what was changed, moved or removed is
    /// put back, and all of it is told.
    ///
    /// The quarantine lies outside of the roots, best on the same file system. After an error nothing is
    /// known to be in order, and the call stays open.
    pub fn check(&mut self, mark: &Mark, quarantine: &Path) -> io::Result<Checked> {
        if self.roots.iter().any(|root| quarantine.starts_with(&root.path)) {
            let text = format!("the quarantine {quarantine:?} lies in a writable root; move it");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let since = self.open.iter().map(|(moment, _)| moment.stamp()).min();
        let mut check = Check {
            task: self.task(since),
            known: &self.known,
            older_is_fine: since.filter(|_| self.incomplete.is_some()),
            repair: Repair::new(&self.roots, quarantine),
            violations: Vec::new(),
            given_up: BTreeMap::new(),
        };
        let outcome = check.run()?;
        let (violations, given_up) = (check.violations, check.given_up);
        self.given_up = given_up;
        let incomplete = match outcome {
            Ok(survey) => {
                self.adopt(survey);
                self.incomplete.clone()
            }
            Err(reason) => Some(reason),
        };
        // One whose mark was dropped is over too; this check has stood in for its own.
        let is_other = |call: &Arc<()>| !Arc::ptr_eq(call, &mark.call);
        self.open.retain(|(_, call)| call.upgrade().as_ref().is_some_and(is_other));
        Ok(Checked { violations, incomplete })
    }

    fn task(&self, since: Option<Stamp>) -> Task<'_> {
        Task {
            roots: &self.roots,
            names: &self.protection.names,
            git: self.protection.git,
            bounds: &self.bounds,
            explicit: &self.explicit,
            since,
        }
    }

    /// Takes everything as it stands now for the person's.
    fn learn(&mut self) -> io::Result<()> {
        let roots = Root::open_all(&self.paths)?;
        let is_same = roots.len() == self.roots.len()
            && roots.iter().zip(&self.roots).all(|(one, other)| one.path == other.path);
        if !is_same {
            // Places are counted by roots.
            self.known.clear();
            self.given_up.clear();
        }
        self.roots = roots;
        let told = self.protection.paths.iter().filter_map(|path| Place::of(path, &self.roots));
        self.explicit = told.map(|place| (place, Role::Protected)).collect();
        let survey = walk::survey(&self.task(None))?;
        let more = self.pointed_to(&survey);
        if more.is_empty() {
            self.adopt(survey);
            return Ok(());
        }
        self.explicit.extend(more);
        let survey = walk::survey_more(&self.task(None), survey)?;
        self.adopt(survey);
        Ok(())
    }

    /// The places in the roots that protected links and files `.git` point to.
    fn pointed_to(&self, survey: &Survey) -> Vec<(Place, Role)> {
        let mut more = Vec::new();
        for (place, found) in &survey.found {
            let absolute = place.absolute(&self.roots);
            let is_git = names::is_repository(place.name().as_encoded_bytes());
            let target = match (found.role, found.status.kind) {
                (Role::Ancestor, _) => None,
                (_, Kind::Link) => Some(absolute),
                (Role::Protected, Kind::File) if is_git => place
                    .read(&self.roots, KEPT_FILE_BYTES_MAX)
                    .ok()
                    .flatten()
                    .and_then(|bytes| git::points_to(&bytes, absolute.parent()?)),
                (_, Kind::File | Kind::Directory | Kind::Other) => None,
            };
            // One that leads nowhere protects nothing.
            let Some(target) = target.and_then(|path| path.canonicalize().ok()) else { continue };
            let Some(target) = Place::of(&target, &self.roots) else { continue };
            // One that leads to where it is itself would protect everything around it.
            let is_around = place.is_in(&target);
            let is_found = survey.found.get(&target).is_some_and(|it| it.role != Role::Ancestor);
            if !is_around && !is_found {
                more.push((target, if is_git { Role::Repository } else { Role::Protected }));
            }
        }
        more
    }

    /// Remembers what was found, with the content of small files.
    fn adopt(&mut self, survey: Survey) {
        let mut before = std::mem::take(&mut self.known);
        let mut room = KEPT_BYTES_MAX;
        for (place, found) in survey.found {
            let is_given_up = |(one, id): (&Place, &Option<Id>)| {
                place.is_in(one) && (*one != place || *id == Some(found.status.id))
            };
            if self.given_up.iter().any(is_given_up) && found.role != Role::Ancestor {
                continue;
            }
            let content = match before.remove(&place) {
                Some(known) if known.status == found.status => known.content,
                Some(_) | None if found.role == Role::Ancestor => Content::Nothing,
                Some(_) | None => content(&place, &found.status, &self.roots),
            };
            let size = if let Content::Bytes(bytes) = &content { bytes.len() as u64 } else { 0 };
            let content = if size <= room { content } else { Content::Nothing };
            room = room.saturating_sub(size);
            let known = Known { role: found.role, status: found.status, content };
            self.known.insert(place, known);
        }
        if survey.incomplete.is_some() {
            // Not seen is not gone: what was known before the bound was reached stays known.
            for (place, known) in before {
                let Ok(Some(status)) = place.status(&self.roots) else { continue };
                let is_given_up = place.and_above().any(|one| self.given_up.contains_key(&one));
                if is_given_up || status.kind != known.status.kind {
                    continue;
                }
                let content = match status == known.status || known.role == Role::Ancestor {
                    true => known.content,
                    false => content(&place, &status, &self.roots),
                };
                self.known.insert(place, Known { role: known.role, status, content });
            }
        }
        self.incomplete = survey.incomplete;
    }
}

/// What can be kept of a thing.
fn content(place: &Place, status: &Status, roots: &[Root]) -> Content {
    match status.kind {
        Kind::File if status.size <= KEPT_FILE_BYTES_MAX => place
            .read(roots, KEPT_FILE_BYTES_MAX)
            .ok()
            .flatten()
            .map_or(Content::Nothing, Content::Bytes),
        Kind::Link => {
            let target = place
                .open_parent(roots)
                .and_then(|(parent, name)| rustix::fs::readlinkat(parent, &name, Vec::new()));
            target.map_or(Content::Nothing, Content::Target)
        }
        Kind::File | Kind::Directory | Kind::Other => Content::Nothing,
    }
}

impl Moment {
    fn now() -> Self {
        Self { stamped: time(STAMPS), running: time(ClockId::Monotonic) }
    }

    /// When it was by the clock that stamps files, even if that was set back since.
    fn stamp(self) -> Stamp {
        let now = Self::now();
        let nanos = |(seconds, nanos): Stamp| seconds * NANOS_PER_SECOND + nanos;
        let begun = nanos(now.stamped) - (nanos(now.running) - nanos(self.running));
        let begun = begun.min(nanos(self.stamped));
        (begun.div_euclid(NANOS_PER_SECOND), begun.rem_euclid(NANOS_PER_SECOND))
    }
}

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// The clock that files are stamped with; never ahead of a stamp that is made later.
#[cfg(target_os = "linux")]
const STAMPS: ClockId = ClockId::RealtimeCoarse;
#[cfg(not(target_os = "linux"))]
const STAMPS: ClockId = ClockId::Realtime;

fn time(clock: ClockId) -> Stamp {
    let time = clock_gettime(clock);
    (time.tv_sec.into(), time.tv_nsec.into())
}
