//! Finds the definitions in a directory, and the id of each.
//!
//! In order of precedence: the project's packs, its skill roots, other places in it, the user's
//! packs and skill roots. The first with an id wins.
//!
//! Must never: read the content of a file.

use crate::context_folder;
use crate::diagnostic::Findings;
use crate::file_tree::{FileTree, ReadRefusal, lies_in};
use crate::layout::{self, PACK_DIRECTORIES, PACKS};

use super::LibraryInput;

const SKILL_ROOTS: [&str; 4] =
    [".agentry/skills", ".nanobot/skills", ".agents/skills", ".claude/skills"];
const SKILL_FILES: [&str; 2] = ["SKILL.md", "skill.md"];

/// The kinds of definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DefinitionKind {
    Program,
    Pack,
    ContextFolder,
    Skill,
    Task,
}

impl DefinitionKind {
    /// Returns the family of a kind; definitions of one family share their ids.
    pub(super) fn family(self) -> Self {
        match self {
            Self::Program | Self::Pack | Self::ContextFolder => Self::Program,
            Self::Skill => Self::Skill,
            Self::Task => Self::Task,
        }
    }

    pub(super) fn is_agent(self) -> bool {
        self.family() == Self::Program
    }

    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Program | Self::Pack | Self::ContextFolder => "agent",
            Self::Skill => "skill",
            Self::Task => "task",
        }
    }
}

/// One definition, with its id and its tree.
pub(super) struct FoundDefinition<'a> {
    pub(super) what: DefinitionKind,
    pub(super) id: String,
    pub(super) tree: &'a FileTree,
    /// Its main file, below the tree.
    pub(super) path: String,
}

impl FoundDefinition<'_> {
    pub(super) fn directory(&self) -> &str {
        match self.what {
            DefinitionKind::ContextFolder => {
                self.path.trim_end_matches("context/system_prompt.md").trim_end_matches('/')
            }
            DefinitionKind::Program
            | DefinitionKind::Pack
            | DefinitionKind::Skill
            | DefinitionKind::Task => {
                self.path.rsplit_once('/').map_or("", |(directory, _)| directory)
            }
        }
    }

    /// Returns the path of a file beside the main one, below the tree.
    pub(super) fn beside(&self, file: &str) -> String {
        match self.directory() {
            "" => file.to_owned(),
            directory => format!("{directory}/{file}"),
        }
    }

    pub(super) fn shown(&self) -> String {
        self.tree.display_path(&self.path)
    }
}

/// Returns all definitions, in order of precedence.
pub(super) fn find<'a>(input: &LibraryInput<'a>) -> Vec<FoundDefinition<'a>> {
    let mut found = Vec::new();
    in_tree(input.project, &mut found);
    for root in input.skill_roots {
        skills_below(root, "", &mut found);
    }
    if let Some(home) = input.home {
        in_packs(home, &mut found);
    }
    found
}

fn in_tree<'a>(tree: &'a FileTree, found: &mut Vec<FoundDefinition<'a>>) {
    in_packs(tree, found);
    if context_folder::is_context_folder(tree) && tree.get("agent.yml").is_none() {
        let path = "context/system_prompt.md".to_owned();
        found.push(FoundDefinition {
            what: DefinitionKind::ContextFolder,
            id: tree.name(),
            tree,
            path,
        });
    }
    let programs: Vec<&str> = tree
        .below("")
        .filter_map(|(path, _)| directory_of(path, "agent.yml"))
        .filter(|directory| !in_pack(directory))
        .collect();
    for directory in &programs {
        found.push(found_in(DefinitionKind::Program, tree, directory, "agent.yml"));
    }
    for (path, _) in tree.below("") {
        let owned = programs.iter().any(|program| lies_in(path, program));
        if in_pack(path) || owned && !path.ends_with("/agent.yml") {
            continue;
        }
        let skill =
            SKILL_FILES.into_iter().find_map(|file| Some((directory_of(path, file)?, file)));
        if let Some((directory, file)) = skill {
            found.push(found_in(DefinitionKind::Skill, tree, directory, file));
        } else if let Some(directory) = directory_of(path, "TASK.md") {
            found.push(found_in(DefinitionKind::Task, tree, directory, "TASK.md"));
        } else if let Some(directory) = directory_of(path, "AGENT.md")
            && !(directory.is_empty() && context_folder::is_context_folder(tree))
        {
            found.push(found_in(DefinitionKind::Pack, tree, directory, "AGENT.md"));
        }
    }
}

fn in_packs<'a>(tree: &'a FileTree, found: &mut Vec<FoundDefinition<'a>>) {
    for pack in PACKS {
        let agents = format!("{pack}/agents");
        for (path, _) in tree.below(&agents) {
            let program = directory_of(path, "agent.yml");
            let plain = directory_of(path, "AGENT.md");
            let beside = |directory: &str| tree.get(&format!("{directory}/agent.yml")).is_some();
            if let Some(directory) = program {
                found.push(below_root(
                    DefinitionKind::Program,
                    tree,
                    &agents,
                    directory,
                    "agent.yml",
                ));
            } else if let Some(directory) = plain.filter(|directory| !beside(directory)) {
                found.push(below_root(DefinitionKind::Pack, tree, &agents, directory, "AGENT.md"));
            }
        }
        let tasks = format!("{pack}/tasks");
        for (path, _) in tree.below(&tasks) {
            if let Some(directory) = directory_of(path, "TASK.md") {
                found.push(below_root(DefinitionKind::Task, tree, &tasks, directory, "TASK.md"));
            }
        }
    }
    for root in SKILL_ROOTS {
        skills_below(tree, root, found);
    }
}

fn skills_below<'a>(tree: &'a FileTree, root: &str, found: &mut Vec<FoundDefinition<'a>>) {
    for (path, _) in tree.below(root) {
        let skill =
            SKILL_FILES.into_iter().find_map(|file| Some((directory_of(path, file)?, file)));
        if let Some((directory, file)) = skill.filter(|(directory, _)| directory.len() > root.len())
        {
            found.push(below_root(DefinitionKind::Skill, tree, root, directory, file));
        }
    }
}

fn directory_of<'p>(path: &'p str, file: &str) -> Option<&'p str> {
    match path.strip_suffix(file)? {
        "" => Some(""),
        directory => directory.strip_suffix('/'),
    }
}

fn in_pack(path: &str) -> bool {
    PACKS.iter().chain(&[".agents", ".claude"]).any(|pack| lies_in(path, pack))
}

/// Returns a definition whose id is the name of its directory.
fn found_in<'a>(
    what: DefinitionKind,
    tree: &'a FileTree,
    directory: &str,
    file: &str,
) -> FoundDefinition<'a> {
    let (id, path) = match directory {
        "" => (tree.name(), file.to_owned()),
        directory => {
            let name = directory.rsplit('/').next().unwrap_or(directory);
            (name.to_owned(), format!("{directory}/{file}"))
        }
    };
    FoundDefinition { what, id, tree, path }
}

/// Returns a definition whose id is its path below a root.
fn below_root<'a>(
    what: DefinitionKind,
    tree: &'a FileTree,
    root: &str,
    directory: &str,
    file: &str,
) -> FoundDefinition<'a> {
    let id = directory[root.len()..].trim_start_matches('/');
    let id = if id.is_empty() { tree.name() } else { id.to_owned() };
    FoundDefinition { what, id, tree, path: format!("{directory}/{file}") }
}

/// Adds a finding for each entry of a pack with a name similar to one that is read.
pub(super) fn report_misnamed(tree: &FileTree, findings: &mut Findings) {
    let mut report = |path: &str, meant: &str| {
        let (code, text) = ReadRefusal::Misnamed(meant.to_owned()).diagnostic();
        findings.about(code, tree.display_path(path), text);
    };
    for pack in PACKS {
        for name in tree.directories_in(pack) {
            if let Some(meant) = layout::suggested_name_at_pack_root(name) {
                report(&format!("{pack}/{name}"), meant);
            }
        }
        for part in PACK_DIRECTORIES {
            for (path, _) in tree.below(&format!("{pack}/{part}")) {
                let name = path.rsplit('/').next().unwrap_or(path);
                if let Some(meant) = layout::suggested_name_in_pack(name) {
                    report(path, meant);
                }
            }
        }
    }
}

/// Returns the tree of a pack's agent without the agents in directories below it.
pub(super) fn without_nested(tree: &FileTree) -> FileTree {
    let nested: Vec<String> = tree
        .below("")
        .filter_map(|(path, _)| {
            directory_of(path, "AGENT.md").or_else(|| directory_of(path, "agent.yml"))
        })
        .filter(|directory| !directory.is_empty())
        .map(str::to_owned)
        .collect();
    let mut own = FileTree::new(tree.label.clone());
    own.own_name = tree.own_name.clone();
    for (path, entry) in tree.below("") {
        if !nested.iter().any(|directory| lies_in(path, directory)) {
            own.insert(path, entry.clone());
        }
    }
    own
}
