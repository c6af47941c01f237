//! Which parts of a directory belong to a definition.
//!
//! The runtime asks for every entry whether to take it, so that a project's own files, however many,
//! are never read. The places: an agent program's files and folders, `.agentry`, `.nanobot`, skill roots,
//! a context folder, the settings, and directories below that hold a definition of their own.
//!
//! Must never: look at content.

/// How a directory is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It may hold a definition; its known parts are read.
    Place {
        /// How many directories below the root it is.
        depth: usize,
    },
    /// Everything in it is read.
    Whole,
    /// Only its `skills` directory is read.
    SkillsOnly,
    /// Only the files of a context folder are read.
    Context,
}

/// Files that make a directory a definition.
const MARKERS: [&str; 5] = ["agent.yml", "AGENT.md", "SKILL.md", "skill.md", "TASK.md"];
const ROOT_FILES: [&str; 3] = ["agentry.toml", ".mcp.json", "AGENTS.md"];
const PROGRAM_FILES: [&str; 4] = ["agent.yml", "AGENT.md", "SOUL.md", "USER.md"];
const PROGRAM_DIRECTORIES: [&str; 7] =
    ["prompts", "personas", "tools", "hooks", "skills", "data", "memory"];
const PACKS: [&str; 2] = [".agentry", ".nanobot"];
const SKILL_HOMES: [&str; 2] = [".agents", ".claude"];
const NEVER: [&str; 6] = [".git", "node_modules", "target", "__pycache__", ".venv", "venv"];
/// Definitions are looked for this many directories below the root that was asked for.
const PLACES_BELOW: usize = 3;

/// How to read the root that was asked for.
pub fn root() -> Role {
    Role::Place { depth: 0 }
}

/// How to read a user's home: only the packs and the skills.
pub const HOME_ENTRIES: [&str; 4] = [PACKS[0], PACKS[1], SKILL_HOMES[0], SKILL_HOMES[1]];

/// Whether to read a file, given its directory's role and what stands beside it.
pub fn takes_file(role: &Role, name: &str, beside: &[&str]) -> bool {
    match role {
        Role::Whole => true,
        Role::SkillsOnly => false,
        Role::Context => ["system_prompt.md", "soul.json", "user_profile.json", "tool-access.json"]
            .contains(&name),
        Role::Place { depth } => {
            let here = |markers: &[&str]| markers.iter().any(|marker| beside.contains(marker));
            MARKERS.contains(&name)
                || ROOT_FILES.contains(&name) && (*depth == 0 || here(&MARKERS[..2]))
                || PROGRAM_FILES.contains(&name) && here(&MARKERS[..2])
                || here(&MARKERS[2..])
        }
    }
}

/// How to read a directory below, or `None` to pass it over.
pub fn takes_directory(role: &Role, name: &str, beside: &[&str]) -> Option<Role> {
    if NEVER.contains(&name) {
        return None;
    }
    match role {
        Role::Whole => Some(Role::Whole),
        Role::SkillsOnly => (name == "skills").then_some(Role::Whole),
        Role::Context => None,
        Role::Place { depth } => {
            let here = |markers: &[&str]| markers.iter().any(|marker| beside.contains(marker));
            if here(&MARKERS[2..]) {
                return Some(Role::Whole);
            }
            if here(&MARKERS[..2]) && PROGRAM_DIRECTORIES.contains(&name) {
                return Some(Role::Whole);
            }
            if PACKS.contains(&name) {
                return Some(Role::Whole);
            }
            if SKILL_HOMES.contains(&name) {
                return Some(Role::SkillsOnly);
            }
            if name == "context" {
                return Some(Role::Context);
            }
            let plain = !name.starts_with('.') && *depth < PLACES_BELOW && !here(&MARKERS[..2]);
            plain.then_some(Role::Place { depth: depth + 1 })
        }
    }
}
