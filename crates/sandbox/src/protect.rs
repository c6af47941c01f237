//! Guards protected files inside writable roots: records them before a call, repairs them after it.
//!
//! A sandbox makes the files of the baseline read-only. Two gaps remain: a call can create a
//! missing protected name, or rename the parent of a protected file. A scan after the call finds
//! both. The baseline is what the roots contain before a call; any later difference counts as the
//! call's, even if the user made it. The baseline is not updated while calls overlap, and after an
//! incomplete check no call begins until one completes (see `registry`).
//!
//! Must never: follow a link, execute anything, delete what it did not make, or take an unfinished
//! scan for a complete one.

mod call_start;
mod check;
mod dir;
mod git;
mod names;
mod protected_path;
mod quarantine;
mod registry;
mod repair;
mod rooted_path;
pub(crate) mod secret_name;
pub(crate) mod secrets;
#[cfg(test)]
mod tests;
mod violation;
mod walk;

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::GitAccess;
use agentry_protocol::protected;

pub use self::names::ProtectedNames;
pub use self::protected_path::{is_protected, is_protected_among};
pub(crate) use self::registry::{Registration, Registry};
pub use self::violation::{ProtectionViolation, ViolationKind};
pub use self::walk::WalkBounds;

use self::call_start::CallStart;
use self::check::GuardCheck;
use self::dir::{FileId, FileStatus, FileTime, Kind};
use self::repair::Repair;
use self::rooted_path::{
    BaselineEntry, ProtectionRole, RootedPath, SavedContent, Survey, WritableRoot,
};
use self::secret_name::SecretName;
use self::walk::WalkTask;
use crate::limits::{KEPT_BYTES_MAX, KEPT_FILE_BYTES_MAX};

/// The rules of a guard.
#[derive(Clone, Debug, Default)]
pub struct Protection {
    /// Names that are protected in every directory.
    pub names: ProtectedNames,
    /// Absolute paths without links that are protected too, whether they exist or not.
    pub paths: Vec<PathBuf>,
    /// Prefixes of absolute paths without links; siblings with the prefix are protected too.
    pub beginnings: Vec<PathBuf>,
    /// Confinement entries for names that are hidden at any depth; found only, not protected.
    pub secrets: Vec<String>,
    /// Write access to a repository, its hooks and settings excepted.
    pub git: GitAccess,
    /// True if every file of a read-only repository is compared. Needed where the repository cannot
    /// be mounted read-only.
    pub whole_repositories: bool,
}

/// Guards the protected files in some writable roots.
#[derive(Debug)]
pub struct ProtectionGuard {
    paths: Vec<PathBuf>,
    protection: Protection,
    bounds: WalkBounds,
    roots: Vec<WritableRoot>,
    sought: ScanTargets,
    known: BTreeMap<RootedPath, BaselineEntry>,
    /// The directories before the first running call; None if another process scanned.
    directories: Option<HashSet<FileId>>,
    last_scan: LastScan,
    /// The reason why the last check is incomplete; no new baseline until a check completes.
    unsettled: Option<String>,
    open: Vec<(CallStart, Weak<()>)>,
    /// Differences that an earlier check could not repair; they never enter the baseline.
    given_up: BTreeMap<RootedPath, Option<FileId>>,
}

/// The results of the last scan before a call.
#[derive(Debug, Default)]
struct LastScan {
    /// The reason why the scan is incomplete.
    incomplete: Option<String>,
    /// The files to be hidden; None if another process scanned.
    secrets: Option<Vec<PathBuf>>,
    /// The protected entries that a call finds if it begins while another runs.
    present: BTreeMap<RootedPath, (ProtectionRole, Kind)>,
}

/// The targets of a scan beside protected names.
#[derive(Debug, Default)]
struct ScanTargets {
    /// Protected paths without a protected name: configured ones, and targets of links and `.git`.
    explicit: Vec<(RootedPath, ProtectionRole)>,
    beginnings: Vec<RootedPath>,
    secrets: Vec<SecretName>,
}

/// A call that has begun; it ends with its check.
#[derive(Debug)]
pub struct GuardedCall {
    call: Arc<()>,
}

/// The result of a check.
#[derive(Debug, Default)]
pub struct GuardReport {
    /// The call's changes to protected files.
    pub violations: Vec<ProtectionViolation>,
    /// The number of violations that are not listed.
    pub unlisted: usize,
    /// The reason why the roots may be unsafe; must be shown, and blocks every other call.
    pub incomplete: Option<String>,
}

impl ProtectionGuard {
    /// Scans the roots; their protected files form the baseline and belong to the user.
    pub fn scan(roots: &[PathBuf], protection: Protection, bounds: WalkBounds) -> io::Result<Self> {
        let mut guard = Self::open(roots, protection, bounds)?;
        guard.learn()?;
        Ok(guard)
    }

    /// Opens the roots without a scan.
    pub(crate) fn open(
        roots: &[PathBuf],
        protection: Protection,
        bounds: WalkBounds,
    ) -> io::Result<Self> {
        let mut guard = Self {
            paths: roots.to_vec(),
            protection,
            bounds,
            roots: Vec::new(),
            sought: ScanTargets::default(),
            known: BTreeMap::new(),
            directories: None,
            last_scan: LastScan::default(),
            unsettled: None,
            open: Vec::new(),
            given_up: BTreeMap::new(),
        };
        guard.open_roots()?;
        Ok(guard)
    }

    /// Replaces the rules from the next scan on.
    pub(crate) fn protect(&mut self, protection: Protection) {
        self.protection = protection;
    }

    fn open_roots(&mut self) -> io::Result<()> {
        let roots = WritableRoot::open_all(&self.paths)?;
        let is_same = roots.len() == self.roots.len()
            && roots.iter().zip(&self.roots).all(|(one, other)| one.path == other.path);
        if !is_same {
            // A `RootedPath` names its root by index.
            self.known.clear();
            self.given_up.clear();
        }
        self.roots = roots;
        let told =
            self.protection.paths.iter().filter_map(|path| RootedPath::of(path, &self.roots));
        self.sought.explicit = told.map(|place| (place, ProtectionRole::Protected)).collect();
        let begun = self.protection.beginnings.iter();
        self.sought.secrets = SecretName::all(&self.protection.secrets);
        self.sought.beginnings =
            begun.filter_map(|path| RootedPath::of(path, &self.roots)).collect();
        Ok(())
    }

    /// Begins a call, after a new scan that takes the user's changes into the baseline.
    ///
    /// Ask for `mounts` after this. While another call runs the baseline stays. An incomplete scan
    /// is an error: later no check could tell what the call did.
    pub fn begin(&mut self) -> io::Result<GuardedCall> {
        if !self.has_open_calls() {
            if let Some(reason) = &self.unsettled {
                return Err(io::Error::other(format!("an earlier call is unchecked: {reason}")));
            }
            self.learn()?;
        }
        self.join()
    }

    /// Begins a call with the present baseline.
    pub(crate) fn join(&mut self) -> io::Result<GuardedCall> {
        if self.has_open_calls() {
            self.look_around()?;
        }
        if let Some(reason) = &self.last_scan.incomplete {
            return Err(io::Error::other(format!(
                "not every file could be looked at for protected ones: {reason}"
            )));
        }
        let call = Arc::new(());
        self.open.push((CallStart::now(), Arc::downgrade(&call)));
        Ok(GuardedCall { call })
    }

    /// Returns true if a call of this guard is running or unchecked.
    pub(crate) fn has_open_calls(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns the paths to mount read-only, the outermost first; files and directories, no links.
    pub fn mounts(&self) -> Vec<PathBuf> {
        let known =
            self.known.iter().map(|(place, known)| (place, (known.role, known.status.kind)));
        let present = self.last_scan.present.iter().map(|(place, found)| (place, *found));
        let protected: BTreeMap<&RootedPath, (ProtectionRole, Kind)> =
            present.chain(known).collect();
        let mut mounts: Vec<&RootedPath> = Vec::new();
        for (place, (role, kind)) in protected {
            let is_wanted = match role {
                ProtectionRole::Protected => true,
                ProtectionRole::Repository => self.protection.git == GitAccess::Read,
                ProtectionRole::Part => self.protection.git == GitAccess::Write,
                ProtectionRole::Ancestor | ProtectionRole::Inner => false,
            };
            let is_mountable = matches!(kind, Kind::File | Kind::Directory);
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

    /// Returns the files in the roots that must be hidden; None if another process scanned.
    pub(crate) fn secrets(&self) -> Option<&[PathBuf]> {
        self.last_scan.secrets.as_deref()
    }

    /// Returns the reason why the last scan is incomplete; it must be shown.
    pub fn incomplete(&self) -> Option<&str> {
        self.last_scan.incomplete.as_deref()
    }

    /// Checks the roots after a call: quarantines planted entries, restores changed, moved or
    /// removed ones, and reports all of them.
    ///
    /// The quarantine must be outside of the roots, best on the same file system. After an error
    /// the state of the roots is unknown, and the call stays open.
    pub fn check(&mut self, mark: &GuardedCall, quarantine: &Path) -> io::Result<GuardReport> {
        let checked = self.check_running(quarantine)?;
        // A call with a dropped mark is over too; this check replaces its own.
        let is_other = |call: &Arc<()>| !Arc::ptr_eq(call, &mark.call);
        self.open.retain(|(_, call)| call.upgrade().as_ref().is_some_and(is_other));
        Ok(checked)
    }

    /// Checks the roots as `check` does, while all calls go on.
    pub(crate) fn check_running(&mut self, quarantine: &Path) -> io::Result<GuardReport> {
        if self.roots.iter().any(|root| quarantine.starts_with(&root.path)) {
            let text = format!("the quarantine {quarantine:?} lies in a writable root; move it");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let since = self.open.iter().map(|(moment, _)| moment.stamp()).min();
        self.check_since(since, quarantine)
    }

    /// Repeats a check that could not be finished.
    pub fn check_again(&mut self, quarantine: &Path) -> io::Result<GuardReport> {
        self.check_since(None, quarantine)
    }

    /// Checks the roots for calls that began at `since`, or at any time.
    pub(crate) fn check_since(
        &mut self,
        since: Option<FileTime>,
        quarantine: &Path,
    ) -> io::Result<GuardReport> {
        let directories = self.known.values().filter(|known| known.is_directory());
        let kept = directories.map(|known| known.status.id).collect();
        let mut check = GuardCheck {
            task: self.task(since.or(Some((0, 0)))),
            known: &self.known,
            directories: self.directories.as_ref(),
            repair: Repair::new(&self.roots, quarantine, kept),
            violations: Vec::new(),
            unlisted: 0,
            given_up: BTreeMap::new(),
            is_unsafe: false,
            races: 0,
        };
        let incomplete = check.run()?;
        let (violations, unlisted) = (check.violations, check.unlisted);
        self.given_up = check.given_up;
        // The baseline stays: if another call runs, the present entries may be its work.
        self.unsettled.clone_from(&incomplete);
        Ok(GuardReport { violations, unlisted, incomplete })
    }

    fn task(&self, since: Option<FileTime>) -> WalkTask<'_> {
        WalkTask {
            roots: &self.roots,
            names: &self.protection.names,
            git: self.protection.git,
            whole_repositories: self.protection.whole_repositories,
            bounds: &self.bounds,
            explicit: &self.sought.explicit,
            beginnings: &self.sought.beginnings,
            secrets: &self.sought.secrets,
            since,
        }
    }

    /// Scans the roots and makes the result the baseline.
    pub(crate) fn learn(&mut self) -> io::Result<()> {
        self.open_roots()?;
        let mut survey = walk::survey(&self.task(None))?;
        let more = self.pointed_to(&survey);
        if !more.is_empty() {
            self.sought.explicit.extend(more);
            survey = walk::survey_more(&self.task(None), survey)?;
        }
        if survey.is_cut {
            survey
                .incomplete
                .get_or_insert_with(|| "there are too many protected files".to_owned());
        }
        self.directories = Some(std::mem::take(&mut survey.directories));
        self.last_scan.secrets = Some(std::mem::take(&mut survey.secrets));
        self.last_scan.incomplete = survey.incomplete.take();
        self.last_scan.present.clear();
        self.adopt(survey)
    }

    /// Finds entries that another call has moved, so that the next call cannot write them there.
    fn look_around(&mut self) -> io::Result<()> {
        let survey = walk::survey(&self.task(None))?;
        self.last_scan.incomplete = survey.incomplete;
        self.last_scan.present = survey
            .found
            .into_iter()
            .map(|(place, it)| (place, (it.role, it.status.kind)))
            .collect();
        Ok(())
    }

    /// Returns the paths in the roots that protected links and files `.git` point to.
    fn pointed_to(&self, survey: &Survey) -> Vec<(RootedPath, ProtectionRole)> {
        let mut more = Vec::new();
        for (place, found) in &survey.found {
            let absolute = place.absolute(&self.roots);
            let is_git = protected::is_repository(place.name().as_encoded_bytes());
            let target = match (found.role, found.status.kind) {
                (ProtectionRole::Ancestor, _) => None,
                (_, Kind::Link) => Some(absolute),
                (ProtectionRole::Protected, Kind::File) if is_git => place
                    .read(&self.roots, KEPT_FILE_BYTES_MAX)
                    .ok()
                    .flatten()
                    .and_then(|bytes| git::points_to(&bytes, absolute.parent()?)),
                (_, Kind::File | Kind::Directory | Kind::Other) => None,
            };
            // A dangling link protects nothing.
            let Some(target) = target.and_then(|path| path.canonicalize().ok()) else { continue };
            let Some(target) = RootedPath::of(&target, &self.roots) else { continue };
            // A link to a directory around itself would protect everything there.
            let is_around = place.is_in(&target);
            let is_found =
                survey.found.get(&target).is_some_and(|it| it.role != ProtectionRole::Ancestor);
            if !is_around && !is_found {
                more.push((
                    target,
                    if is_git { ProtectionRole::Repository } else { ProtectionRole::Protected },
                ));
            }
        }
        more
    }

    /// Makes a survey the baseline, with the content of small files.
    fn adopt(&mut self, survey: Survey) -> io::Result<()> {
        let mut known = BTreeMap::new();
        let mut room = KEPT_BYTES_MAX;
        // Only while the entry is in place: a replacement by the user belongs to the user.
        let stands = |(place, id): &(&RootedPath, &Option<FileId>)| {
            survey.found.get(*place).map(|found| found.status.id) == **id
        };
        let given_up: Vec<&RootedPath> =
            self.given_up.iter().filter(stands).map(|(place, _)| place).collect();
        for (place, found) in survey.found {
            let is_given_up = given_up.iter().any(|one| place.is_in(one));
            if is_given_up && found.role != ProtectionRole::Ancestor {
                continue;
            }
            let content = match found.role {
                ProtectionRole::Ancestor => SavedContent::Nothing,
                ProtectionRole::Protected
                | ProtectionRole::Inner
                | ProtectionRole::Repository
                | ProtectionRole::Part => content(&place, &found.status, &self.roots)?,
            };
            let content = match content {
                SavedContent::Bytes(bytes) if bytes.len() as u64 > room => {
                    SavedContent::Digest(ContentHash::of(&bytes))
                }
                other => other,
            };
            if let SavedContent::Bytes(bytes) = &content {
                room -= bytes.len() as u64;
            }
            known.insert(place, BaselineEntry { role: found.role, status: found.status, content });
        }
        self.known = known;
        Ok(())
    }
}

/// Returns the content of a small file, or the digest of a large one.
fn content(
    place: &RootedPath,
    status: &FileStatus,
    roots: &[WritableRoot],
) -> io::Result<SavedContent> {
    match readable_content(place, status, roots) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Ok(SavedContent::Unreadable)
        }
        other => other,
    }
}

fn readable_content(
    place: &RootedPath,
    status: &FileStatus,
    roots: &[WritableRoot],
) -> io::Result<SavedContent> {
    match status.kind {
        Kind::File if status.size <= KEPT_FILE_BYTES_MAX => Ok(place
            .read(roots, KEPT_FILE_BYTES_MAX)?
            .map_or(SavedContent::Nothing, SavedContent::Bytes)),
        Kind::File => {
            Ok(digest(place, status, roots)?.map_or(SavedContent::Nothing, SavedContent::Digest))
        }
        Kind::Link => Ok(place.target(roots)?.map_or(SavedContent::Nothing, SavedContent::Target)),
        Kind::Directory | Kind::Other => Ok(SavedContent::Nothing),
    }
}

/// Returns the digest of a file's content or of a link's target; None for other kinds.
fn digest(
    place: &RootedPath,
    status: &FileStatus,
    roots: &[WritableRoot],
) -> io::Result<Option<ContentHash>> {
    match status.kind {
        Kind::File => place.digest(roots),
        Kind::Link => Ok(place.target(roots)?.map(|target| ContentHash::of(target.as_bytes()))),
        Kind::Directory | Kind::Other => Ok(None),
    }
}
