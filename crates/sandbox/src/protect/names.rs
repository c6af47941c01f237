//! The names that are protected wherever they stand in a writable root.
//!
//! What stands here is run, or decides what is run, by a program of the person that nobody asked: git, a
//! shell, an editor, an agent. Not here: what a build runs (`package.json`, `build.rs`, `.npmrc`,
//! `.yarnrc.yml`, `.cargo`), because that is the work itself and is reviewed as such; `.gitattributes`,
//! because without a setting in a repository it runs nothing; `.github`, because it runs elsewhere.
//!
//! Must never: look at the file system.

use std::ffi::OsStr;
use std::path::Path;

/// The directory, file or link that makes a directory a repository.
pub(crate) const REPOSITORY: &str = ".git";

const BUILT_IN: [&str; 38] = [
    REPOSITORY,
    ".gitmodules",
    ".gitconfig",
    // Hooks.
    ".githooks",
    ".husky",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    "lefthook-local.yml",
    ".lefthook.yml",
    // Editors; whole directories, so that one that is renamed into place is seen by its name.
    ".vscode",
    ".idea",
    ".devcontainer",
    ".devcontainer.json",
    // Agents.
    ".mcp.json",
    ".cursor",
    ".claude",
    ".codex",
    ".gemini",
    ".agents",
    // Shells and what they load.
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".inputrc",
    ".ripgreprc",
    // Keys.
    ".ssh",
    ".netrc",
    // Our own.
    "agentry.toml",
    ".agentry",
];

/// Names that are protected at any depth, compared without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Those that begin with a dot; nearly all do, and few other names do.
    dotted: Vec<Vec<u8>>,
    plain: Vec<Vec<u8>>,
}

impl Default for Names {
    fn default() -> Self {
        Self::with(&[])
    }
}

impl Names {
    /// The built-in names and these.
    pub fn with(more: &[&str]) -> Self {
        let all = BUILT_IN.iter().chain(more).map(|name| name.as_bytes().to_vec());
        let (dotted, plain) = all.partition(|name| name.first() == Some(&b'.'));
        Self { dotted, plain }
    }

    /// Whether a name is one of them.
    pub fn holds(&self, name: &[u8]) -> bool {
        let candidates = if name.first() == Some(&b'.') { &self.dotted } else { &self.plain };
        candidates.iter().any(|one| one.eq_ignore_ascii_case(name))
    }

    /// The same for a name in a directory of packages from elsewhere.
    pub(crate) fn holds_supplied(&self, name: &[u8]) -> bool {
        is_repository(name)
    }

    /// Whether a path below a writable root is protected by one of the names in it.
    pub(crate) fn holds_path(&self, path: &Path) -> bool {
        let mut supplied = false;
        path.iter().map(OsStr::as_encoded_bytes).any(|name| {
            let held = if supplied { self.holds_supplied(name) } else { self.holds(name) };
            supplied |= is_supplied(name);
            held
        })
    }
}

/// Directories of packages that came from elsewhere and were never opened as a project of their own. Packages bring
/// editor settings along; in there only repositories count.
const SUPPLIED: [&[u8]; 4] = [b"node_modules", b"site-packages", b"dist-packages", b"vendor"];

/// Whether a directory holds packages from elsewhere.
pub(crate) fn is_supplied(name: &[u8]) -> bool {
    SUPPLIED.contains(&name)
}

/// Whether a name is that of a repository.
pub(crate) fn is_repository(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(REPOSITORY.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn among_packages_from_elsewhere_only_repositories_count() {
        let names = Names::default();
        for yes in ["a/.vscode", ".git/config", "node_modules/a/.git/hooks", ".vscode/node_modules"]
        {
            assert!(names.holds_path(Path::new(yes)), "{yes}");
        }
        for no in ["node_modules/a/.vscode/tasks.json", "vendor/a/.idea", "src/vendored"] {
            assert!(!names.holds_path(Path::new(no)), "{no}");
        }
    }

    #[test]
    fn case_does_not_matter_and_parts_of_names_do_not_count() {
        let names = Names::with(&[".nanobot"]);
        for yes in [&b".GIT"[..], b".Envrc", b"AGENTRY.toml", b"Lefthook.YML", b".nanoBot"] {
            assert!(names.holds(yes), "{}", yes.escape_ascii());
        }
        for no in [&b".git2"[..], b".gitignore", b"git", b".envrc ", b"", b".\xff"] {
            assert!(!names.holds(no), "{}", no.escape_ascii());
        }
    }
}
