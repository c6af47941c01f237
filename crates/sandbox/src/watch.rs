//! Looks at what is protected before a call and after it, on every system.
//!
//! Must never: let a call end without a look at what it did.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::Confinement;

use crate::child::Error;
use crate::protect::{Guard, Mark, Names, Protection, WalkBounds};
use crate::view;

/// What is known of the protected files of each confinement.
#[derive(Default)]
pub(crate) struct Watches {
    guards: Mutex<HashMap<ContentHash, Arc<Mutex<Guard>>>>,
}

/// A call during which nothing protected may change.
pub(crate) struct Watch {
    guard: Arc<Mutex<Guard>>,
    mark: Mark,
    pub(crate) protected: Vec<PathBuf>,
}

impl Watches {
    /// Looks for what is protected in what may be written.
    pub(crate) fn begin(&self, confinement: &Confinement) -> Result<Option<Watch>, Error> {
        if confinement.allow_write.is_empty() {
            return Ok(None);
        }
        let mut guards = self.guards.lock().unwrap_or_else(PoisonError::into_inner);
        let guard = match guards.entry(confinement.hash()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => {
                let guard = guard(confinement).map_err(broken("look for protected files"))?;
                new.insert(Arc::new(Mutex::new(guard))).clone()
            }
        };
        drop(guards);
        let mut held = guard.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = held.begin().map_err(broken("look for protected files"))?;
        let mut protected = held.mounts();
        drop(held);
        protected.extend(view::expand(&confinement.deny_write));
        protected.sort();
        protected.dedup();
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

/// What is protected just now.
pub(crate) fn protected(confinement: &Confinement) -> Result<Vec<PathBuf>, Error> {
    let mut protected = view::expand(&confinement.deny_write);
    if !confinement.allow_write.is_empty() {
        let guard = guard(confinement).map_err(broken("look for protected files"))?;
        protected.extend(guard.mounts());
    }
    protected.sort();
    protected.dedup();
    Ok(protected)
}

fn guard(confinement: &Confinement) -> io::Result<Guard> {
    let roots: Vec<PathBuf> = confinement.allow_write.iter().map(PathBuf::from).collect();
    let named = confinement.deny_write.iter().filter(|entry| !entry.ends_with('*'));
    let protection = Protection {
        names: Names::default(),
        paths: named.map(PathBuf::from).collect(),
        git: confinement.git,
    };
    Guard::look(&roots, protection, WalkBounds::default())
}

/// Names the step that could not be done.
pub(crate) fn broken(step: &'static str) -> impl Fn(io::Error) -> Error {
    move |reason| Error::Sandbox { step: step.to_owned(), reason: reason.to_string() }
}
