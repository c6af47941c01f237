//! The programs of an agent and every file that they can load: the part that a person looks at before trusting it.
//!
//! Text for the prompt is not in it; it can ask for much and do nothing. One hash covers all of it, so that a change
//! after the person looked is seen.
//!
//! Must never: leave out a file because it was not read, or decide whether something is trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use agentry_protocol::hook::HookMoment;
use agentry_protocol::{ContentHash, ContentHasher};
use serde::Serialize;

use crate::agent::{Agent, HookSwitch, ToolKind};
use crate::file_tree::{FileContent, FileTree, FileTreeEntry, lies_in};
use crate::mcp::{McpEndpoint, McpServer};
use crate::{config, program, tool_access};

/// Folders of an agent's directory that are part of its trust as a whole: programs, and what programs load.
const FOLDERS: [&str; 5] = ["bin", "data", "hooks", "lib", "tools"];
/// Files of an agent's directory that say what runs, and with what rights.
const FILES: [&str; 4] =
    [program::FILE, config::FILE, tool_access::FILES[0], tool_access::FILES[1]];

/// Which part of an agent's directory is covered by its trust. Paths are relative to that directory.
///
/// A program of the agent sees these files and nothing else of the directory, so what is not listed here cannot be
/// loaded by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrustCoverage {
    /// Single files.
    pub files: BTreeSet<String>,
    /// Folders with everything below them.
    pub folders: BTreeSet<String>,
}

impl TrustCoverage {
    /// Lists the parts for an agent: the usual folders, its programs, and the folder that each program lies in.
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

    /// Tells whether a file belongs to the parts.
    pub fn hold(&self, path: &str) -> bool {
        self.files.contains(path) || self.folders.iter().any(|folder| lies_in(path, folder))
    }

    /// Gives all paths, files and folders.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().chain(&self.folders).map(String::as_str)
    }
}

/// The programs of an agent, and every file that they can load from its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrustManifest {
    /// Which part of the agent's directory it covers.
    pub parts: TrustCoverage,
    /// The hash of each file, by path below the agent's directory.
    pub files: BTreeMap<String, ContentHash>,
    /// One hash for all of them: their paths, their content, whether they are executable.
    pub hash: ContentHash,
    /// What would run.
    pub runs: Vec<RunnableProgram>,
}

impl TrustManifest {
    /// Whether nothing would run; then nobody needs to trust anything.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

/// A program that would run. Printed, it is a line for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunnableProgram {
    /// What starts it.
    #[serde(flatten)]
    pub occasion: ProgramPurpose,
    /// Its file, a path below the agent's directory.
    pub program: String,
}

/// What starts a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProgramPurpose {
    /// It is a hook of the agent.
    Hook {
        /// When it runs.
        moment: HookMoment,
        /// What the program is given.
        args: Vec<String>,
    },
    /// It is a tool that the agent brings.
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
/// Servers that the operator's settings define are the operator's own. The environment and the headers of a server
/// are not read yet; whoever starts servers must add them to the line.
pub fn server_lines<'a>(servers: impl IntoIterator<Item = &'a McpServer>) -> Vec<String> {
    let own = servers.into_iter().filter(|server| server.is_of_project);
    own.map(|server| match &server.reach {
        McpEndpoint::Command(command) => format!("MCP server {}: {}", server.id, words(command)),
        McpEndpoint::Url(url) => format!("MCP server {}: {url}", server.id),
    })
    .collect()
}

/// A command line; a word that would not be seen as one is quoted.
fn words<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    let is_plain = |word: &str| {
        !word.is_empty()
            && !word.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"')
    };
    let word = |word: &String| if is_plain(word) { word.clone() } else { format!("{word:?}") };
    words.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Why it cannot be said what a program could load. Then no program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustError {
    /// Something is there and was not read.
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
    /// A file changed between two looks at it.
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

/// Lists what would run for an agent, and every file that could be loaded by it.
///
/// The tree is the agent's own directory, read without leaving it, so that the result is the same from wherever the
/// agent is reached. A link counts by the content that it leads to. A file too large to be kept has its hash all the
/// same, since `File::hash` is over all of its content. Something that was refused (a link out of the directory, a
/// pipe, too many files) has none, so it is an error. What `layout` passes over, such as `__pycache__`, is in no tree;
/// programs do not see it either.
pub fn manifest(tree: &FileTree, agent: &Agent) -> Result<TrustManifest, TrustError> {
    let parts = TrustCoverage::of(agent);
    let runs = runs_of(agent);
    let (files, hash) = match covered(tree, &parts) {
        // Where nothing runs, nothing can be loaded.
        Err(_) if runs.is_empty() => (BTreeMap::new(), ContentHasher::default().finish()),
        covered => covered?,
    };
    if let Some(missing) = runs.iter().find(|runs| !files.contains_key(&runs.program)) {
        let (path, why) = (missing.program.clone(), "it is not a regular file".to_owned());
        return Err(TrustError::NotRead { path, why });
    }
    Ok(TrustManifest { parts, files, hash, runs })
}

/// Gives the hash of each file of an agent's directory that the parts hold, and one hash over all of them.
///
/// # Errors
/// When something is there that was not read.
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

/// Tells whether an agent brings a program.
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

/// The files that were found, in the order of their paths.
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
