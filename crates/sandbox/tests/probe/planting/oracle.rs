//! What stands in a workspace that somebody outside of it obeys, found without the guard.
//!
//! Must never: share code with the guard, but for the list of names.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use agentry_protocol::protected::{
    AncestorContext, belongs_to_agent, is_agent_marker, is_skill_or_task_marker,
};

/// What a planted program makes.
pub(super) const RAN: &str = "/tmp/agentry-planted-program-ran";
/// Seconds after which `git status` is ended.
const GIT_SECONDS: &str = "5";
/// What is protected in a repository without a directory `.git`.
const BARE: [&str; 4] = ["HEAD", "hooks", "config", "commondir"];

/// Everything protected, with what it is.
pub(super) fn protected(workspace: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![(workspace.to_owned(), AncestorContext::default())];
    while let Some((directory, here)) = waiting.pop() {
        let names = names(&directory);
        let has = |name: &str| names.iter().any(|one| one == name);
        let any = |is: fn(&[u8]) -> bool| names.iter().any(|one| is(one.as_encoded_bytes()));
        let may_define = here.may_hold_definitions();
        let is_agent = may_define && any(is_agent_marker);
        let is_whole = may_define && any(is_skill_or_task_marker) && directory != workspace;
        let is_bare = has("HEAD") && (has("commondir") || has("objects") && has("refs"));
        for name in &names {
            let path = directory.join(name);
            let bytes = name.as_encoded_bytes();
            let is_protected = here.kind_of(bytes).is_some()
                || is_agent && belongs_to_agent(bytes)
                || is_whole
                || is_bare && BARE.iter().any(|part| *name == **part);
            if is_protected {
                whole(&path, &mut all);
            } else if path.symlink_metadata().is_ok_and(|it| it.is_dir()) {
                waiting.push((path, here.inside(bytes)));
            }
        }
    }
    all
}

fn names(directory: &Path) -> Vec<std::ffi::OsString> {
    let mode = directory.symlink_metadata().map(|it| it.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o700 != 0o700) {
        // The person can look into their own directories, whatever a call did to them.
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap_or_default();
    }
    fs::read_dir(directory).into_iter().flatten().flatten().map(|it| it.file_name()).collect()
}

fn whole(path: &Path, all: &mut BTreeMap<PathBuf, String>) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    let kind = metadata.file_type();
    let told = if kind.is_file() {
        let text = fs::read(path).unwrap_or_default();
        format!("{:o} {}", metadata.mode(), text.escape_ascii())
    } else if kind.is_symlink() {
        format!("link {:?}", fs::read_link(path))
    } else {
        format!("{:o}", metadata.mode())
    };
    all.insert(path.to_owned(), told);
    if kind.is_dir() {
        for name in names(path) {
            whole(&path.join(name), all);
        }
    }
}

pub(super) fn difference(
    before: &BTreeMap<PathBuf, String>,
    after: &BTreeMap<PathBuf, String>,
) -> String {
    let paths = before.keys().chain(after.keys());
    let mut lines: Vec<String> = paths
        .filter(|path| before.get(*path) != after.get(*path))
        .map(|path| format!("{path:?}: {:?} became {:?}", before.get(path), after.get(path)))
        .collect();
    lines.sort();
    lines.dedup();
    lines.join("\n")
}

/// Lets git visit every directory, as a person who works there does.
pub(super) fn visit_with_git(workspace: &Path) {
    let mut waiting = vec![workspace.to_owned()];
    while let Some(directory) = waiting.pop() {
        // Git waits for ever for the writer of a pipe named `HEAD`; then it has run no program.
        let mut git = Command::new("timeout");
        git.args([GIT_SECONDS, "git", "-c", "safe.directory=*", "status"]).current_dir(&directory);
        drop(git.env("HOME", "/nonexistent").output());
        let below = names(&directory).into_iter().map(|name| directory.join(name));
        waiting.extend(below.filter(|path| path.symlink_metadata().is_ok_and(|it| it.is_dir())));
        if waiting.len() > 400 {
            return;
        }
    }
}
