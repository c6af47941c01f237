//! Runs commands in sandboxes of supervisors that are processes of their own, as any user, on a machine where
//! anything may be refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agentry_protocol::confinement::{Confinement, ConfinementLevel};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A number that belongs to nobody on most machines.
const ORDINARY: &str = "65534";

/// Who runs the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Ours,
    /// Somebody without rights; only root can become one.
    Ordinary,
}

/// The users that can be tried here.
pub(crate) fn users() -> Vec<User> {
    if rustix::process::geteuid().is_root() {
        vec![User::Ours, User::Ordinary]
    } else {
        vec![User::Ours]
    }
}

/// A supervisor with a directory of its own, which a command may write.
pub(crate) struct Supervisor {
    pub(crate) user: User,
    /// Absolute and without links.
    pub(crate) dir: PathBuf,
    binary: PathBuf,
    _place: TempDir,
}

impl Supervisor {
    pub(crate) fn of(user: User) -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (dir, binary) = (root.join("project"), root.join("sandbox-try"));
        std::fs::create_dir(&dir).unwrap();
        // An ordinary user may not see where it was built. Not copied by ourselves: a process that another test
        // starts meanwhile would hold the new file open for writing, and it could not be run.
        let from = env!("CARGO_BIN_EXE_sandbox-try");
        assert!(Command::new("cp").arg(from).arg(&binary).status().unwrap().success());
        let supervisor = Self { user, dir, binary, _place: place };
        supervisor.hand_over(&root);
        supervisor
    }

    /// Makes the user of the supervisor the owner of everything there.
    pub(crate) fn hand_over(&self, path: &Path) {
        if self.user == User::Ordinary {
            let owner = format!("{ORDINARY}:{ORDINARY}");
            let status = Command::new("chown").args(["-Rh", &owner]).arg(path).status().unwrap();
            assert!(status.success());
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// A confinement that lets the directory be written.
    pub(crate) fn confinement(&self) -> Confinement {
        Confinement { allow_write: vec![text(&self.dir)], ..Confinement::most_restricted() }
    }

    /// What to run, to be added to.
    pub(crate) fn wanted(&self, words: &[&str]) -> Value {
        json!({
            "minimum": ConfinementLevel::Ns,
            "confinement": self.confinement(),
            "words": words,
            "cwd": self.dir,
            "path": "",
            "quarantine": self.dir.with_file_name("quarantine"),
            "time_ms": 120_000,
        })
    }

    /// Runs it. `around` stands before the supervisor's command line.
    #[track_caller]
    pub(crate) fn run(&self, around: &[&str], wanted: &Value) -> Value {
        let binary = text(&self.binary);
        let mut words: Vec<&str> = match self.user {
            User::Ours => Vec::new(),
            User::Ordinary => {
                vec!["setpriv", "--reuid", ORDINARY, "--regid", ORDINARY, "--clear-groups", "--"]
            }
        };
        words
            .extend(around.iter().map(|word| if *word == "sandbox-try" { &binary } else { *word }));
        let wanted = wanted.to_string();
        words.extend([&*binary, "run", &wanted]);
        let output =
            Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}{errors}"))
    }
}

pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Says that something was not tried; a test that says nothing has tried everything.
pub(crate) fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

/// Whether a program can be found.
pub(crate) fn has(program: &str) -> bool {
    find(program).is_some()
}

/// Where a program is, on our own `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|it| it.is_file())
}
