//! Errors of loading the definitions of a project.
//!
//! Must never: name a command's option, except in the text of a setting's origin.

use std::io;
use std::path::PathBuf;

/// An error of loading the definitions of a project.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// A file or directory cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The path as it was given.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The directory of the project cannot be used.
    #[error("cannot work in {}: {source}", path.display())]
    Directory {
        /// The path of the directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The settings have errors; they must not be used then.
    #[error("the settings have errors:\n{}", lines.join("\n"))]
    Settings {
        /// The errors, one line each.
        lines: Vec<String>,
        /// True if a setting of the command line has an error.
        in_flags: bool,
    },
    /// The access policies have errors.
    #[error("the access policies have errors, so they allow no access:\n  {}", .0.join("\n  "))]
    Policies(Vec<String>),
    /// The access policies would have errors after a change.
    #[error(
        "nothing was changed, because the access policies would have errors:\n  {}",
        .0.join("\n  ")
    )]
    ChangedPolicies(Vec<String>),
    /// A template does not render.
    #[error("{0}")]
    Template(String),
    /// The process that renders templates cannot be used.
    #[error("cannot start the process that renders templates: {0}")]
    Renderer(io::Error),
    /// A wanted agent, or any agent at all, is missing.
    #[error("{what}")]
    NoAgent {
        /// The missing agent, in words.
        what: String,
        /// The remedy.
        hint: String,
    },
    /// The agent does not load.
    #[error("the agent `{id}` ({file}) does not load{errors}")]
    BrokenAgent {
        /// The id of the agent.
        id: String,
        /// The main file of the agent.
        file: String,
        /// Its first errors; empty if there are none.
        errors: String,
    },
    /// The directory has several agents, and none is named.
    #[error("{place} has several agents: {}", ids.join(", "))]
    SeveralAgents {
        /// The directory.
        place: String,
        /// The ids of the agents.
        ids: Vec<String>,
    },
    /// The ledger failed to read.
    #[error(transparent)]
    Ledger(#[from] agentry_store::Error),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}
