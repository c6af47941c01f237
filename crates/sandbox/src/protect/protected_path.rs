//! The decision if a path below a writable root is protected, by its names and their siblings.
//!
//! Must never: look at the file system itself; the caller says which siblings exist.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use agentry_protocol::protected::{self, AncestorContext};

use super::names::ProtectedNames;

/// The names by which git knows a repository, and those in one that can make git run a program.
const REPOSITORY_NAMES: [&str; 8] =
    ["HEAD", "objects", "refs", "commondir", "config", "config.worktree", "hooks", "info"];

/// Returns true if a path below a writable root is protected by one of the names in it.
pub fn is_protected(path: &Path) -> bool {
    ProtectedNames::default().holds_path(path)
}

/// Returns true if a path below a writable root is protected by its names or by their siblings.
/// `has` returns true if a path below the root exists.
pub fn is_protected_among(path: &Path, has: &dyn Fn(&Path) -> bool) -> bool {
    if is_protected(path) {
        return true;
    }
    let (mut directory, mut here) = (PathBuf::new(), AncestorContext::default());
    for name in path {
        let is_marked = |markers: &[&str]| markers.iter().any(|one| has(&directory.join(one)));
        let may_define = here.may_hold_definitions();
        let is_agent = || is_marked(&protected::AGENT_MARKERS);
        let is_whole = || is_marked(&protected::SKILL_AND_TASK_MARKERS);
        let bytes = OsStr::as_encoded_bytes(name);
        let is_root = directory.as_os_str().is_empty();
        if may_define && protected::belongs_to_agent(bytes) && is_agent()
            || may_define && !is_root && is_whole()
            || is_of_repository(&directory, name, has)
        {
            return true;
        }
        here = here.inside(bytes);
        directory.push(name);
    }
    false
}

/// Returns true if a name marks a directory as a repository, or can make git run a program there.
fn is_of_repository(directory: &Path, name: &OsStr, has: &dyn Fn(&Path) -> bool) -> bool {
    let is_part = REPOSITORY_NAMES.iter().any(|part| name == *part);
    let has = |mark: &str| name == mark || has(&directory.join(mark));
    is_part && has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}
