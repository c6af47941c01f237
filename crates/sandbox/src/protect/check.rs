//! Compares the roots after a call with the baseline, and repairs the differences.
//!
//! One round scans, repairs from the outside in, and skips entries in a path it has just repaired;
//! rounds follow until one finds no difference. If a scan cannot be finished, the outermost new
//! directory on the way to its obstacle is quarantined as a whole.
//!
//! Must never: run for ever, accept an entry it could not judge, or omit one without a report.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agentry_protocol::confinement::GitAccess;
use agentry_protocol::protected::REPOSITORY;

use super::dir::{self, FileId, FileStatus, Kind};
use super::git::{self, GitConfigScope};
use super::repair::{DisplacedEntry, Repair};
use super::rooted_path::{
    BaselineEntry, ProtectionRole, RootedPath, SavedContent, Survey, SurveyEntry,
};
use super::violation::{ProtectionViolation, ViolationKind};
use super::walk::{self, WalkTask};
use crate::limits::{KEPT_FILE_BYTES_MAX, REPAIR_MS_MAX, REPAIR_RACES_MAX, VIOLATIONS_LISTED_MAX};

/// The state of one check.
pub(crate) struct GuardCheck<'a> {
    pub(crate) task: WalkTask<'a>,
    pub(crate) known: &'a BTreeMap<RootedPath, BaselineEntry>,
    /// The directories before the call; None if they are unknown.
    pub(crate) directories: Option<&'a HashSet<FileId>>,
    pub(crate) repair: Repair<'a>,
    pub(crate) violations: Vec<ProtectionViolation>,
    /// The number of violations that are not listed.
    pub(crate) unlisted: usize,
    /// Differences that could not be repaired, so that later rounds do not retry them.
    pub(crate) given_up: BTreeMap<RootedPath, Option<FileId>>,
    /// True if a planted or changed file could not be removed.
    pub(crate) is_unsafe: bool,
    /// The number of moves between a scan and its repair: another call is still running.
    pub(crate) races: usize,
}

/// A path that differs from its baseline entry.
struct ChangedPath<'a> {
    place: &'a RootedPath,
    known: &'a BaselineEntry,
    /// The present status; None if the entry is gone.
    now: Option<FileStatus>,
}

/// The progress of one round.
#[derive(Default)]
struct CheckRound {
    /// Paths that this round leaves alone, with all that is in them.
    settled: BTreeSet<RootedPath>,
    /// Moved directories on their way back, by their path in the baseline.
    aside: BTreeMap<RootedPath, io::Result<DisplacedEntry>>,
    /// A directory that was made again, and the index of its violation.
    remade: Option<(RootedPath, usize)>,
    acted: bool,
}

impl CheckRound {
    fn is_settled(&self, place: &RootedPath) -> bool {
        place.ancestors().any(|one| self.settled.contains(&one))
    }

    fn settle(&mut self, place: &RootedPath) {
        self.settled.insert(place.clone());
        self.acted = true;
    }
}

impl GuardCheck<'_> {
    /// Repairs until a scan finds no difference; returns the reason if no scan does.
    pub(crate) fn run(&mut self) -> io::Result<Option<String>> {
        let started = Instant::now();
        let time = Duration::from_millis(REPAIR_MS_MAX);
        loop {
            self.open_directories()?;
            let survey = walk::survey(&self.task)?;
            let has_acted = self.round(&survey)?;
            if !has_acted {
                match self.unfinished(&survey) {
                    None => return Ok(None),
                    Some(reason) => {
                        let races = self.races;
                        let is_contained = self.contain(&survey)?;
                        if !is_contained && self.races == races {
                            return Ok(Some(reason));
                        }
                    }
                }
            }
            if started.elapsed() > time {
                let reason = "protected things were changed again while they were put right";
                return Ok(Some(reason.to_owned()));
            }
        }
    }

    /// Restores the permissions of baseline directories: all of them for protected ones, for others
    /// only those that are needed to list and enter them.
    fn open_directories(&mut self) -> io::Result<()> {
        for root in self.task.roots {
            root.make_readable()?;
        }
        for (place, known) in self.known.iter().filter(|(_, known)| known.is_directory()) {
            let now = match place.status(self.task.roots) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
                other => other?,
            };
            let Some(now) = now.filter(|now| now.id == known.id()) else { continue };
            let is_closed = now.mode & known.status.mode & 0o700 != known.status.mode & 0o700;
            let is_protected =
                known.role != ProtectionRole::Ancestor && known.role != ProtectionRole::Repository;
            if is_closed || is_protected && now.mode != known.status.mode {
                let (parent, name) = place.open_parent(self.task.roots)?;
                dir::set_mode(&parent, &name, known.status.mode)?;
                if is_protected {
                    self.tell(place, ViolationKind::Changed, Ok((None, Ok(()))));
                }
            }
        }
        Ok(())
    }

    /// Returns the reason why the roots may be unsafe although nothing is left to repair.
    fn unfinished(&self, survey: &Survey) -> Option<String> {
        let too_much = || "more was made than can be looked at".to_owned();
        let left = || "something that the call made could not be taken away".to_owned();
        let incomplete = survey.incomplete.clone();
        incomplete.or_else(|| survey.is_cut.then(too_much)).or_else(|| self.is_unsafe.then(left))
    }

    /// Quarantines the outermost new directory on the way to the point where a scan had to stop.
    fn contain(&mut self, survey: &Survey) -> io::Result<bool> {
        let (Some(stuck_at), Some(directories)) = (&survey.stuck_at, self.directories) else {
            return Ok(false);
        };
        let way: Vec<RootedPath> = stuck_at.ancestors().collect();
        for place in way.iter().rev() {
            let Some(status) = place.status(self.task.roots)? else { return Ok(false) };
            if status.kind == Kind::Directory && !directories.contains(&status.id) {
                let outcome = self.repair.take(place).map(|taken| (Some(taken), Ok(())));
                return Ok(self.tell(place, ViolationKind::Planted, outcome));
            }
        }
        Ok(false)
    }

    /// Repairs the differences that a scan has shown; returns true if it did anything.
    fn round(&mut self, survey: &Survey) -> io::Result<bool> {
        let mut round = CheckRound::default();
        let known = self.known;
        let mut different = Vec::new();
        for (place, known) in known {
            if self.is_done(&round, place) {
                continue;
            }
            let now = match survey.found.get(place) {
                Some(found) => Some(found.status.clone()),
                None => place.status(self.task.roots)?,
            };
            if !self.is_same(place, known, now.as_ref())? {
                different.push(ChangedPath { place, known, now });
            }
        }
        self.set_aside(&mut round, &different)?;
        for ChangedPath { place, known, .. } in different {
            // An earlier move of this round may have repaired this path, or damaged it.
            let now = place.status(self.task.roots)?;
            if !self.is_done(&round, place) && !self.is_same(place, known, now.as_ref())? {
                self.put_right(&mut round, &ChangedPath { place, known, now });
            }
        }
        for (place, aside) in std::mem::take(&mut round.aside) {
            self.put_back(&mut round, &place, aside);
        }
        if round.acted {
            return Ok(true);
        }
        for (place, found) in &survey.found {
            let is_news = !known.contains_key(place) && found.role != ProtectionRole::Ancestor;
            if is_news && !self.is_done(&round, place) {
                self.judge(&mut round, survey, place, found)?;
            }
        }
        Ok(round.acted)
    }

    /// Moves displaced directories aside, before any directory around them is quarantined.
    fn set_aside(
        &mut self,
        round: &mut CheckRound,
        different: &[ChangedPath<'_>],
    ) -> io::Result<()> {
        let directories = || different.iter().filter(|one| one.known.is_directory());
        let sought = directories().map(|one| one.known.id()).collect();
        let located = walk::locate(&self.task, sought)?;
        for ChangedPath { place, known, .. } in directories() {
            let Some(from) = located.get(&known.id()) else { continue };
            // It was moved along with its parent directory, and comes back with it.
            let parent = place.ancestors().nth(1);
            let parent_now = parent.and_then(|it| located.get(&self.known.get(&it)?.id()));
            let came_along = parent_now.is_some_and(|parent| {
                *from == RootedPath { root: parent.root, path: parent.path.join(place.name()) }
            });
            if !came_along {
                let aside = self.repair.set_aside(known.id(), from.clone(), place);
                round.aside.insert((*place).clone(), aside);
            }
        }
        Ok(())
    }

    fn is_done(&self, round: &CheckRound, place: &RootedPath) -> bool {
        round.is_settled(place) || place.ancestors().any(|one| self.given_up.contains_key(&one))
    }

    /// Returns true if the path has the content and permissions of the baseline.
    fn is_same(
        &self,
        place: &RootedPath,
        known: &BaselineEntry,
        now: Option<&FileStatus>,
    ) -> io::Result<bool> {
        let Some(now) = now else { return Ok(false) };
        if known.status.kind != now.kind {
            return Ok(false);
        }
        // By content, never by times: a time can be set, or be the same for two changes.
        Ok(match &known.content {
            SavedContent::Bytes(bytes) => {
                known.status.mode == now.mode
                    && place.read(self.task.roots, KEPT_FILE_BYTES_MAX)?.as_ref() == Some(bytes)
            }
            SavedContent::Digest(digest) => {
                let is_link = known.status.kind == Kind::Link;
                (is_link || known.status.mode == now.mode)
                    && super::digest(place, now, self.task.roots)?.as_ref() == Some(digest)
            }
            SavedContent::Target(_) => {
                super::content(place, now, self.task.roots)? == known.content
            }
            SavedContent::Unreadable => known.status == *now,
            SavedContent::Nothing => {
                known.id() == now.id && (known.is_directory() || known.status.kind == Kind::Other)
            }
        })
    }

    /// Moves a directory back with its content; the next round checks whether it is complete.
    fn put_back(
        &mut self,
        round: &mut CheckRound,
        place: &RootedPath,
        aside: io::Result<DisplacedEntry>,
    ) {
        let (what, outcome) = match aside {
            Ok(aside) => {
                let to = aside.from.absolute(self.task.roots);
                (ViolationKind::Moved { to }, self.repair.put_back(&aside, place))
            }
            Err(error) => (ViolationKind::Removed, Err(error)),
        };
        self.tell(place, what, outcome.map(|taken| (taken, Ok(()))));
        round.acted = true;
    }

    fn put_right(&mut self, round: &mut CheckRound, changed: &ChangedPath<'_>) {
        let ChangedPath { place, known, ref now } = *changed;
        let now = now.as_ref();
        if let Some(aside) = round.aside.remove(place) {
            self.put_back(round, place, aside);
            return;
        }
        let is_directory = |it: &FileStatus| it.kind == Kind::Directory;
        match known.role {
            ProtectionRole::Repository => {
                let taken = now.map(|_| self.repair.take(place)).transpose();
                let lost =
                    || io::Error::other("the repository is gone, only you can bring it back");
                self.tell(place, ViolationKind::Removed, taken.map(|taken| (taken, Err(lost()))));
                round.settle(place);
            }
            // Another directory in its place: its present and missing entries are judged alone.
            ProtectionRole::Ancestor
            | ProtectionRole::Protected
            | ProtectionRole::Inner
            | ProtectionRole::Part
                if known.is_directory() && now.is_some_and(is_directory) => {}
            ProtectionRole::Ancestor if now.is_none() => {}
            ProtectionRole::Ancestor => {
                let outcome = self.repair.take(place).map(|taken| (Some(taken), Ok(())));
                self.tell(place, ViolationKind::Changed, outcome);
                round.settle(place);
            }
            ProtectionRole::Protected | ProtectionRole::Inner | ProtectionRole::Part => {
                self.make_again(round, changed);
            }
        }
    }

    /// Quarantines the present entry of a path, and makes the baseline's entry again.
    fn make_again(&mut self, round: &mut CheckRound, changed: &ChangedPath<'_>) {
        let ChangedPath { place, known, ref now } = *changed;
        let now = now.as_ref();
        let what = if now.is_some() { ViolationKind::Changed } else { ViolationKind::Removed };
        let taken = now.map(|_| self.repair.take(place)).transpose();
        let outcome = taken.map(|taken| (taken, self.repair.make(place, known)));
        // Entries of a removed directory are not reported one by one.
        if let Some((_, told)) = round.remade.as_ref().filter(|(one, _)| place.is_in(one)) {
            let (told, is_left) = (*told, outcome.is_err());
            round.acted = true;
            let Err(error) = outcome.and_then(|(_, made)| made) else { return };
            if !self.is_race(&error) {
                self.is_unsafe |= is_left;
                if let Some(violation) = self.violations.get_mut(told) {
                    violation.restored = false;
                    violation.problem = Some(format!("{:?}: {error}", place.path));
                }
                self.given_up.insert(place.clone(), now.map(|status| status.id));
            }
            return;
        }
        let is_made = self.tell(place, what, outcome);
        if is_made && known.is_directory() {
            let told = self.violations.len().saturating_sub(1);
            round.remade = Some((place.clone(), told));
            round.acted = true;
        } else {
            round.settle(place);
        }
    }

    /// Judges a protected entry that was not there before the call.
    fn judge(
        &mut self,
        round: &mut CheckRound,
        survey: &Survey,
        place: &RootedPath,
        found: &SurveyEntry,
    ) -> io::Result<()> {
        if self.task.git == GitAccess::Write && self.is_harmless(survey, place, found)? {
            // Its parts were judged with it. Nothing was done, so another round is not needed.
            round.settled.insert(place.clone());
            return Ok(());
        }
        let outcome = self.repair.take(place).map(|taken| (Some(taken), Ok(())));
        self.tell(place, ViolationKind::Planted, outcome);
        round.settle(place);
        Ok(())
    }

    /// Returns true if a repository, or a part of one, makes git run nothing.
    fn is_harmless(
        &self,
        survey: &Survey,
        place: &RootedPath,
        found: &SurveyEntry,
    ) -> io::Result<bool> {
        let is_named = |name: &str| place.name() == name;
        match (found.role, found.status.kind) {
            (ProtectionRole::Repository, _) => {
                for (part, found) in
                    survey.below(place).filter(|(_, it)| it.role == ProtectionRole::Part)
                {
                    if !self.is_harmless(survey, part, found)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (ProtectionRole::Part, Kind::Directory) if is_named("hooks") => {
                Ok(survey.below(place).all(|(one, found)| {
                    let is_sample = one.path.extension().is_some_and(|it| it == "sample");
                    found.status.kind == Kind::File && is_sample
                }))
            }
            (ProtectionRole::Part, Kind::File) => {
                let Some(bytes) = place.read(self.task.roots, KEPT_FILE_BYTES_MAX)? else {
                    return Ok(false);
                };
                Ok(is_harmless_part(&place.path, &bytes))
            }
            (ProtectionRole::Protected, Kind::File) if is_named(REPOSITORY) => {
                self.is_of_known_repository(survey, place)
            }
            (ProtectionRole::Part | ProtectionRole::Protected, _)
            | (ProtectionRole::Ancestor | ProtectionRole::Inner, _) => Ok(false),
        }
    }

    /// Returns true if a file `.git` names a worktree or submodule of a harmless repository.
    fn is_of_known_repository(&self, survey: &Survey, place: &RootedPath) -> io::Result<bool> {
        let roots = self.task.roots;
        let Some(bytes) = place.read(roots, KEPT_FILE_BYTES_MAX)? else { return Ok(false) };
        let directory = place.absolute(roots);
        let directory = directory.parent().unwrap_or_else(|| Path::new("/"));
        let Some(target) = git::points_to(&bytes, directory) else { return Ok(false) };
        let Some(owner) = git::owner(&target).and_then(|owner| RootedPath::of(owner, roots)) else {
            return Ok(false);
        };
        // No link on the way: it would lead elsewhere than its text says.
        let is_there = RootedPath::of(&target, roots)
            .filter(|target| target.root == place.root)
            .map(|target| target.status(roots))
            .transpose()?
            .flatten()
            .is_some_and(|status| status.kind == Kind::Directory);
        let Some(found) =
            survey.found.get(&owner).filter(|it| it.role == ProtectionRole::Repository)
        else {
            return Ok(false);
        };
        Ok(is_there
            && (self.known.contains_key(&owner) || self.is_harmless(survey, &owner, found)?))
    }

    /// Counts an error of a move since the scan; the next round finds the entry in its new place.
    /// Giving up instead would make the new place count as planted.
    fn is_race(&mut self, error: &io::Error) -> bool {
        let is_race = dir::is_race(error) && self.races < REPAIR_RACES_MAX;
        self.races += usize::from(is_race);
        is_race
    }

    /// Records the repair of a path, and gives the path up if it failed; returns true on success.
    fn tell(
        &mut self,
        place: &RootedPath,
        what: ViolationKind,
        outcome: io::Result<(Option<PathBuf>, io::Result<()>)>,
    ) -> bool {
        let mut is_done = true;
        let (quarantined, problem) = match outcome {
            Ok((quarantined, Ok(()))) => (quarantined, None),
            // The quarantined entry is reported; the next round restores the baseline's entry.
            Ok((Some(quarantined), Err(error))) if self.is_race(&error) => {
                is_done = false;
                (Some(quarantined), None)
            }
            Err(error) | Ok((None, Err(error))) if self.is_race(&error) => return false,
            Ok((quarantined, Err(error))) => (quarantined, Some(error.to_string())),
            Err(error) => {
                self.is_unsafe = true;
                (None, Some(error.to_string()))
            }
        };
        let restored = problem.is_none();
        if !restored {
            let now = place.status(self.task.roots).ok().flatten();
            self.given_up.insert(place.clone(), now.map(|status| status.id));
        }
        if self.violations.len() >= VIOLATIONS_LISTED_MAX {
            self.unlisted += 1;
            return restored && is_done;
        }
        let path = place.absolute(self.task.roots);
        self.violations.push(ProtectionViolation { path, what, quarantined, restored, problem });
        restored && is_done
    }
}

fn is_harmless_part(path: &Path, bytes: &[u8]) -> bool {
    let homes: BTreeSet<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    match path.file_name().and_then(|name| name.to_str()) {
        Some("config" | "config.worktree") => {
            let is_module = homes.contains("modules");
            let settings =
                if is_module { GitConfigScope::Module } else { GitConfigScope::Repository };
            git::is_harmless(bytes, settings)
        }
        // The mark of a repository without a directory `.git`.
        Some("HEAD") => true,
        // A worktree's own: the rest is where it always is.
        Some("commondir") => homes.contains("worktrees") && bytes == b"../..\n",
        Some(_) | None => false,
    }
}
