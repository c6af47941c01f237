//! Guards the files of a long-lived program while it runs.
//!
//! A command is checked when it ends. A long-lived program ends late, so it is checked every few
//! seconds, on request, and at its end. All checks compare with the files before its start. If
//! the program could not be confined any more as it should, it must be ended.
//!
//! Must never: let a program go on after a check that could not be finished, or leave a finding
//! unreported.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::cancel::CancelToken;
use crate::limits::{CHILD_CHECK_MS_MIN, CHILD_CHECK_PAUSE_FACTOR};
use crate::watch::ProtectionWatch;

/// Takes a line for each finding.
pub(crate) type ViolationRecorder = Arc<dyn Fn(&str) + Send + Sync>;

/// Returns the paths to hide at this moment.
pub(crate) type HiddenPathFinder = Box<dyn Fn() -> io::Result<Vec<PathBuf>> + Send + Sync>;

/// The guard of one long-lived program.
pub(crate) struct ChildGuard {
    /// None if there is nothing to protect, or the last check was made.
    watch: Mutex<Option<ProtectionWatch>>,
    quarantine: PathBuf,
    hidden: Option<HiddenPaths>,
    violated: ViolationRecorder,
}

/// The paths that are hidden from a program.
struct HiddenPaths {
    /// The paths that existed when the sandbox was built; only they could be hidden.
    known: BTreeSet<PathBuf>,
    find: HiddenPathFinder,
}

impl ChildGuard {
    /// Returns the guard of a program without a sandbox, which has no protected files.
    pub(crate) fn none() -> Self {
        Self::new(None, PathBuf::new(), Arc::new(|_| ()))
    }

    /// Takes over the watch of a call that is about to begin.
    pub(crate) fn new(
        watch: Option<ProtectionWatch>,
        quarantine: PathBuf,
        violated: ViolationRecorder,
    ) -> Self {
        Self { watch: Mutex::new(watch), quarantine, hidden: None, violated }
    }

    /// Also looks for paths that must be hidden but were not there when these were found.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "seatbelt hides by name"))]
    pub(crate) fn with_hidden(self, known: &[PathBuf], find: HiddenPathFinder) -> Self {
        let known = existing(known.to_vec()).collect();
        Self { hidden: Some(HiddenPaths { known, find }), ..self }
    }

    /// Returns true if there is anything to check.
    pub(crate) fn is_needed(&self) -> bool {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.is_some() || self.hidden.is_some()
    }

    /// Checks and repairs the protected files, and looks for files that must be hidden. Returns
    /// false if the program must be ended.
    pub(crate) fn check(&self) -> bool {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let checked = watch.as_ref().map(|watch| watch.check(&self.quarantine));
        drop(watch);
        let is_complete = checked.is_none_or(|checked| {
            self.report_all(&checked.violations);
            checked.is_complete
        });
        let exposed = self.hidden.as_ref().and_then(HiddenPaths::exposure);
        self.report_all(exposed.as_slice());
        is_complete && exposed.is_none()
    }

    /// Checks again and again until the program is over; returns early if it must be ended.
    pub(crate) fn check_regularly(&self, over: &CancelToken) {
        let mut pause = Duration::from_millis(CHILD_CHECK_MS_MIN);
        while !over.wait(pause) {
            let start = Instant::now();
            if !self.check() {
                return;
            }
            let rest = start.elapsed().saturating_mul(CHILD_CHECK_PAUSE_FACTOR);
            pause = rest.max(Duration::from_millis(CHILD_CHECK_MS_MIN));
        }
    }

    /// Makes the last check, once; the processes of the program must be gone.
    pub(crate) fn end(&self) {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(watch) = watch {
            self.report_all(&watch.end(&self.quarantine));
        }
    }

    /// Reports a finding.
    pub(crate) fn report(&self, line: &str) {
        (self.violated)(line);
    }

    fn report_all(&self, lines: &[String]) {
        for line in lines {
            self.report(line);
        }
    }
}

impl HiddenPaths {
    /// Returns the reason why the program may see a file that it should not; None if there is none.
    fn exposure(&self) -> Option<String> {
        match (self.find)() {
            Ok(found) => {
                let path = existing(found).find(|path| !self.known.contains(path))?;
                Some(format!(
                    "{path:?} must be hidden, but is newer than the sandbox of a program that could \
                     read it; the program is ended, start it again"
                ))
            }
            Err(error) => Some(format!(
                "not every file could be looked at for hidden ones: {error}; the program is ended, \
                 start it again when that is possible"
            )),
        }
    }
}

/// Returns the paths that exist: what is not there cannot be hidden.
fn existing(paths: Vec<PathBuf>) -> impl Iterator<Item = PathBuf> {
    paths.into_iter().filter(|path| path.symlink_metadata().is_ok())
}
