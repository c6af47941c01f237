//! Every attack of the list, at every level, as root and as an ordinary user.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The user that nothing belongs to.
const NOBODY: u32 = 65534;
/// The table says so when a level is not to be had.
const NOT_TO_BE_HAD: i32 = 3;

/// A copy of the probe that everybody can run, and a place for temporary files.
pub(crate) struct Stage {
    pub(crate) directory: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("stage").tempdir().unwrap();
        let stage = Self { directory };
        let open = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap()
        };
        open(stage.directory.path(), 0o755);
        fs::create_dir(stage.directory.path().join("bin")).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_sandbox-probe"), stage.probe()).unwrap();
        open(&stage.probe(), 0o755);
        stage
    }

    pub(crate) fn probe(&self) -> PathBuf {
        self.directory.path().join("bin/probe")
    }

    /// The probe as root or as an ordinary user, with temporary files of its own.
    pub(crate) fn command(&self, user: Option<u32>) -> Command {
        let name = user.map_or_else(|| "own".to_owned(), |user| user.to_string());
        let temporary = self.directory.path().join(name);
        fs::create_dir_all(&temporary).unwrap();
        let mut command = Command::new(self.probe());
        command.env("TMPDIR", &temporary);
        if let Some(user) = user {
            std::os::unix::fs::chown(&temporary, Some(user), Some(user)).unwrap();
            // As root: this clears the other groups, too.
            command.uid(user).gid(user);
        }
        command
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// As we are, and if we are root, as an ordinary user, too.
pub(crate) fn users() -> Vec<Option<u32>> {
    if is_root() { vec![None, Some(NOBODY)] } else { vec![None] }
}

fn table(level: &str) {
    table_by(level, None);
}

fn table_by(level: &str, way: Option<&str>) {
    let stage = Stage::new();
    if is_root() {
        // A program that would make root of whoever runs it.
        let set_user = stage.probe().with_file_name("set-user");
        fs::copy(stage.probe(), &set_user).unwrap();
        fs::set_permissions(&set_user, fs::Permissions::from_mode(0o4755)).unwrap();
    }
    for user in users() {
        let output =
            stage.command(user).args(["table", "--level", level]).args(way).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        println!("{said}");
        if output.status.code() == Some(NOT_TO_BE_HAD)
            && said.contains("bubblewrap is not installed")
        {
            println!("skipped: install bubblewrap to try the level {level}");
            continue;
        }
        let wrong: Vec<&str> =
            said.lines().filter(|line| line.contains(" NO ") || line.starts_with("NOT")).collect();
        assert!(
            output.status.success(),
            "{}\n{}",
            wrong.join("\n"),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(said.contains(", 0 wrong, "), "{said}");
    }
}

#[test]
fn attacks_work_where_nothing_is_confined() {
    table("bare");
}

#[test]
fn no_attack_gets_out_of_own_namespaces() {
    table("ns");
}

#[test]
fn no_attack_gets_out_of_bubblewrap() {
    table("bwrap");
}

#[test]
fn no_attack_gets_out_of_landlock_but_for_known_gaps() {
    table("landlock");
}

#[test]
fn no_attack_of_a_long_lived_program_gets_out_of_own_namespaces() {
    table_by("ns", Some("--spawn"));
}

#[test]
fn no_attack_of_a_long_lived_program_gets_out_of_bubblewrap() {
    table_by("bwrap", Some("--spawn"));
}

#[test]
fn no_attack_of_a_long_lived_program_gets_out_of_landlock_but_for_known_gaps() {
    table_by("landlock", Some("--spawn"));
}

#[test]
fn every_known_gap_is_in_the_guide() {
    let guide = include_str!("../../../../docs/guide/sandbox-gaps.md");
    let output = Command::new(env!("CARGO_BIN_EXE_sandbox-probe")).arg("gaps").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.lines().count() > 5, "{said}");
    for line in said.lines() {
        let (id, level) = line.split_once(' ').unwrap();
        let told = guide.lines().find(|told| told.starts_with(&format!("| {id} |")));
        let told = told.unwrap_or_else(|| panic!("the guide does not name {id}"));
        assert!(told.split('|').nth(2).unwrap().contains(level), "{id} at {level}: {told}");
    }
}
