//! Watches over what is protected while a command runs: once before it, once after it.
//!
//! Must never: let a command begin that nobody watches, or leave what it did to something protected untold.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::{Confinement, Level};

use crate::protect::{Checked, Guard, Mark, Names, Protection, Registration, Registry, WalkBounds};
use crate::stop::Stop;
use crate::view;

/// One guard for each confinement; all processes know of its calls by the registry.
pub(crate) struct Watches {
    registry: Registry,
    /// Whether protected files can be mounted read-only; otherwise they are compared.
    has_mounts: bool,
    guards: Mutex<HashMap<ContentHash, Arc<Mutex<RegisteredGuard>>>>,
}

/// A guard, and the record of its calls while one runs.
struct RegisteredGuard {
    guard: Guard,
    registration: Option<Registration>,
}

/// A call during which nothing protected may change.
pub(crate) struct Watch {
    registered: Arc<Mutex<RegisteredGuard>>,
    mark: Mark,
    /// What may not be written while it lasts.
    pub(crate) protected: Vec<PathBuf>,
    /// The secret files in writable directories; none if another process scanned them.
    pub(crate) secrets: Option<Vec<PathBuf>>,
}

impl Watches {
    /// Keeps the records of calls beside the quarantine.
    pub(crate) fn new(quarantine: &Path, level: Level) -> Self {
        let has_mounts = level != Level::Landlock;
        Self { registry: Registry::new(quarantine), has_mounts, guards: Mutex::default() }
    }

    fn protection(&self, confinement: &Confinement) -> Protection {
        Protection { whole_repositories: !self.has_mounts, ..protection(confinement) }
    }

    /// Begins to watch; nothing can be written where nothing may be.
    pub(crate) fn begin(
        &self,
        confinement: &Confinement,
        stop: &Stop,
    ) -> io::Result<Option<Watch>> {
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
                // Nothing ran, so there is nothing to be checked.
                if !held.guard.has_open_calls() {
                    held.registration.take().map(Registration::end).transpose()?;
                }
                return Err(error);
            }
        };
        let protected = with_denied(held.guard.mounts(), confinement);
        let secrets = held.guard.secrets().map(<[PathBuf]>::to_vec);
        drop(held);
        Ok(Some(Watch { registered, mark, protected, secrets }))
    }
}

impl Watch {
    /// Puts right what is not, and says what it was.
    pub(crate) fn end(self, quarantine: &Path) -> Vec<String> {
        let mut held = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        match checked(&mut held, &self.mark, quarantine) {
            Ok(checked) => {
                let violations = checked.violations.iter().map(ToString::to_string);
                let more = (checked.unlisted > 0)
                    .then(|| format!("and {} more protected files", checked.unlisted));
                let incomplete = checked.incomplete.map(unsafe_workspace);
                violations.chain(more).chain(incomplete).collect()
            }
            Err(error) => {
                // The record stays, and the next call checks first.
                held.registration = None;
                vec![unsafe_workspace(error.to_string())]
            }
        }
    }
}

/// Makes the check, and ends the record if all is in order and no other call runs.
fn checked(held: &mut RegisteredGuard, mark: &Mark, quarantine: &Path) -> io::Result<Checked> {
    std::fs::create_dir_all(quarantine)?;
    let lock = held.registration.as_ref().map(Registration::lock_check).transpose()?;
    let checked = held.guard.check(mark, quarantine)?;
    drop(lock);
    if !held.guard.has_open_calls() {
        // Without its end the record stays, and the next call checks first.
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

/// What is protected just now, for somebody who only writes what is not.
pub(crate) fn protected(confinement: &Confinement) -> io::Result<Vec<PathBuf>> {
    let known = match confinement.allow_write.is_empty() {
        true => Vec::new(),
        false => {
            let mut guard = unlearnt(confinement)?;
            guard.learn()?;
            if let Some(reason) = guard.incomplete() {
                return Err(io::Error::other(format!(
                    "not every file could be looked at for protected ones: {reason}"
                )));
            }
            guard.mounts()
        }
    };
    Ok(with_denied(known, confinement))
}

fn with_denied(mut paths: Vec<PathBuf>, confinement: &Confinement) -> Vec<PathBuf> {
    paths.extend(view::expand(&confinement.deny_write));
    paths.sort();
    paths.dedup();
    paths
}

fn unlearnt(confinement: &Confinement) -> io::Result<Guard> {
    let roots: Vec<PathBuf> = confinement.allow_write.iter().map(PathBuf::from).collect();
    Guard::open(&roots, protection(confinement), WalkBounds::default())
}

fn protection(confinement: &Confinement) -> Protection {
    // `dir/*` means everything in a directory, `dir/name*` what begins so there.
    let literal = |entry: &String| entry.strip_suffix("/*").map_or(entry.clone(), str::to_owned);
    let denied: Vec<String> = confinement.deny_write.iter().map(literal).collect();
    let named = denied.iter().filter(|entry| !entry.ends_with('*'));
    let begun = denied.iter().filter_map(|entry| entry.strip_suffix('*'));
    // What is hidden must stay where it is: by another name the next call would see it.
    let hidden = view::expand(&confinement.deny_read).into_iter().filter(|path| path.exists());
    Protection {
        names: Names::default(),
        paths: named.map(PathBuf::from).chain(hidden).collect(),
        beginnings: begun.map(PathBuf::from).collect(),
        secrets: confinement.deny_read.clone(),
        git: confinement.git,
        whole_repositories: false,
    }
}
