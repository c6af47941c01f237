//! What a model may call: files, search, a shell and the web.
//!
//! A tool takes arguments and gives an answer; a failure is an answer too. Files are reached through
//! an open directory only, processes through the sandbox only, and every answer has a limit.
//!
//! Must never: decide whether a call may run; know a session, the ledger or a model; read our own
//! environment.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod atomic_write;
mod bash;
mod edit;
mod fetch;
mod glob;
mod grep;
mod html;
pub mod limits;
mod output;
mod read;
mod resolve;
mod sandbox_session;
mod toolset;
mod walk;
mod workspace;
mod write;

pub use arguments::normalize_arguments;
pub use atomic_write::unified_diff;
pub use fetch::FetchRules;
pub use sandbox_session::{FILE_TOOLS, SandboxSession, ToolSandbox, serve_files};
pub use toolset::{Tool, ToolContext, ToolLimits, Toolset};
pub use workspace::{Error, Workspace};
