//! Selects the entries of a directory that belong to a definition.
//!
//! The runtime asks for each entry whether to read it, so that a project's own files, however many,
//! are never read. The places: an agent program's files and folders, `.agentry`, `.nanobot`, skill
//! roots, a context folder, the settings, and subdirectories with definitions of their own.
//!
//! The names stand in `protocol::protected`, which the code that write-protects them uses too.
//!
//! Must never: read content, or include a name that is not in that list.

pub use agentry_protocol::protected::PACKS;
use agentry_protocol::protected::{
    AGENT_DIRECTORIES, AGENT_FILES, AGENT_MARKERS, CONTEXT_FILES, CONTEXT_FOLDER, LOADER_SKIPS,
    PROJECT_FILES, SKILL_AND_TASK_MARKERS, SKILL_HOMES,
};

/// The way to read a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryRole {
    /// A directory that may hold a definition; its known entries are read.
    Candidate {
        /// The number of directories between it and the root.
        depth: usize,
    },
    /// A directory that is read completely.
    Whole,
    /// A directory that is read completely, with the packages that programs load from it.
    Code,
    /// A directory of which only `skills` is read.
    SkillsOnly,
    /// A directory of which only the files of a context folder are read.
    Context,
}

/// Files that make a directory a definition: of an agent, then of a skill or a task.
pub const MARKERS: [&str; 5] = [
    AGENT_MARKERS[0],
    AGENT_MARKERS[1],
    SKILL_AND_TASK_MARKERS[0],
    SKILL_AND_TASK_MARKERS[1],
    SKILL_AND_TASK_MARKERS[2],
];
/// The tool-access file. It stands beside the agent's other files, or beside its context folder.
const TOOL_ACCESS: &str = "tool-access.json";
/// Folders that the programs of an agent read or run. Many projects use these names, so they count
/// only beside `agent.yml`, and a similar name is no mistake.
const CODE_DIRECTORIES: [&str; 2] = ["bin", "lib"];
/// The directories at the top of a pack.
pub const PACK_DIRECTORIES: [&str; 4] = ["access", "agents", "skills", "tasks"];
/// Packages of Node.js; read only inside folders of an agent's programs.
const PACKAGES: &str = "node_modules";
/// Folders of an agent that hold programs and the files they load.
const PROGRAM_FOLDERS: [&str; 4] = ["bin", "hooks", "lib", "tools"];
/// Definitions are searched up to this many directories below the requested root.
const PLACES_BELOW: usize = 3;

/// Returns the name that was probably meant by an ignored name: another case, a missing or added
/// `s`, or the other ending of YAML.
pub fn suggested_name(role: &DirectoryRole, name: &str, beside: &[&str]) -> Option<&'static str> {
    let depth = match role {
        DirectoryRole::Candidate { depth } => depth,
        DirectoryRole::Context => return nearly(name, CONTEXT_FILES.into_iter()),
        DirectoryRole::Whole | DirectoryRole::Code | DirectoryRole::SkillsOnly => return None,
    };
    let program = beside.iter().any(|name| MARKERS[..2].contains(name));
    let parts = AGENT_FILES.iter().chain(&AGENT_DIRECTORIES).chain(&PROJECT_FILES);
    // Elsewhere in a project a similar name may have another meaning.
    let main = MARKERS[..2].iter().filter(|_| program || *depth == 0);
    nearly(name, main.chain(parts.filter(|_| program)).copied())
}

/// Like `suggested_name`, for a file anywhere in a pack.
pub fn suggested_name_in_pack(name: &str) -> Option<&'static str> {
    nearly(name, MARKERS.into_iter())
}

/// Like `suggested_name`, for a directory at the top of a pack.
pub fn suggested_name_at_pack_root(name: &str) -> Option<&'static str> {
    nearly(name, PACK_DIRECTORIES.into_iter())
}

fn nearly(name: &str, known: impl Iterator<Item = &'static str> + Clone) -> Option<&'static str> {
    let plain = |name: &str| {
        let lower = name.to_lowercase().replace(".yaml", ".yml").replace('_', "-");
        match lower.rsplit_once('.') {
            Some((stem, ending)) => format!("{}.{ending}", stem.trim_end_matches('s')),
            None => lower.trim_end_matches('s').to_owned(),
        }
    };
    // `AGENT.md` and `AGENTS.md` differ by an `s`, and both are read.
    let everything = MARKERS.iter().chain(&PROJECT_FILES).chain(&AGENT_FILES).chain(&CONTEXT_FILES);
    let is_known =
        everything.chain(&AGENT_DIRECTORIES).chain(&PACK_DIRECTORIES).any(|one| *one == name);
    let mut known = known;
    if is_known { None } else { known.find(|one| plain(one) == plain(name)) }
}

/// Returns the expected kind of entry if an entry of another kind has this name.
pub fn expected_kind(
    role: &DirectoryRole,
    name: &str,
    is_directory: bool,
    beside: &[&str],
) -> Option<&'static str> {
    let DirectoryRole::Candidate { .. } = role else { return None };
    let program = beside.iter().any(|name| MARKERS[..2].contains(name));
    if is_directory && (MARKERS.contains(&name) || program && AGENT_FILES.contains(&name)) {
        return Some("a file");
    }
    (!is_directory && program && AGENT_DIRECTORIES.contains(&name)).then_some("a directory")
}

/// Returns the role of the requested root.
pub fn root() -> DirectoryRole {
    DirectoryRole::Candidate { depth: 0 }
}

/// Returns the role of a folder of an agent that its trust covers.
pub fn trusted_folder(name: &str) -> DirectoryRole {
    if PROGRAM_FOLDERS.contains(&name) { DirectoryRole::Code } else { DirectoryRole::Whole }
}

/// The entries of a user's home that are read: only packs and skills.
pub const HOME_ENTRIES: [&str; 4] = [PACKS[0], PACKS[1], SKILL_HOMES[0], SKILL_HOMES[1]];

/// True if a file is read, given its directory's role and the names beside it.
pub fn includes_file(role: &DirectoryRole, name: &str, beside: &[&str]) -> bool {
    match role {
        DirectoryRole::Whole | DirectoryRole::Code => true,
        DirectoryRole::SkillsOnly => false,
        DirectoryRole::Context => CONTEXT_FILES.contains(&name),
        DirectoryRole::Candidate { depth } => {
            let here = |markers: &[&str]| markers.iter().any(|marker| beside.contains(marker));
            MARKERS.contains(&name)
                || PROJECT_FILES.contains(&name) && (*depth == 0 || here(&MARKERS[..2]))
                || AGENT_FILES.contains(&name) && here(&MARKERS[..2])
                || name == TOOL_ACCESS && here(&[CONTEXT_FOLDER])
                || here(&MARKERS[2..])
        }
    }
}

/// Returns the role of a subdirectory; `None` if it is not read.
pub fn directory_role(role: &DirectoryRole, name: &str, beside: &[&str]) -> Option<DirectoryRole> {
    if LOADER_SKIPS.contains(&name) && (*role != DirectoryRole::Code || name != PACKAGES) {
        return None;
    }
    match role {
        DirectoryRole::Whole => Some(DirectoryRole::Whole),
        DirectoryRole::Code => Some(DirectoryRole::Code),
        DirectoryRole::SkillsOnly => (name == "skills").then_some(DirectoryRole::Whole),
        DirectoryRole::Context => None,
        DirectoryRole::Candidate { depth } => {
            let here = |markers: &[&str]| markers.iter().any(|marker| beside.contains(marker));
            if here(&MARKERS[2..]) {
                return Some(DirectoryRole::Whole);
            }
            if here(&MARKERS[..2]) && AGENT_DIRECTORIES.contains(&name) {
                return Some(DirectoryRole::Whole);
            }
            if here(&MARKERS[..1]) && CODE_DIRECTORIES.contains(&name) {
                return Some(DirectoryRole::Whole);
            }
            if PACKS.contains(&name) {
                return Some(DirectoryRole::Whole);
            }
            if SKILL_HOMES.contains(&name) {
                return Some(DirectoryRole::SkillsOnly);
            }
            if name == CONTEXT_FOLDER {
                return Some(DirectoryRole::Context);
            }
            let plain = !name.starts_with('.') && *depth < PLACES_BELOW && !here(&MARKERS[..2]);
            plain.then_some(DirectoryRole::Candidate { depth: depth + 1 })
        }
    }
}
