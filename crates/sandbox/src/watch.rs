//! Guards the protected files while a command runs: a scan before it, a check after it.
//!
//! Must never: let a command begin unguarded, or leave a change to a protected file unreported.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::{Confinement, ConfinementLevel};

use crate::cancel::CancelToken;
use crate::fs_view;
use crate::protect::{
    GuardReport, GuardedCall, ProtectedNames, Protection, ProtectionGuard, Registration, Registry,
    WalkBounds,
};

/// One guard for each confinement; the registry shows its calls to all processes.
pub(crate) struct ProtectionWatcher {
    registry: Registry,
    /// True if protected files can be mounted read-only; otherwise they are compared.
    has_mounts: bool,
    guards: Mutex<HashMap<ContentHash, Arc<Mutex<RegisteredGuard>>>>,
}

/// A guard, and the record of its calls while one runs.
struct RegisteredGuard {
    guard: ProtectionGuard,
    registration: Option<Registration>,
}

/// A call during which no protected file may change.
pub(crate) struct ProtectionWatch {
    registered: Arc<Mutex<RegisteredGuard>>,
    mark: GuardedCall,
    /// The paths that are read-only during the call.
    pub(crate) protected: Vec<PathBuf>,
    /// The secret files in writable directories; None if another process scanned them.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only mounts need them"))]
    pub(crate) secrets: Option<Vec<PathBuf>>,
}

impl ProtectionWatcher {
    /// Keeps the records of calls beside the quarantine.
    pub(crate) fn new(quarantine: &Path, level: ConfinementLevel) -> Self {
        let has_mounts = level != ConfinementLevel::Landlock;
        Self { registry: Registry::new(quarantine), has_mounts, guards: Mutex::default() }
    }

    fn protection(&self, confinement: &Confinement) -> Protection {
        Protection { whole_repositories: !self.has_mounts, ..protection(confinement) }
    }

    /// Begins a guarded call; None if the confinement has no writable paths.
    pub(crate) fn begin(
        &self,
        confinement: &Confinement,
        stop: &CancelToken,
    ) -> io::Result<Option<ProtectionWatch>> {
        if confinement.allow_write.is_empty() {
            return Ok(None);
        }
        let mut guards = self.guards.lock().unwrap_or_else(PoisonError::into_inner);
        let registered = match guards.entry(confinement.hash()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => {
                let registered =
                    RegisteredGuard { guard: unlearnt(confinement)?, registration: None };
                new.insert(Arc::new(Mutex::new(registered))).clone()
            }
        };
        drop(guards);
        let mut held = registered.lock().unwrap_or_else(PoisonError::into_inner);
        if held.registration.is_none() {
            held.guard.protect(self.protection(confinement));
            held.registration = Some(self.registry.enter(&mut held.guard, stop)?);
        }
        let mark = match held.guard.join() {
            Ok(mark) => mark,
            Err(error) => {
                // Nothing ran, so there is nothing to check.
                if !held.guard.has_open_calls() {
                    held.registration.take().map(Registration::end).transpose()?;
                }
                return Err(error);
            }
        };
        let protected = with_denied(held.guard.mounts(), confinement);
        let secrets = held.guard.secrets().map(<[PathBuf]>::to_vec);
        drop(held);
        Ok(Some(ProtectionWatch { registered, mark, protected, secrets }))
    }
}

impl ProtectionWatch {
    /// Checks and repairs the files, and returns a text for each violation.
    pub(crate) fn end(self, quarantine: &Path) -> Vec<String> {
        let mut held = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        match checked(&mut held, &self.mark, quarantine) {
            Ok(checked) => lines(checked),
            Err(error) => {
                // The record stays, and the next call checks first.
                held.registration = None;
                vec![unsafe_workspace(error.to_string())]
            }
        }
    }
}

/// The result of a check while a call goes on.
pub(crate) struct RunningCheck {
    /// A text for each violation.
    pub(crate) violations: Vec<String>,
    /// True if every file could be checked.
    pub(crate) is_complete: bool,
}

impl ProtectionWatch {
    /// Checks and repairs the files while the call goes on.
    pub(crate) fn check(&self, quarantine: &Path) -> RunningCheck {
        let mut held = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        match checked_running(&mut held, quarantine) {
            Ok(checked) => {
                let is_complete = checked.incomplete.is_none();
                RunningCheck { violations: lines(checked), is_complete }
            }
            Err(error) => {
                let violations = vec![unsafe_workspace(error.to_string())];
                RunningCheck { violations, is_complete: false }
            }
        }
    }
}

fn checked_running(held: &mut RegisteredGuard, quarantine: &Path) -> io::Result<GuardReport> {
    std::fs::create_dir_all(quarantine)?;
    let _lock = held.registration.as_ref().map(Registration::lock_check).transpose()?;
    held.guard.check_running(quarantine)
}

fn lines(checked: GuardReport) -> Vec<String> {
    let violations = checked.violations.iter().map(ToString::to_string);
    let more =
        (checked.unlisted > 0).then(|| format!("and {} more protected files", checked.unlisted));
    let incomplete = checked.incomplete.map(unsafe_workspace);
    violations.chain(more).chain(incomplete).collect()
}

/// Makes the check, and ends the record if it is complete and no other call runs.
fn checked(
    held: &mut RegisteredGuard,
    mark: &GuardedCall,
    quarantine: &Path,
) -> io::Result<GuardReport> {
    std::fs::create_dir_all(quarantine)?;
    let lock = held.registration.as_ref().map(Registration::lock_check).transpose()?;
    let checked = held.guard.check(mark, quarantine)?;
    drop(lock);
    if !held.guard.has_open_calls() {
        // If it is not ended, the record stays, and the next call checks first.
        let registration = held.registration.take();
        if checked.incomplete.is_none() {
            registration.map(Registration::end).transpose()?;
        }
    }
    Ok(checked)
}

fn unsafe_workspace(reason: String) -> String {
    format!(
        "not every file could be checked for changes to protected ones: {reason}; no other call runs here until \
         that is possible"
    )
}

/// Returns the protected paths of this moment, for a role that writes only unprotected files.
pub(crate) fn protected(confinement: &Confinement) -> io::Result<Vec<PathBuf>> {
    let known = if confinement.allow_write.is_empty() {
        Vec::new()
    } else {
        let mut guard = unlearnt(confinement)?;
        guard.learn()?;
        if let Some(reason) = guard.incomplete() {
            return Err(io::Error::other(format!(
                "not every file could be looked at for protected ones: {reason}"
            )));
        }
        guard.mounts()
    };
    Ok(with_denied(known, confinement))
}

fn with_denied(mut paths: Vec<PathBuf>, confinement: &Confinement) -> Vec<PathBuf> {
    paths.extend(fs_view::expand(&confinement.deny_write));
    paths.sort();
    paths.dedup();
    paths
}

fn unlearnt(confinement: &Confinement) -> io::Result<ProtectionGuard> {
    let roots: Vec<PathBuf> = confinement.allow_write.iter().map(PathBuf::from).collect();
    ProtectionGuard::open(&roots, protection(confinement), WalkBounds::default())
}

fn protection(confinement: &Confinement) -> Protection {
    // `dir/*` means everything in a directory, `dir/name*` the names with that prefix.
    let literal = |entry: &String| entry.strip_suffix("/*").map_or(entry.clone(), str::to_owned);
    let denied: Vec<String> = confinement.deny_write.iter().map(literal).collect();
    let named = denied.iter().filter(|entry| !entry.ends_with('*'));
    let begun = denied.iter().filter_map(|entry| entry.strip_suffix('*'));
    // Hidden files must not be renamed: the next call would see them under another name.
    let hidden = fs_view::expand(&confinement.deny_read).into_iter().filter(|path| path.exists());
    Protection {
        names: ProtectedNames::default(),
        paths: named.map(PathBuf::from).chain(hidden).collect(),
        beginnings: begun.map(PathBuf::from).collect(),
        secrets: confinement.deny_read.clone(),
        git: confinement.git,
        whole_repositories: false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A writable directory beside a quarantine.
    struct Scene {
        dir: tempfile::TempDir,
    }

    impl Scene {
        fn new(files: &[&str]) -> Self {
            let scene = Self { dir: tempfile::tempdir().unwrap() };
            fs::create_dir(scene.at("")).unwrap();
            for file in files {
                fs::create_dir_all(scene.at(file).parent().unwrap()).unwrap();
                fs::write(scene.at(file), "").unwrap();
            }
            scene
        }

        fn at(&self, path: &str) -> PathBuf {
            self.dir.path().canonicalize().unwrap().join("root").join(path)
        }

        fn texts(&self, paths: &[&str]) -> Vec<String> {
            paths.iter().map(|path| self.at(path).to_str().unwrap().to_owned()).collect()
        }

        fn quarantine(&self) -> PathBuf {
            self.dir.path().join("quarantine")
        }

        fn confinement(&self) -> Confinement {
            let root = self.at("").to_str().unwrap().trim_end_matches('/').to_owned();
            Confinement { allow_write: vec![root], ..Confinement::most_restricted() }
        }

        fn watches(&self, level: ConfinementLevel) -> ProtectionWatcher {
            ProtectionWatcher::new(&self.quarantine(), level)
        }

        /// Returns the number of calls that are recorded.
        fn calls(&self) -> usize {
            let records = self.dir.path().join("guarded").read_dir().unwrap();
            let is_call = |path: &PathBuf| path.extension().is_some_and(|it| it == "call");
            records.map(|entry| entry.unwrap().path()).filter(is_call).count()
        }
    }

    fn begin(
        watches: &ProtectionWatcher,
        confinement: &Confinement,
    ) -> io::Result<ProtectionWatch> {
        Ok(watches.begin(confinement, &CancelToken::new())?.expect("something may be written"))
    }

    #[test]
    fn a_repository_is_compared_as_a_whole_where_nothing_can_be_mounted() {
        for (level, expected) in [
            (ConfinementLevel::Ns, 0),
            (ConfinementLevel::Bwrap, 0),
            (ConfinementLevel::Landlock, 1),
        ] {
            let scene = Scene::new(&[".git/config"]);
            let watches = scene.watches(level);
            let watch = begin(&watches, &scene.confinement()).unwrap();
            fs::create_dir(scene.at(".git/objects")).unwrap();
            assert_eq!(watch.end(&scene.quarantine()).len(), expected, "{level:?}");
        }
    }

    #[test]
    fn nothing_is_watched_where_nothing_may_be_written() {
        let scene = Scene::new(&[]);
        let watch = scene
            .watches(ConfinementLevel::Ns)
            .begin(&Confinement::most_restricted(), &CancelToken::new());
        assert!(watch.unwrap().is_none());
        assert_eq!(protected(&Confinement::most_restricted()).unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_watch_knows_what_is_protected_and_what_is_hidden() {
        let scene = Scene::new(&[".envrc", "sub/.env", "plain"]);
        let confinement = Confinement {
            deny_read: scene.texts(&["**/.env"]),
            deny_write: scene.texts(&["plain"]),
            ..scene.confinement()
        };
        let watches = scene.watches(ConfinementLevel::Ns);
        let watch = begin(&watches, &confinement).unwrap();
        let expected = [".envrc", "plain"].map(|path| scene.at(path));
        assert_eq!(watch.protected, expected);
        assert_eq!(protected(&confinement).unwrap(), expected);
        assert_eq!(watch.secrets.as_deref(), Some(&[scene.at("sub/.env")] as &[PathBuf]));
        assert_eq!(watch.end(&scene.quarantine()), Vec::<String>::new());
    }

    #[test]
    fn denied_entries_become_paths_and_beginnings() {
        let scene = Scene::new(&["key", "name1"]);
        let confinement = Confinement {
            deny_read: scene.texts(&["key", "missing"]),
            deny_write: scene.texts(&["all/*", "name*", "plain"]),
            ..scene.confinement()
        };
        let protection = protection(&confinement);
        assert_eq!(protection.paths, ["all", "plain", "key"].map(|path| scene.at(path)));
        assert_eq!(protection.beginnings, [scene.at("name")]);
    }

    #[test]
    fn calls_that_overlap_share_a_record_until_the_last_one_ends() {
        let scene = Scene::new(&[]);
        let (watches, confinement) = (scene.watches(ConfinementLevel::Ns), scene.confinement());
        let first = begin(&watches, &confinement).unwrap();
        let second = begin(&watches, &confinement).unwrap();
        fs::write(scene.at(".envrc"), "planted").unwrap();
        assert_eq!(first.end(&scene.quarantine()).len(), 1);
        assert_eq!(scene.calls(), 1);
        assert_eq!(second.end(&scene.quarantine()).len(), 0);
        assert_eq!(scene.calls(), 0);
    }

    #[test]
    fn a_check_that_could_not_be_finished_is_made_before_the_next_call() {
        let scene = Scene::new(&[]);
        let (watches, confinement) = (scene.watches(ConfinementLevel::Ns), scene.confinement());
        let watch = begin(&watches, &confinement).unwrap();
        fs::write(scene.at(".envrc"), "planted").unwrap();
        // A link in place of the quarantine is never used.
        std::os::unix::fs::symlink(scene.dir.path(), scene.quarantine()).unwrap();
        let told = watch.end(&scene.quarantine());
        assert!(told[1].contains("no other call runs here"), "{told:?}");
        assert_eq!(scene.calls(), 1);
        begin(&watches, &confinement).map(drop).unwrap_err();
        fs::remove_file(scene.quarantine()).unwrap();
        let error = begin(&watches, &confinement).map(drop).unwrap_err();
        assert!(error.to_string().contains("was never checked"), "{error}");
        assert!(!scene.at(".envrc").exists());
        let watch = begin(&watches, &confinement).unwrap();
        assert_eq!(watch.end(&scene.quarantine()), Vec::<String>::new());
    }

    #[test]
    fn a_call_that_does_not_begin_leaves_no_record() {
        let scene = Scene::new(&[]);
        // Deeper than a scan of protected directories goes.
        fs::create_dir_all(scene.at(".idea").join("d/".repeat(200))).unwrap();
        let (watches, confinement) = (scene.watches(ConfinementLevel::Ns), scene.confinement());
        begin(&watches, &confinement).map(drop).unwrap_err();
        assert_eq!(scene.calls(), 0);
        protected(&confinement).unwrap_err();
        fs::remove_dir_all(scene.at(".idea")).unwrap();
        let running = begin(&watches, &confinement).unwrap();
        fs::create_dir_all(scene.at(".idea").join("d/".repeat(200))).unwrap();
        // Another one runs, and its record must stay.
        begin(&watches, &confinement).map(drop).unwrap_err();
        assert_eq!(scene.calls(), 1);
        running.end(&scene.quarantine());
    }
}
