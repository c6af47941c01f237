//! Protected names: those of files that outside programs execute or obey, or that define agents.
//!
//! One list for the loader of definitions, the guard of the sandbox, the file tools and the shell
//! check. Not listed: files that a build runs (`package.json`, `build.rs`, `Makefile`, `.npmrc`,
//! `.cargo`), which are the work itself and reviewed as such; `.gitattributes`, which runs nothing
//! without a setting of the repository; `.github/workflows`, which runs on another machine.
//!
//! Must never: look at the file system.

/// The directory, file or link that makes a directory a repository.
pub const REPOSITORY: &str = ".git";

/// Names that a program executes or obeys when its user enters the directory or starts it there.
pub const EXECUTED: [&str; 60] = [
    REPOSITORY,
    ".gitmodules",
    ".gitconfig",
    ".hg",
    ".hgrc",
    // Git hooks.
    ".githooks",
    ".husky",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    "lefthook.toml",
    "lefthook.json",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".lefthook.toml",
    "lefthook-local.yml",
    "lefthook-local.yaml",
    "lefthook-local.toml",
    // Shells, and programs that set up a directory for them.
    ".envrc",
    ".mise.toml",
    "mise.toml",
    ".mise.local.toml",
    "mise.local.toml",
    ".mise",
    ".rtx.toml",
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
    // Editors that read the directory they are started in.
    ".exrc",
    ".vimrc",
    ".gvimrc",
    ".nvimrc",
    ".nvim.lua",
    ".lvimrc",
    ".dir-locals.el",
    ".dir-locals-2.el",
    // Debuggers and interpreters.
    ".gdbinit",
    ".lldbinit",
    ".pdbrc",
    ".pdbrc.py",
    ".irbrc",
    ".pryrc",
    ".Rprofile",
    ".ghci",
    ".octaverc",
    ".jshrc",
    // Keys.
    ".ssh",
    ".netrc",
    ".gnupg",
    ".pgpass",
];

/// Names that editors and agents obey when the directory is opened as a project. Packages often
/// contain them, so they do not count in the directories of packages.
pub const OBEYED: [&str; 42] = [
    ".vscode",
    ".idea",
    ".run",
    ".zed",
    ".fleet",
    ".vs",
    ".nova",
    ".devcontainer",
    ".devcontainer.json",
    ".mcp.json",
    ".cursor",
    ".cursorrules",
    ".cursorignore",
    ".claude",
    ".claude.json",
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".codex",
    ".gemini",
    "GEMINI.md",
    ".agents",
    ".windsurf",
    ".windsurfrules",
    ".kiro",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".clinerules",
    ".roo",
    ".roomodes",
    ".aider.conf.yml",
    ".continue",
    ".goosehints",
    ".goose",
    ".amp",
    ".augment",
    ".junie",
    ".trae",
    ".qwen",
    ".crush",
    "crush.json",
    ".plaited",
];

/// Endings of names that editors obey when such a file is opened.
pub const OBEYED_ENDINGS: [&str; 2] = [".code-workspace", ".sublime-project"];

/// Files that make a directory an agent.
pub const AGENT_MARKERS: [&str; 2] = ["agent.yml", "AGENT.md"];
/// Files that make a directory, with all files in it, a skill or a task.
pub const SKILL_AND_TASK_MARKERS: [&str; 3] = ["SKILL.md", "skill.md", "TASK.md"];
/// Files of a project that the loader reads.
pub const PROJECT_FILES: [&str; 3] = ["agentry.toml", ".mcp.json", "AGENTS.md"];
/// Directories of agents, skills and tasks that a project carries.
pub const PACKS: [&str; 2] = [".agentry", ".nanobot"];
/// Directories whose skills the loader reads.
pub const SKILL_HOMES: [&str; 2] = [".agents", ".claude"];
/// Files that the loader reads beside an agent's marker.
pub const AGENT_FILES: [&str; 5] =
    ["agent.yml", "AGENT.md", "SOUL.md", "USER.md", "tool-access.json"];
/// Directories that the loader reads beside an agent's marker.
pub const AGENT_DIRECTORIES: [&str; 7] =
    ["prompts", "personas", "tools", "hooks", "skills", "data", "memory"];
/// The name of a context folder.
pub const CONTEXT_FOLDER: &str = "context";
/// The files that the loader reads in a context folder.
pub const CONTEXT_FILES: [&str; 4] =
    ["system_prompt.md", "soul.json", "user_profile.json", "tool-access.json"];
/// Directories that the loader never enters.
pub const LOADER_SKIPS: [&str; 6] =
    [".git", "node_modules", "target", "__pycache__", ".venv", "venv"];
/// Directories of packages from other sources.
pub const PACKAGE_DIRECTORIES: [&str; 4] =
    ["node_modules", "site-packages", "dist-packages", "vendor"];

/// The kind of a protected name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtectedNameKind {
    /// The name makes a directory a repository.
    Repository,
    /// A program executes or obeys the file when its user enters the directory.
    Executed,
    /// An editor or an agent obeys the file when the directory is opened as a project.
    Obeyed,
    /// The file defines an agent, a skill, a task or a rule.
    Definition,
}

/// The directories above a name, as far as they affect its protection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AncestorContext {
    in_packages: bool,
    skipped_by_loader: bool,
    in_context_folder: bool,
}

impl AncestorContext {
    /// Returns the context for names inside of the directory `name`.
    #[must_use]
    pub fn inside(self, name: &[u8]) -> Self {
        Self {
            in_packages: self.in_packages || is_one_of(&PACKAGE_DIRECTORIES, name),
            skipped_by_loader: self.skipped_by_loader || is_one_of(&LOADER_SKIPS, name),
            in_context_folder: name.eq_ignore_ascii_case(CONTEXT_FOLDER.as_bytes()),
        }
    }

    /// Returns the kind of a name if it is protected here. The names beside it do not matter.
    pub fn kind_of(self, name: &[u8]) -> Option<ProtectedNameKind> {
        if !self.in_packages && has_obeyed_ending(name) {
            return Some(ProtectedNameKind::Obeyed);
        }
        if !is_candidate(name) {
            return None;
        }
        if is_repository(name) {
            return Some(ProtectedNameKind::Repository);
        }
        if is_one_of(&EXECUTED, name) {
            return Some(ProtectedNameKind::Executed);
        }
        if !self.skipped_by_loader && is_definition(name, self.in_context_folder) {
            return Some(ProtectedNameKind::Definition);
        }
        (!self.in_packages && is_one_of(&OBEYED, name)).then_some(ProtectedNameKind::Obeyed)
    }

    /// Returns true if the loader reads definitions here.
    pub fn may_hold_definitions(self) -> bool {
        !self.skipped_by_loader
    }
}

/// Returns the kinds of the protected names in a path, from the outermost directory.
pub fn kinds_in<'a>(
    names: impl IntoIterator<Item = &'a [u8]>,
) -> impl Iterator<Item = ProtectedNameKind> {
    let mut here = AncestorContext::default();
    names.into_iter().filter_map(move |name| {
        let kind = here.kind_of(name);
        here = here.inside(name);
        kind
    })
}

/// Returns true if the loader reads a file or directory of this name beside an agent's marker.
pub fn belongs_to_agent(name: &[u8]) -> bool {
    is_one_of(&AGENT_FILES, name) || is_one_of(&AGENT_DIRECTORIES, name)
}

/// Returns true if a file of this name makes its directory an agent.
pub fn is_agent_marker(name: &[u8]) -> bool {
    is_one_of(&AGENT_MARKERS, name)
}

/// Returns true if a file of this name makes its directory a skill or a task.
pub fn is_skill_or_task_marker(name: &[u8]) -> bool {
    is_one_of(&SKILL_AND_TASK_MARKERS, name)
}

/// Returns true if the name is that of a repository.
pub fn is_repository(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(REPOSITORY.as_bytes())
}

fn is_definition(name: &[u8], in_context_folder: bool) -> bool {
    is_agent_marker(name)
        || is_skill_or_task_marker(name)
        || is_one_of(&PROJECT_FILES, name)
        || is_one_of(&PACKS, name)
        || is_one_of(&SKILL_HOMES, name)
        || name.eq_ignore_ascii_case(b"tool-access.json")
        || in_context_folder && is_one_of(&CONTEXT_FILES, name)
}

fn has_obeyed_ending(name: &[u8]) -> bool {
    OBEYED_ENDINGS.iter().any(|ending| {
        let ending = ending.as_bytes();
        name.len() > ending.len() && name[name.len() - ending.len()..].eq_ignore_ascii_case(ending)
    })
}

/// The lengths of the listed names by their first byte in lower case, one bit per length. A guard
/// checks every entry of a workspace, and this table rejects nearly all of them without a search.
static CANDIDATES: [u64; 256] = candidates();

const fn candidates() -> [u64; 256] {
    let mut table = [0; 256];
    let lists: [&[&str]; 7] = [
        &EXECUTED,
        &OBEYED,
        &AGENT_MARKERS,
        &SKILL_AND_TASK_MARKERS,
        &PROJECT_FILES,
        &PACKS,
        &CONTEXT_FILES,
    ];
    let mut list = 0;
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            let name = lists[list][at].as_bytes();
            table[name[0].to_ascii_lowercase() as usize] |= 1 << name.len();
            at += 1;
        }
        list += 1;
    }
    table
}

fn is_candidate(name: &[u8]) -> bool {
    let Some(first) = name.first() else { return false };
    name.len() < 64 && CANDIDATES[usize::from(first.to_ascii_lowercase())] & (1 << name.len()) != 0
}

fn is_one_of(list: &[&str], name: &[u8]) -> bool {
    // Nearly all names differ in their length.
    list.iter().any(|one| one.len() == name.len() && one.as_bytes().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(path: &str) -> Option<ProtectedNameKind> {
        let mut here = AncestorContext::default();
        let mut kind = None;
        for name in path.split('/') {
            kind = here.kind_of(name.as_bytes());
            here = here.inside(name.as_bytes());
        }
        kind
    }

    #[test]
    fn every_listed_name_is_protected_in_any_case() {
        for name in EXECUTED.iter().chain(&OBEYED).chain(&PROJECT_FILES).chain(&PACKS) {
            for text in [(*name).to_owned(), name.to_uppercase(), name.to_lowercase()] {
                assert!(kind(&text).is_some(), "{text}");
                assert!(kind(&format!("a/b/{text}")).is_some(), "{text}");
            }
        }
    }

    #[test]
    fn the_guide_names_every_protected_name() {
        let guide = include_str!("../../../docs/guide/sandbox.md");
        let lists: [&[&str]; 8] = [
            &EXECUTED,
            &OBEYED,
            &AGENT_FILES,
            &AGENT_DIRECTORIES,
            &SKILL_AND_TASK_MARKERS,
            &PROJECT_FILES,
            &PACKS,
            &CONTEXT_FILES,
        ];
        for name in lists.into_iter().flatten() {
            assert!(guide.contains(&format!("`{name}`")), "docs/guide/sandbox.md lacks {name}");
        }
    }

    #[test]
    fn names_that_only_resemble_a_protected_one_are_free() {
        for name in [".git2", ".gitignore", "git", ".envrc ", "", "SOUL.md", "code-workspace"] {
            assert_eq!(kind(name), None, "{name}");
        }
        assert_eq!(kind("x.code-workspace"), Some(ProtectedNameKind::Obeyed));
        assert_eq!(kind(".code-workspace"), None);
    }

    #[test]
    fn packages_may_bring_project_settings_but_nothing_that_runs_on_entry() {
        assert_eq!(kind("node_modules/a/.vscode"), None);
        assert_eq!(kind("vendor/a/CLAUDE.md"), None);
        assert_eq!(kind("node_modules/a/.git"), Some(ProtectedNameKind::Repository));
        assert_eq!(kind("vendor/a/.envrc"), Some(ProtectedNameKind::Executed));
        assert_eq!(kind("src/vendored/.vscode"), Some(ProtectedNameKind::Obeyed));
    }

    #[test]
    fn definitions_count_where_the_loader_reads_them() {
        assert_eq!(kind("a/AGENT.md"), Some(ProtectedNameKind::Definition));
        assert_eq!(kind("vendor/a/SKILL.md"), Some(ProtectedNameKind::Definition));
        assert_eq!(kind("node_modules/a/SKILL.md"), None);
        assert_eq!(kind("vendor/.claude"), Some(ProtectedNameKind::Definition));
        assert_eq!(kind("target/.claude"), Some(ProtectedNameKind::Obeyed));
        assert_eq!(kind("target/.mcp.json"), Some(ProtectedNameKind::Obeyed));
        assert_eq!(kind("node_modules/a/.claude"), None);
        assert_eq!(kind("context/soul.json"), Some(ProtectedNameKind::Definition));
        assert_eq!(kind("other/soul.json"), None);
    }

    #[test]
    fn surroundings_add_up_on_the_way_down() {
        let at = |path: &str| {
            path.split('/')
                .fold(AncestorContext::default(), |here, name| here.inside(name.as_bytes()))
        };
        assert!(at("a/b").may_hold_definitions());
        assert!(!at("node_modules/a").may_hold_definitions());
        assert!(!at("a/target/b/c").may_hold_definitions());
        assert!(at("vendor/a").may_hold_definitions());
        // Only the directory itself is a context folder.
        assert_eq!(kind("context/a/soul.json"), None);
        assert_eq!(kind("a/TASK.md"), Some(ProtectedNameKind::Definition));
        assert_eq!(kind("a/skill.md"), Some(ProtectedNameKind::Definition));
        assert_eq!(kind("x.sublime-project"), Some(ProtectedNameKind::Obeyed));
        assert_eq!(kind("vendor/x.sublime-project"), None);
        // Longer than any listed name.
        assert_eq!(kind(&"a".repeat(64)), None);
        assert_eq!(kind(&"a".repeat(70)), None);
        assert_eq!(kind(&format!(".git{}", "t".repeat(64))), None);
    }
}
