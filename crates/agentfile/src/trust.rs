//! The programs of an agent and every file that they can load, which a person reviews to trust it.
//!
//! Text for the prompt is not in it; such text can request much but run nothing. One hash covers
//! all of it, so that a change after the review is noticed.
//!
//! Must never: leave out a file because it was not read, or decide whether an agent is trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use agentry_protocol::hook::HookMoment;
use agentry_protocol::{ContentHash, ContentHasher};
use serde::{Deserialize, Serialize};

use crate::agent::{Agent, HookSwitch, ToolKind};
use crate::file_tree::{FileContent, FileTree, FileTreeEntry, lies_in};
use crate::mcp::{McpEndpoint, McpServer};
use crate::{config, program, tool_access};

/// Folders of an agent that its trust covers as a whole: programs and the files they load.
const FOLDERS: [&str; 5] = ["bin", "data", "hooks", "lib", "tools"];
/// Files of an agent's directory that define its programs and their rights.
const FILES: [&str; 4] =
    [program::FILE, config::FILE, tool_access::FILES[0], tool_access::FILES[1]];

/// The part of an agent's directory that its trust covers. Paths are relative to that directory.
///
/// A program of the agent sees only these files of the directory, so it cannot load a file that is
/// not listed here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustCoverage {
    /// Single files.
    pub files: BTreeSet<String>,
    /// Folders with everything below them.
    pub folders: BTreeSet<String>,
}

impl TrustCoverage {
    /// Returns the coverage of an agent: usual folders, its programs, the folder of each program.
    pub fn of(agent: &Agent) -> Self {
        let files = FILES.map(str::to_owned).into_iter().collect();
        let mut parts = Self { files, folders: FOLDERS.map(str::to_owned).into_iter().collect() };
        for program in runs_of(agent).into_iter().map(|runs| runs.program) {
            if let Some((folder, _)) = program.rsplit_once('/')
                && !parts.folders.iter().any(|one| lies_in(folder, one))
            {
                parts.folders.insert(folder.to_owned());
            }
            parts.files.insert(program);
        }
        parts
    }

    /// Returns true if the coverage includes a file.
    pub fn hold(&self, path: &str) -> bool {
        self.files.contains(path) || self.folders.iter().any(|folder| lies_in(path, folder))
    }

    /// Returns all paths, files and folders.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().chain(&self.folders).map(String::as_str)
    }
}

/// The programs of an agent, and every file that they can load from its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrustManifest {
    /// The part of the agent's directory that it covers.
    pub parts: TrustCoverage,
    /// The hash of each file, by path below the agent's directory.
    pub files: BTreeMap<String, ContentHash>,
    /// One hash for all of them: their paths, their content, whether they are executable.
    pub hash: ContentHash,
    /// The programs that would run.
    pub runs: Vec<RunnableProgram>,
}

impl TrustManifest {
    /// True if no program would run; then no trust is needed.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

/// A program that would run. Printed, it is a line for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunnableProgram {
    /// The reason to start it.
    #[serde(flatten)]
    pub occasion: ProgramPurpose,
    /// Its file, a path below the agent's directory.
    pub program: String,
}

/// The reason to start a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProgramPurpose {
    /// A hook of the agent.
    Hook {
        /// The moment at which it runs.
        moment: HookMoment,
        /// The arguments of the program.
        args: Vec<String>,
    },
    /// A tool of the agent.
    Tool {
        /// Its name.
        name: String,
    },
}

impl fmt::Display for RunnableProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.occasion {
            ProgramPurpose::Hook { moment, args } => {
                write!(f, "hook {moment}: {}", words([&self.program].into_iter().chain(args)))
            }
            ProgramPurpose::Tool { name } => write!(f, "tool {name}: {}", self.program),
        }
    }
}

/// Describes the MCP servers that the project's own files define, one line each.
///
/// Servers in the operator's settings are the operator's own. Environment and headers of a server
/// are not read yet; code that starts servers must add them to the line.
pub fn server_lines<'a>(servers: impl IntoIterator<Item = &'a McpServer>) -> Vec<String> {
    let own = servers.into_iter().filter(|server| server.is_of_project);
    own.map(|server| match &server.reach {
        McpEndpoint::Command(command) => format!("MCP server {}: {}", server.id, words(command)),
        McpEndpoint::Url(url) => format!("MCP server {}: {url}", server.id),
    })
    .collect()
}

/// Joins words to a command line; a word with spaces or the like is quoted.
fn words<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    let is_plain = |word: &str| {
        !word.is_empty()
            && !word.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"')
    };
    let word = |word: &String| if is_plain(word) { word.clone() } else { format!("{word:?}") };
    words.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The reason why the files that a program could load are unknown. Then no program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustError {
    /// A file or directory is present and was not read.
    NotRead {
        /// Its path below the agent's directory.
        path: String,
        /// The reason.
        why: String,
    },
    /// The directory cannot be read.
    Unreadable {
        /// The agent's directory.
        directory: String,
        /// The reason.
        why: String,
    },
    /// A file changed between two reads.
    Changed {
        /// Its path below the agent's directory.
        path: String,
    },
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRead { path, why } => write!(f, "{path} is there but was not read: {why}"),
            Self::Unreadable { directory, why } => write!(f, "{directory} cannot be read: {why}"),
            Self::Changed { path } => write!(f, "{path} changed while it was read"),
        }
    }
}

impl std::error::Error for TrustError {}

/// Lists the programs of an agent, and every file that they could load.
///
/// The tree is the agent's own directory, read without leaving it, so that the result does not
/// depend on the path to the agent. A link counts by the content of its target. A file too large to
/// keep has a hash all the same, since `FileContent::hash` covers all of its content. A refused
/// entry (a link out of the directory, a pipe, too many files) has none, so it is an error. Entries
/// that `layout` skips, such as `__pycache__`, are in no tree; programs do not see them either.
pub fn manifest(tree: &FileTree, agent: &Agent) -> Result<TrustManifest, TrustError> {
    let parts = TrustCoverage::of(agent);
    let runs = runs_of(agent);
    let (files, hash) = match covered(tree, &parts) {
        // An agent without programs can load nothing.
        Err(_) if runs.is_empty() => (BTreeMap::new(), ContentHasher::default().finish()),
        covered => covered?,
    };
    if let Some(missing) = runs.iter().find(|runs| !files.contains_key(&runs.program)) {
        let (path, why) = (missing.program.clone(), "it is not a regular file".to_owned());
        return Err(TrustError::NotRead { path, why });
    }
    Ok(TrustManifest { parts, files, hash, runs })
}

/// Returns the hash of each covered file of an agent's directory, and one hash over all of them.
///
/// # Errors
/// An entry that is present and was not read.
pub fn covered(
    tree: &FileTree,
    parts: &TrustCoverage,
) -> Result<(BTreeMap<String, ContentHash>, ContentHash), TrustError> {
    let mut found = CoveredFiles::default();
    for (path, entry) in tree.below("") {
        match entry {
            FileTreeEntry::Refused(why) if path == "." || parts.hold(path) => {
                let (path, why) = (path.to_owned(), why.to_string());
                return Err(TrustError::NotRead { path, why });
            }
            FileTreeEntry::File(file) if parts.hold(path) => found.add(path, file),
            FileTreeEntry::Refused(_) | FileTreeEntry::File(_) => {}
        }
    }
    Ok((found.files, found.hasher.finish()))
}

/// Returns true if an agent brings a program.
pub fn brings_programs(agent: &Agent) -> bool {
    !runs_of(agent).is_empty()
}

/// Lists the programs of an agent.
fn runs_of(agent: &Agent) -> Vec<RunnableProgram> {
    let hooks = agent.powers.hooks.iter().filter_map(|hook| match &hook.switch {
        HookSwitch::On(spec) => {
            let occasion = ProgramPurpose::Hook { moment: spec.moment, args: spec.args.clone() };
            Some(RunnableProgram { occasion, program: spec.program.clone() })
        }
        HookSwitch::Off => None,
    });
    let tools = agent.powers.toolset.iter().filter_map(|tool| match &tool.kind {
        ToolKind::Custom(custom) => {
            let occasion = ProgramPurpose::Tool { name: tool.name.as_str().to_owned() };
            Some(RunnableProgram { occasion, program: custom.program.clone() })
        }
        ToolKind::Host | ToolKind::Mcp { .. } => None,
    });
    hooks.chain(tools).collect()
}

/// The covered files, in the order of their paths.
#[derive(Default)]
struct CoveredFiles {
    files: BTreeMap<String, ContentHash>,
    hasher: ContentHasher,
}

impl CoveredFiles {
    fn add(&mut self, path: &str, file: &FileContent) {
        let mode: &[u8] = if file.executable { b"x" } else { b"-" };
        self.hasher.part(path.as_bytes()).part(mode).part(file.hash.as_str().as_bytes());
        self.files.insert(path.to_owned(), file.hash.clone());
    }
}
