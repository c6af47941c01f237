//! The names that are protected wherever they stand in a writable root.
//!
//! What stands here is run, or decides what is run, by a program of the person that nobody asked: git, a
//! shell, an editor, an agent. Not here: what a build runs (`package.json`, `build.rs`, `.npmrc`,
//! `.yarnrc.yml`, `.cargo`), because that is the work itself and is reviewed as such; `.gitattributes`,
//! because without a setting in a repository it runs nothing; `.github`, because it runs elsewhere.
//!
//! Must never: look at the file system.

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
}

/// Whether a name is that of a repository.
pub(crate) fn is_repository(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(REPOSITORY.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

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
