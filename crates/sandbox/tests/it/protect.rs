//! What is protected in writable roots, with a test in the part of the attacker.

mod bounds;
mod git;
mod kept;
mod moved;
#[cfg(target_os = "linux")]
mod ordinary;
mod planted;
mod quarantine;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use agentry_protocol::confinement::GitAccess;
use agentry_sandbox::protect::{
    GuardReport, Protection, ProtectionGuard, ProtectionViolation, ViolationKind, WalkBounds,
};

use crate::make_fifo;

/// A writable root and a quarantine beside it.
struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("root")).unwrap();
        Self { dir }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("root")
    }

    fn quarantine(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("quarantine")
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    fn is_there(&self, path: &str) -> bool {
        self.at(path).symlink_metadata().is_ok()
    }

    fn guard(&self, git: GitAccess) -> ProtectionGuard {
        self.guard_with(Protection { git, ..Protection::default() })
    }

    fn guard_with(&self, protection: Protection) -> ProtectionGuard {
        ProtectionGuard::scan(&[self.root()], protection, WalkBounds::default()).unwrap()
    }

    /// One call, from its beginning to what its check says.
    fn call(&self, guard: &mut ProtectionGuard, attack: impl FnOnce()) -> Vec<ProtectionViolation> {
        let checked = self.whole_call(guard, attack);
        assert_eq!(checked.incomplete, None);
        checked.violations
    }

    fn whole_call(&self, guard: &mut ProtectionGuard, attack: impl FnOnce()) -> GuardReport {
        let mark = guard.begin().unwrap();
        attack();
        guard.check(&mark, &self.quarantine()).unwrap()
    }

    /// The clock of files is coarse; this returns when it has moved on.
    fn wait_for_the_clock(&self) {
        let stamp = || {
            let probe = tempfile::NamedTempFile::new_in(self.dir.path()).unwrap();
            probe.as_file().metadata().unwrap().modified().unwrap()
        };
        let before = stamp();
        // Two steps and more on any system.
        while stamp() < before + std::time::Duration::from_millis(25) {}
    }

    /// Nothing is left to say by a call that does nothing.
    #[track_caller]
    fn is_at_rest(&self, guard: &mut ProtectionGuard) {
        assert_eq!(self.call(guard, || ()), []);
    }
}

/// What was done to which place, and whether it was put right.
#[track_caller]
fn told(violations: &[ProtectionViolation], root: &Path) -> Vec<(String, &'static str, bool)> {
    violations
        .iter()
        .map(|violation| {
            let what = match violation.what {
                ViolationKind::Planted => "planted",
                ViolationKind::Changed => "changed",
                ViolationKind::Moved { .. } => "moved",
                ViolationKind::Removed => "removed",
            };
            let path = violation.path.strip_prefix(root).unwrap();
            (path.to_string_lossy().into_owned(), what, violation.restored)
        })
        .collect()
}

fn one(path: &str, what: &'static str) -> Vec<(String, &'static str, bool)> {
    vec![(path.to_owned(), what, true)]
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
