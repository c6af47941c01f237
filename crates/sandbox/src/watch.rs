//! Watches over what is protected while a command runs: once before it, once after it.
//!
//! Must never: let a command begin that nobody watches, or leave what it did to something protected untold.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::Confinement;

use crate::protect::{Guard, Mark, Names, Protection, WalkBounds};
use crate::view;

/// One guard for each confinement, so that what was known stays known from call to call.
#[derive(Default)]
pub(crate) struct Watches(Mutex<HashMap<ContentHash, Arc<Mutex<Guard>>>>);

/// A call during which nothing protected may change.
pub(crate) struct Watch {
    guard: Arc<Mutex<Guard>>,
    mark: Mark,
    /// What may not be written while it lasts.
    pub(crate) protected: Vec<PathBuf>,
}

impl Watches {
    /// Begins to watch; nothing can be written where nothing may be.
    pub(crate) fn begin(&self, confinement: &Confinement) -> io::Result<Option<Watch>> {
        if confinement.allow_write.is_empty() {
            return Ok(None);
        }
        let mut guards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let guard = match guards.entry(confinement.hash()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => new.insert(Arc::new(Mutex::new(guard(confinement)?))).clone(),
        };
        drop(guards);
        let mut held = guard.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = held.begin()?;
        let protected = with_denied(held.mounts(), confinement);
        drop(held);
        Ok(Some(Watch { guard, mark, protected }))
    }
}

impl Watch {
    /// Puts right what is not, and says what it was.
    pub(crate) fn end(self, quarantine: &Path) -> Vec<String> {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let made = std::fs::create_dir_all(quarantine);
        match made.and_then(|()| guard.check(&self.mark, quarantine)) {
            Ok(checked) => {
                let violations = checked.violations.iter().map(ToString::to_string);
                let incomplete = checked.incomplete.map(|why| {
                    format!("not every file was looked at for changes to protected ones: {why}")
                });
                violations.chain(incomplete).collect()
            }
            Err(error) => vec![format!("protected files could not be looked at: {error}")],
        }
    }
}

/// What is protected just now, for somebody who only writes what is not.
pub(crate) fn protected(confinement: &Confinement) -> io::Result<Vec<PathBuf>> {
    let known = match confinement.allow_write.is_empty() {
        true => Vec::new(),
        false => guard(confinement)?.mounts(),
    };
    Ok(with_denied(known, confinement))
}

fn with_denied(mut paths: Vec<PathBuf>, confinement: &Confinement) -> Vec<PathBuf> {
    paths.extend(view::expand(&confinement.deny_write));
    paths.sort();
    paths.dedup();
    paths
}

fn guard(confinement: &Confinement) -> io::Result<Guard> {
    let roots: Vec<PathBuf> = confinement.allow_write.iter().map(PathBuf::from).collect();
    let named =
        confinement.deny_write.iter().filter(|entry| !entry.ends_with('*')).map(PathBuf::from);
    // What is hidden must stay where it is: by another name the next call would see it.
    let hidden = view::expand(&confinement.deny_read).into_iter().filter(|path| path.exists());
    let protection = Protection {
        names: Names::default(),
        paths: named.chain(hidden).collect(),
        git: confinement.git,
    };
    Guard::look(&roots, protection, WalkBounds::default())
}
