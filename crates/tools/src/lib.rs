//! The built-in tools for models: files, search, a shell and the web.
//!
//! A tool takes arguments and returns an outcome; a failure is an outcome too. Files are opened
//! only below an open directory, processes run only in the sandbox, and every outcome has a limit.
//!
//! Must never: decide if a call is allowed; know a session, the ledger or a model; read the
//! environment of this process.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod atomic_write;
mod bash;
mod edit;
mod fetch;
mod fetch_rules;
mod file_tools;
mod file_tools_server;
mod glob;
mod grep;
mod html;
pub mod limits;
mod output;
mod read;
mod resolve;
mod sandbox_session;
mod tool;
mod toolset;
mod walk;
mod workspace;
mod write;

pub use arguments::normalize_arguments;
pub use atomic_write::unified_diff;
pub use bash::{ShellCallInput, shell_call, shell_input};
pub use fetch_rules::FetchRules;
pub use file_tools_server::serve_files;
pub use sandbox_session::{FILE_TOOLS, SandboxSession, ToolSandbox};
pub use tool::{Tool, ToolContext, ToolLimits};
pub use toolset::{Toolset, broken_tool, unknown_tool};
pub use workspace::{Error, Workspace};
