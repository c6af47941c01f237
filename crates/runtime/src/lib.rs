//! Performs the kernel's decisions: reads definitions, drives turns, calls models, keeps records.
//!
//! Read `session.rs` first: receive a message, advance the turn, append to the ledger, perform.
//!
//! Must never: print, read the command line, or decide a matter that the kernel can decide.
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::wildcard_enum_match_arm)]

mod canonical_json;
pub mod channel;
pub mod commands;
pub mod definitions;
pub mod dispatch;
pub mod environment;
mod error;
pub mod host;
pub mod inbound;
mod intake_entries;
pub mod limits;
pub mod outbound;
pub mod programs;
pub mod providers;
pub mod redact;
pub mod report;
mod run_request;
pub mod secret_store;
mod spawn;
#[cfg(test)]
mod tests;
pub mod tool_sources;
pub mod turn;

pub use definitions::Definitions;
pub use definitions::definition_source::DefinitionSource;
pub use error::Error;
pub use host::enforcer::Enforcer;
pub use host::ledger_follower::{EntryListener, LedgerFollower, LedgerSubscription};
pub use host::session_message::{Attendance, SessionHandle, SessionInbox};
pub use host::{Host, HostModels, ModelNameResolver, NoticeSink, RunObserver};
pub use run_request::{AdmittedPrompt, RunRequest, RunSettings};
pub use turn::runner::{RunExit, RunOutcome, Runner};
