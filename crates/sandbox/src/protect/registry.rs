//! The calls that run in guarded directories, shared by all processes of a user.
//!
//! Every call has a record with its baseline, in files that only the runtime can write. A call that
//! begins while another runs in the same directories takes the baseline of that record. If a call
//! ended without a complete check (its process was killed, or the check could not be finished), its
//! record stays: the next call makes that check first, and does not begin without it.
//!
//! Must never: let a call begin in directories that another process guards by other rules, or that
//! were left unchecked.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::GitAccess;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::call_start::CallStart;
use super::dir::{FileStatus, FileTime};
use super::rooted_path::{BaselineEntry, ProtectionRole, RootedPath, SavedContent};
use super::{Protection, ProtectionGuard, WalkBounds, is_protected};
use crate::cancel::CancelToken;
use crate::limits::{GUARD_LOOK_MS, GUARD_WAIT_MS_MAX};

const LOCK: &str = "lock";
const CALL: &str = "call";
const KNOWN: &str = "known";

/// The directory of the records.
#[derive(Debug)]
pub(crate) struct Registry {
    directory: PathBuf,
    quarantine: PathBuf,
}

/// The record of one guard's calls; its lock shows others that the calls run.
#[derive(Debug)]
pub(crate) struct Registration {
    call: File,
    call_path: PathBuf,
    known_path: PathBuf,
    /// The file that is locked during a check of the directories.
    check_path: PathBuf,
}

/// The directories of a guard and their rules, for comparison with other guards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct GuardRules {
    roots: Vec<OsText>,
    paths: Vec<OsText>,
    beginnings: Vec<OsText>,
    git: GitAccess,
    #[serde(default)]
    whole_repositories: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct GuardCallRecord {
    rules: GuardRules,
    process: u32,
}

/// The protected files before the call.
#[derive(Debug, Serialize, Deserialize)]
struct BaselineRecord {
    since: FileTime,
    /// The roots that `places` refer to by index.
    roots: Vec<OsText>,
    places: Vec<PathRecord>,
    /// The paths that are protected without a protected name.
    explicit: Vec<ExplicitRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ExplicitRecord {
    root: usize,
    path: OsText,
    role: ProtectionRole,
}

#[derive(Debug, Serialize, Deserialize)]
struct PathRecord {
    root: usize,
    path: OsText,
    role: ProtectionRole,
    status: FileStatus,
    digest: Option<ContentHash>,
    is_readable: bool,
}

/// A path as bytes; most are text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum OsText {
    Text(String),
    Bytes(Vec<u8>),
}

impl OsText {
    fn new(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes.clone())),
        }
    }
}

impl Registry {
    /// Keeps the records beside the quarantine.
    pub(crate) fn new(quarantine: &Path) -> Self {
        let directory = quarantine.with_file_name("guarded");
        Self { directory, quarantine: quarantine.to_owned() }
    }

    /// Registers the first call of a guard; the guard has its baseline afterwards.
    ///
    /// Waits for calls of other processes that guard the same directories by other rules.
    pub(crate) fn enter(
        &self,
        guard: &mut ProtectionGuard,
        stop: &CancelToken,
    ) -> io::Result<Registration> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let rules = GuardRules::of(guard);
        let until = Instant::now() + Duration::from_millis(GUARD_WAIT_MS_MAX);
        loop {
            let lock = self.lock()?;
            match self.others(&rules)? {
                ConcurrentCalls::Fitting(records) => {
                    let registration = self.register(&rules)?;
                    drop(lock);
                    guard.learn()?;
                    for record in &records {
                        guard.take_over(record);
                    }
                    let since = records.iter().map(|record| record.since).min();
                    registration.write_known(guard, since)?;
                    return Ok(registration);
                }
                ConcurrentCalls::Busy(process) => {
                    drop(lock);
                    wait(until, stop, process)?;
                }
            }
        }
    }

    fn lock(&self) -> io::Result<File> {
        let file = open(&self.directory.join(LOCK))?;
        lock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }

    /// Settles unchecked calls, then returns the running calls in the same directories.
    fn others(&self, rules: &GuardRules) -> io::Result<ConcurrentCalls> {
        let mut records = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let call_path = entry?.path();
            if call_path.extension().is_none_or(|it| it != CALL) {
                continue;
            }
            let file = open(&call_path)?;
            let known_path = call_path.with_extension(KNOWN);
            let record: GuardCallRecord = match read(&call_path) {
                Ok(record) => record,
                // Its process ended while writing the record: the call never began.
                Err(_) if !known_path.exists() && try_lock(&file)? => {
                    std::fs::remove_file(&call_path)?;
                    continue;
                }
                Err(error) => return Err(unreadable(&call_path, &error)),
            };
            if !record.rules.overlap(rules) {
                continue;
            }
            if try_lock(&file)? {
                self.settle(&record, &known_path)?;
                remove(&known_path)?;
                std::fs::remove_file(&call_path)?;
            } else if !record.rules.fit(rules) || !known_path.exists() {
                return Ok(ConcurrentCalls::Busy(record.process));
            } else {
                records.push(read(&known_path)?);
            }
        }
        Ok(ConcurrentCalls::Fitting(records))
    }

    /// Makes the missing check of a call whose process has ended.
    fn settle(&self, record: &GuardCallRecord, known_path: &Path) -> io::Result<()> {
        if !known_path.exists() {
            // The call had not begun.
            return Ok(());
        }
        let known: BaselineRecord =
            read(known_path).map_err(|error| unreadable(known_path, &error))?;
        let mut guard = record.rules.guard()?;
        guard.take_over(&known);
        std::fs::create_dir_all(&self.quarantine)?;
        let checked = guard.check_since(Some(known.since), &self.quarantine)?;
        let roots: Vec<PathBuf> = record.rules.roots.iter().map(OsText::path).collect();
        if let Some(reason) = checked.incomplete {
            return Err(io::Error::other(format!(
                "an earlier call left {roots:?} in a state that cannot be checked: {reason}; no call runs there \
                 until this is mended"
            )));
        }
        if checked.violations.is_empty() {
            return Ok(());
        }
        let listed: Vec<String> = checked.violations.iter().map(ToString::to_string).collect();
        // The files are safe now; this error is the only report, so the record is removed first.
        remove(known_path)?;
        Err(io::Error::other(format!(
            "an earlier call in {roots:?} was never checked, and had changed what is protected; this was put right: \
             {}; run the command again",
            listed.join("; ")
        )))
    }

    fn register(&self, rules: &GuardRules) -> io::Result<Registration> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let name = format!("{process}-{:x}-{number}", CallStart::now().stamped.1);
        let call_path = self.directory.join(name).with_extension(CALL);
        let call = open(&call_path)?;
        lock(&call, FlockOperation::NonBlockingLockExclusive)?;
        let record = GuardCallRecord { rules: rules.clone(), process };
        serde_json::to_writer(io::BufWriter::new(&call), &record)?;
        let roots = serde_json::to_vec(&rules.roots)?;
        let check = ContentHash::of(&roots).as_str().replace(':', "-");
        let check_path = self.directory.join(check);
        let known_path = call_path.with_extension(KNOWN);
        Ok(Registration { call, call_path, known_path, check_path })
    }
}

/// The running calls in the same directories.
enum ConcurrentCalls {
    /// Calls under the same rules, with their baselines.
    Fitting(Vec<BaselineRecord>),
    /// A process guards them by other rules, or is about to scan.
    Busy(u32),
}

impl Registration {
    /// Keeps other processes from checking the same directories at the same time.
    pub(crate) fn lock_check(&self) -> io::Result<File> {
        let file = open(&self.check_path)?;
        lock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }

    /// Removes the record after a complete check.
    pub(crate) fn end(self) -> io::Result<()> {
        remove(&self.known_path)?;
        remove(&self.call_path)?;
        drop(self.call);
        Ok(())
    }

    fn write_known(&self, guard: &ProtectionGuard, since: Option<FileTime>) -> io::Result<()> {
        let record = guard.known_record(since);
        let temporary = self.known_path.with_extension("new");
        remove(&temporary)?;
        serde_json::to_writer(io::BufWriter::new(open(&temporary)?), &record)?;
        std::fs::rename(&temporary, &self.known_path)
    }
}

impl GuardRules {
    fn of(guard: &ProtectionGuard) -> Self {
        let texts = |paths: &[PathBuf]| paths.iter().map(|path| OsText::new(path)).collect();
        let protection = &guard.protection;
        Self {
            roots: texts(&guard.paths),
            paths: texts(&protection.paths),
            beginnings: texts(&protection.beginnings),
            git: protection.git,
            whole_repositories: protection.whole_repositories,
        }
    }

    fn guard(&self) -> io::Result<ProtectionGuard> {
        let paths = |texts: &[OsText]| -> Vec<PathBuf> { texts.iter().map(OsText::path).collect() };
        let protection = Protection {
            paths: paths(&self.paths),
            beginnings: paths(&self.beginnings),
            git: self.git,
            whole_repositories: self.whole_repositories,
            ..Protection::default()
        };
        ProtectionGuard::open(&paths(&self.roots), protection, WalkBounds::default())
    }

    /// Returns true if two guards protect the same paths in common roots. Nested roots never fit.
    fn fit(&self, other: &Self) -> bool {
        let common: Vec<PathBuf> =
            self.roots.iter().filter(|root| other.roots.contains(root)).map(OsText::path).collect();
        let is_common = |root: &OsText| common.contains(&root.path());
        let apart = |one: &Self| -> Vec<PathBuf> {
            one.roots.iter().filter(|root| !is_common(root)).map(OsText::path).collect()
        };
        let lies_in =
            |one: &PathBuf, other: &PathBuf| one.starts_with(other) || other.starts_with(one);
        let (mine, others) = (apart(self), apart(other));
        let is_apart =
            mine.iter().all(|one| others.iter().chain(&common).all(|other| !lies_in(one, other)))
                && others.iter().all(|one| common.iter().all(|other| !lies_in(one, other)));
        // Names are protected under every guard, so a path with one in it makes no difference.
        let told = |texts: &[OsText]| -> BTreeSet<PathBuf> {
            let paths = texts.iter().map(OsText::path);
            let is_told = |path: &PathBuf| {
                common.iter().any(|root| path.strip_prefix(root).is_ok_and(|it| !is_protected(it)))
            };
            paths.filter(is_told).collect()
        };
        is_apart
            && (self.git, self.whole_repositories) == (other.git, other.whole_repositories)
            && told(&self.paths) == told(&other.paths)
            && told(&self.beginnings) == told(&other.beginnings)
    }

    fn overlap(&self, other: &Self) -> bool {
        self.roots.iter().any(|one| {
            let one = one.path();
            other
                .roots
                .iter()
                .map(OsText::path)
                .any(|other| one.starts_with(&other) || other.starts_with(&one))
        })
    }
}

impl ProtectionGuard {
    /// Replaces the baseline of the record's roots by that of the record.
    fn take_over(&mut self, record: &BaselineRecord) {
        let here = |root: usize| {
            let path = record.roots.get(root)?.path();
            self.roots.iter().position(|one| one.path == path)
        };
        let taken: BTreeSet<usize> = (0..record.roots.len()).filter_map(here).collect();
        let places = record.places.iter().filter_map(|one| Some((here(one.root)?, one)));
        let mut places: Vec<(RootedPath, BaselineEntry)> =
            places.map(|(root, one)| one.known(root)).collect();
        for (place, known) in &mut places {
            // A record has no contents. An unchanged file was read just now and can be restored.
            if let Some(now) = self.known.get(place)
                && digest_of(&now.content)
                    .is_some_and(|now| known.content == SavedContent::Digest(now))
            {
                known.content = now.content.clone();
            }
        }
        let explicit: Vec<(RootedPath, ProtectionRole)> = record
            .explicit
            .iter()
            .filter_map(|one| {
                Some((RootedPath { root: here(one.root)?, path: one.path.path() }, one.role))
            })
            .collect();
        // Entries elsewhere are not in the baseline, but must not be written there.
        let present = self.known.iter();
        self.last_scan
            .present
            .extend(present.map(|(place, it)| (place.clone(), (it.role, it.status.kind))));
        self.known.retain(|place, _| !taken.contains(&place.root));
        self.known.extend(places);
        self.sought.explicit.retain(|(place, _)| !taken.contains(&place.root));
        self.sought.explicit.extend(explicit);
        self.directories = None;
    }

    fn known_record(&self, since: Option<FileTime>) -> BaselineRecord {
        let now = CallStart::now().stamped;
        let places = self.known.iter().map(|(place, known)| PathRecord::of(place, known));
        let explicit = self.sought.explicit.iter().map(|(place, role)| ExplicitRecord {
            root: place.root,
            path: OsText::new(&place.path),
            role: *role,
        });
        BaselineRecord {
            roots: self.roots.iter().map(|root| OsText::new(&root.path)).collect(),
            since: since.map_or(now, |since| since.min(now)),
            places: places.collect(),
            explicit: explicit.collect(),
        }
    }
}

fn digest_of(content: &SavedContent) -> Option<ContentHash> {
    match content {
        SavedContent::Bytes(bytes) => Some(ContentHash::of(bytes)),
        SavedContent::Target(target) => Some(ContentHash::of(target.as_bytes())),
        SavedContent::Digest(digest) => Some(digest.clone()),
        SavedContent::Unreadable | SavedContent::Nothing => None,
    }
}

impl PathRecord {
    fn of(place: &RootedPath, known: &BaselineEntry) -> Self {
        let digest = digest_of(&known.content);
        Self {
            root: place.root,
            path: OsText::new(&place.path),
            role: known.role,
            status: known.status.clone(),
            digest,
            is_readable: known.content != SavedContent::Unreadable,
        }
    }

    fn known(&self, root: usize) -> (RootedPath, BaselineEntry) {
        let content = match (&self.digest, self.is_readable) {
            (Some(digest), _) => SavedContent::Digest(digest.clone()),
            (None, true) => SavedContent::Nothing,
            (None, false) => SavedContent::Unreadable,
        };
        let place = RootedPath { root, path: self.path.path() };
        (place, BaselineEntry { role: self.role, status: self.status.clone(), content })
    }
}

fn wait(until: Instant, stop: &CancelToken, process: u32) -> io::Result<()> {
    if stop.is_stopped() {
        return Err(io::Error::new(io::ErrorKind::Interrupted, "it was stopped while it waited"));
    }
    if Instant::now() >= until {
        return Err(io::Error::other(format!(
            "process {process} guards the same directory by other rules; try again when its call has ended"
        )));
    }
    std::thread::sleep(Duration::from_millis(GUARD_LOOK_MS));
    Ok(())
}

fn open(path: &Path) -> io::Result<File> {
    std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn lock(file: &File, operation: FlockOperation) -> io::Result<()> {
    loop {
        match rustix::fs::flock(file, operation) {
            Err(Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

/// Takes a lock if it is free; returns true on success.
fn try_lock(file: &File) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!(
        "the record {path:?} of a guarded call cannot be read: {error}; look at the workspace, then remove the file"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns rules that guard some roots and protect some paths in them.
    fn rules(roots: &[&str], paths: &[&str]) -> GuardRules {
        let texts =
            |paths: &[&str]| paths.iter().map(|path| OsText::new(Path::new(path))).collect();
        GuardRules {
            roots: texts(roots),
            paths: texts(paths),
            beginnings: Vec::new(),
            git: GitAccess::Read,
            whole_repositories: false,
        }
    }

    #[test]
    fn guards_overlap_if_a_directory_of_one_holds_one_of_the_other() {
        for (one, other, expected) in [
            (&["/a"] as &[&str], &["/a"] as &[&str], true),
            (&["/a/b"], &["/a"], true),
            (&["/x", "/a"], &["/a", "/y"], true),
            (&["/a"], &["/b"], false),
            (&["/a"], &["/ab"], false),
            (&["/a", "/b"], &["/c", "/d"], false),
        ] {
            let (one, other) = (rules(one, &[]), rules(other, &[]));
            assert_eq!(one.overlap(&other), expected, "{one:?} {other:?}");
            assert_eq!(other.overlap(&one), expected, "{other:?} {one:?}");
        }
    }

    #[test]
    fn guards_fit_only_with_common_directories_apart_from_all_others() {
        for (one, other, expected) in [
            (&["/a"] as &[&str], &["/a"] as &[&str], true),
            (&["/a", "/x"], &["/a", "/y"], true),
            (&["/a", "/x"], &["/a"], true),
            (&["/a"], &["/a/b"], false),
            (&["/a", "/x"], &["/a", "/x/y"], false),
            (&["/a", "/a/b"], &["/a"], false),
            (&["/a", "/b"], &["/a", "/b", "/b/c"], false),
            (&["/a", "/x", "/z"], &["/a", "/y", "/z/w"], false),
        ] {
            let (one, other) = (rules(one, &[]), rules(other, &[]));
            assert_eq!(one.fit(&other), expected, "{one:?} {other:?}");
            assert_eq!(other.fit(&one), expected, "{other:?} {one:?}");
        }
    }

    #[test]
    fn guards_fit_only_if_they_protect_the_same_in_common_directories() {
        let roots = ["/a", "/b"];
        for (one, other, expected) in [
            (&["/a/no"] as &[&str], &["/a/no"] as &[&str], true),
            (&["/a/no"], &[], false),
            (&["/b/no"], &["/b/yes"], false),
            // Outside of the common directories, or protected by its name in any case.
            (&["/c/no"], &[], true),
            (&["/a/.vscode"], &[], true),
            (&["/a/.vscode/x", "/b/no"], &["/b/no"], true),
        ] {
            let (first, second) = (rules(&roots, one), rules(&roots, other));
            assert_eq!(first.fit(&second), expected, "{one:?} {other:?}");
            assert_eq!(second.fit(&first), expected, "{other:?} {one:?}");
            let begun = |rules: GuardRules| GuardRules {
                beginnings: rules.paths,
                paths: Vec::new(),
                ..rules
            };
            assert_eq!(begun(first).fit(&begun(second)), expected, "{one:?} {other:?}");
        }
        let (same, write) =
            (rules(&roots, &[]), GuardRules { git: GitAccess::Write, ..rules(&roots, &[]) });
        assert!(!same.fit(&write) && !write.fit(&same));
        let whole = GuardRules { whole_repositories: true, ..rules(&roots, &[]) };
        assert!(!same.fit(&whole) && !whole.fit(&same) && whole.fit(&whole));
    }

    #[test]
    fn a_call_that_joins_another_can_put_back_what_stood_there_when_it_began() {
        let scene = tempfile::tempdir().unwrap();
        let root = scene.path().canonicalize().unwrap().join("root");
        let path = root.join("AGENT.md");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(&path, "calm").unwrap();
        let open = || {
            let protection = Protection::default();
            ProtectionGuard::scan(std::slice::from_ref(&root), protection, WalkBounds::default())
                .unwrap()
        };
        let first = open().known_record(None);
        let place = RootedPath { root: 0, path: PathBuf::from("AGENT.md") };
        for (now, expected) in [
            ("calm", SavedContent::Bytes(b"calm".to_vec())),
            ("wild", SavedContent::Digest(ContentHash::of(b"calm"))),
        ] {
            std::fs::write(&path, now).unwrap();
            let mut second = open();
            second.take_over(&first);
            assert_eq!(second.known[&place].content, expected, "{now}");
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        let mut third = open();
        third.take_over(&first);
        assert_eq!(third.known[&place].content, SavedContent::Digest(ContentHash::of(b"calm")));
    }

    /// Some roots beside a registry.
    struct Scene {
        dir: tempfile::TempDir,
        registry: Registry,
    }

    impl Scene {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            for root in ["a", "b"] {
                std::fs::create_dir(dir.path().join(root)).unwrap();
            }
            let registry = Registry::new(&dir.path().join("quarantine"));
            Self { dir, registry }
        }

        fn at(&self, path: &str) -> PathBuf {
            self.dir.path().join(path)
        }

        fn guard(&self, roots: &[&str], paths: &[&str]) -> ProtectionGuard {
            let at = |paths: &[&str]| -> Vec<PathBuf> {
                paths.iter().map(|path| self.at(path)).collect()
            };
            let protection = Protection { paths: at(paths), ..Protection::default() };
            ProtectionGuard::open(&at(roots), protection, WalkBounds::default()).unwrap()
        }

        fn enter(&self, roots: &[&str]) -> io::Result<Registration> {
            self.registry.enter(&mut self.guard(roots, &[]), &CancelToken::new())
        }
    }

    #[test]
    fn a_call_that_was_never_checked_is_checked_before_the_next_begins() {
        let scene = Scene::new();
        drop(scene.enter(&["a"]).unwrap());
        // It had done nothing.
        drop(scene.enter(&["a"]).unwrap());
        std::fs::write(scene.at("a/.envrc"), "planted").unwrap();
        // In other directories the unchecked call does not matter.
        scene.enter(&["b"]).unwrap().end().unwrap();
        let error = scene.enter(&["a"]).unwrap_err();
        assert!(error.to_string().contains("was never checked"), "{error}");
        assert!(!scene.at("a/.envrc").exists());
        scene.enter(&["a"]).unwrap().end().unwrap();
    }

    #[test]
    fn a_record_that_cannot_be_read_is_removed_only_if_its_call_never_began() {
        for (has_known, is_locked, is_removed) in
            [(false, false, true), (true, false, false), (false, true, false)]
        {
            let scene = Scene::new();
            let path = scene.at("guarded/1.call");
            std::fs::create_dir(scene.at("guarded")).unwrap();
            std::fs::write(&path, "{").unwrap();
            if has_known {
                std::fs::write(path.with_extension(KNOWN), "{}").unwrap();
            }
            let file = open(&path).unwrap();
            if is_locked {
                lock(&file, FlockOperation::LockExclusive).unwrap();
            }
            let entered = scene.enter(&["a"]).map(drop);
            assert_eq!(entered.is_ok(), is_removed, "{has_known} {is_locked}");
            assert_eq!(path.exists(), !is_removed, "{has_known} {is_locked}");
        }
    }

    #[test]
    fn a_call_counts_from_the_earliest_of_the_calls_that_run() {
        let scene = Scene::new();
        let first = scene.enter(&["a"]).unwrap();
        first.write_known(&scene.guard(&["a"], &[]), Some((1, 0))).unwrap();
        let second = scene.enter(&["b"]).unwrap();
        let both = scene.enter(&["a", "b"]).unwrap();
        let since = |of: &Registration| read::<BaselineRecord>(&of.known_path).unwrap().since;
        assert_eq!((since(&first), since(&both)), ((1, 0), (1, 0)));
        assert!(since(&second) > (1, 0));
        // A clock that was set back since is no reason to begin later.
        let later = scene.guard(&["a"], &[]).known_record(Some((i128::MAX, 0)));
        assert!(later.since < (i128::MAX, 0));
    }

    #[test]
    fn paths_are_taken_over_for_the_roots_of_a_record_only() {
        let scene = Scene::new();
        let record = scene.guard(&["a"], &["a/theirs"]).known_record(None);
        let mut guard = scene.guard(&["a", "b"], &["a/own", "b/own"]);
        guard.take_over(&record);
        let place = |root: usize, path: &str| {
            (RootedPath { root, path: path.into() }, ProtectionRole::Protected)
        };
        assert_eq!(guard.sought.explicit, [place(1, "own"), place(0, "theirs")]);
    }

    #[test]
    fn only_a_record_that_is_gone_already_need_not_be_removed() {
        let scene = Scene::new();
        remove(&scene.at("missing")).unwrap();
        remove(&scene.at("a")).unwrap_err();
    }

    #[test]
    fn a_place_is_recorded_with_what_is_known_of_its_content() {
        let known = |content: SavedContent| {
            let status = super::super::dir::status(rustix::fs::CWD, c"/").unwrap().unwrap();
            BaselineEntry { role: ProtectionRole::Protected, status, content }
        };
        let place = RootedPath { root: 3, path: PathBuf::from("a") };
        for (content, expected) in [
            (SavedContent::Bytes(b"x".to_vec()), SavedContent::Digest(ContentHash::of(b"x"))),
            (
                SavedContent::Digest(ContentHash::of(b"y")),
                SavedContent::Digest(ContentHash::of(b"y")),
            ),
            (SavedContent::Nothing, SavedContent::Nothing),
            (SavedContent::Unreadable, SavedContent::Unreadable),
        ] {
            let record = PathRecord::of(&place, &known(content));
            let text = serde_json::to_string(&record).unwrap();
            let record: PathRecord = serde_json::from_str(&text).unwrap();
            let (there, known) = record.known(1);
            assert_eq!((there.root, there.path.as_path()), (1, Path::new("a")));
            assert_eq!(known.content, expected);
        }
    }
}
