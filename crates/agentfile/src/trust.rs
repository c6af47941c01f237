//! What of a directory would run, and what says so: the part that a person looks at before trusting it.
//!
//! Text for the prompt is not in it; it can ask for much and do nothing. What the files could start is, with one
//! hash over all of it, so that a change after the person looked is seen.
//!
//! Must never: leave out a file because it was not read, or decide whether something is trusted.

use std::collections::BTreeMap;
use std::fmt;

use agentry_protocol::hook::Moment;
use agentry_protocol::{ContentHash, ContentHasher};
use serde::Serialize;

use crate::agent::{Agent, HookSwitch, ToolKind};
use crate::file_tree::{Entry, File, FileTree, lies_in};
use crate::mcp::{self, McpServer, Reach};
use crate::{config, program, tool_access};

/// What lies in these folders beside the agent is run, or read by what is run.
const CODE: [&str; 4] = ["hooks", "tools", "lib", "bin"];

/// What of a directory would run, and what says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Manifest {
    /// The hash of each file, by path below the tree.
    pub files: BTreeMap<String, ContentHash>,
    /// One hash for all of them: their paths, their content, whether they are executable.
    pub hash: ContentHash,
    /// What would run.
    pub runs: Vec<Runs>,
}

impl Manifest {
    /// Whether nothing would run; then nobody needs to trust anything.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

/// Something that would run. Printed, it is a line for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Runs {
    /// A hook of the agent.
    Hook {
        /// When it runs.
        moment: Moment,
        /// Its program, a path in the agent's directory.
        program: String,
        /// What the program is given.
        args: Vec<String>,
    },
    /// A tool that the agent brings.
    Tool {
        /// Its name.
        name: String,
        /// Its program, a path in the agent's directory.
        program: String,
    },
    /// An MCP server.
    Server {
        /// Its name.
        name: String,
        /// The command that starts it, or where it is.
        reach: Reach,
    },
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hook { moment, program, args } => {
                write!(f, "hook {moment}: {}", words([program].into_iter().chain(args)))
            }
            Self::Tool { name, program } => write!(f, "tool {name}: {program}"),
            Self::Server { name, reach: Reach::Command(command) } => {
                write!(f, "MCP server {name}: {}", words(command))
            }
            Self::Server { name, reach: Reach::Url(url) } => write!(f, "MCP server {name}: {url}"),
        }
    }
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

/// Why it cannot be said what would run. Then nothing may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The agent does not lie in this tree.
    Elsewhere {
        /// The agent's directory.
        directory: String,
    },
    /// Something is there and was not read.
    NotRead {
        /// Its path below the tree.
        path: String,
    },
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere { directory } => write!(f, "{directory} is not in what was read"),
            Self::NotRead { path } => write!(f, "{path} is there but was not read"),
        }
    }
}

impl std::error::Error for Unknown {}

/// What would run for an agent; without one, what a directory brings for every agent: its MCP servers.
///
/// The tree is the one that the agent was read from, as `library::Input` has it: the whole project, not only the
/// agent's directory, because `.mcp.json` and `agentry.toml` stand at its root; or the user's home, for an agent that
/// lies there. The servers are those of `Library::mcp`; of them only what the tree's own files define counts, and those
/// that the operator's settings define are trusted already.
///
/// A file too large to be kept has its hash all the same, since `File::hash` is over all of its content. Something that
/// was refused (a link out of the tree, a pipe, too much of it) has none, so it is an error. What `layout` passes over,
/// such as `node_modules` and `__pycache__`, is in no tree and so not in here.
pub fn manifest<'a>(
    tree: &FileTree,
    agent: Option<&Agent>,
    servers: impl IntoIterator<Item = &'a McpServer>,
) -> Result<Manifest, Unknown> {
    let mut named = vec![mcp::FILE.to_owned(), config::FILE.to_owned()];
    let servers = servers.into_iter().filter(|one| is_from(tree, one)).map(Runs::server);
    let mut runs: Vec<Runs> = Vec::new();
    let mut folders = Vec::new();
    if let Some(agent) = agent {
        let directory = directory_in(tree, agent)?;
        let at = |path: &str| match directory {
            "" => path.to_owned(),
            directory => format!("{directory}/{path}"),
        };
        runs = runs_of(agent);
        named.extend([program::FILE, config::FILE].map(at));
        named.extend(tool_access::FILES.map(at));
        let programs: Vec<String> = runs.iter().filter_map(Runs::program).map(at).collect();
        if let Some(path) = programs.iter().find(|path| tree.file(path).is_none()) {
            return Err(Unknown::NotRead { path: path.clone() });
        }
        named.extend(programs);
        folders = CODE.map(at).to_vec();
    }
    runs.extend(servers);
    let mut found = Found::default();
    for (path, entry) in tree.below("") {
        let is_code = folders.iter().any(|folder| lies_in(path, folder));
        let named = named.iter().any(|one| one == path);
        match entry {
            // Where nothing runs, it cannot be part of what does.
            Entry::Refused(_) if (named || is_code) && !runs.is_empty() => {
                return Err(Unknown::NotRead { path: path.to_owned() });
            }
            Entry::File(file) if named || is_code && !is_prose(path, file) => found.add(path, file),
            Entry::Refused(_) | Entry::File(_) => {}
        }
    }
    Ok(Manifest { files: found.files, hash: found.hasher.finish(), runs })
}

/// What of each agent would run; an agent lies in the project or in the user's home.
pub(crate) fn of_all(
    (project, home): (&FileTree, Option<&FileTree>),
    agents: &BTreeMap<String, Agent>,
    servers: &BTreeMap<String, McpServer>,
) -> BTreeMap<String, Result<Manifest, Unknown>> {
    let of = |agent: &Agent| {
        let in_project = manifest(project, Some(agent), servers.values());
        match (in_project, home) {
            (Err(Unknown::Elsewhere { .. }), Some(home)) => {
                manifest(home, Some(agent), servers.values())
            }
            (found, _) => found,
        }
    };
    agents.iter().map(|(id, agent)| (id.clone(), of(agent))).collect()
}

/// The agent's directory as a path below the tree.
fn directory_in<'a>(tree: &FileTree, agent: &'a Agent) -> Result<&'a str, Unknown> {
    let root = tree.shown("");
    let root = root.trim_end_matches('/');
    let elsewhere = || Unknown::Elsewhere { directory: agent.directory.clone() };
    if !lies_in(&agent.directory, root) {
        return Err(elsewhere());
    }
    let directory = agent.directory[root.len()..].trim_matches('/');
    let is_here = directory.is_empty() || tree.below(directory).next().is_some();
    if is_here { Ok(directory) } else { Err(elsewhere()) }
}

/// Whether one of the tree's own files defines a server.
fn is_from(tree: &FileTree, server: &McpServer) -> bool {
    [mcp::FILE, config::FILE].iter().any(|path| tree.shown(path) == *server.origin.file)
}

/// What is only read by people. A program may have any name.
fn is_prose(path: &str, file: &File) -> bool {
    path.ends_with(".md") && !file.executable
}

fn runs_of(agent: &Agent) -> Vec<Runs> {
    let hooks = agent.powers.hooks.iter().filter_map(|hook| match &hook.switch {
        HookSwitch::On(spec) => Some(Runs::Hook {
            moment: spec.moment,
            program: spec.program.clone(),
            args: spec.args.clone(),
        }),
        HookSwitch::Off => None,
    });
    let tools = agent.powers.toolset.iter().filter_map(|tool| match &tool.kind {
        ToolKind::Custom(custom) => Some(Runs::Tool {
            name: tool.name.as_str().to_owned(),
            program: custom.program.clone(),
        }),
        ToolKind::Host | ToolKind::Mcp { .. } => None,
    });
    hooks.chain(tools).collect()
}

impl Runs {
    fn server(server: &McpServer) -> Self {
        Self::Server { name: server.id.clone(), reach: server.reach.clone() }
    }

    /// The program, if it lies in the agent's directory.
    fn program(&self) -> Option<&str> {
        match self {
            Self::Hook { program, .. } | Self::Tool { program, .. } => Some(program),
            Self::Server { .. } => None,
        }
    }
}

/// The files that were found, in the order of their paths.
#[derive(Default)]
struct Found {
    files: BTreeMap<String, ContentHash>,
    hasher: ContentHasher,
}

impl Found {
    fn add(&mut self, path: &str, file: &File) {
        let mode: &[u8] = if file.executable { b"x" } else { b"-" };
        self.hasher.part(path.as_bytes()).part(mode).part(file.hash.as_str().as_bytes());
        self.files.insert(path.to_owned(), file.hash.clone());
    }
}
