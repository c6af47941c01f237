//! What a model may call: files, search, a shell and the web.
//!
//! A tool takes arguments and gives an answer; a failure is an answer too. Files are reached through
//! an open directory only, processes through the sandbox only, and every answer has a limit.
//!
//! Must never: decide whether a call may run; know a session, the ledger or a model; read our own
//! environment.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod bash;
mod confined;
mod edit;
mod fetch;
mod glob;
mod grep;
pub mod limits;
mod output;
mod page;
mod read;
mod replace;
mod resolve;
mod toolset;
mod walk;
mod workspace;
mod write;

pub use arguments::normalised;
pub use confined::{Confined, Confines, FILE_TOOLS, serve_files};
pub use fetch::FetchRules;
pub use replace::unified_diff;
pub use toolset::{Tool, ToolBounds, ToolContext, Toolset};
pub use workspace::{Error, Workspace};
