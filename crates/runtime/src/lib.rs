//! Performs the kernel's decisions: reads definitions, drives turns, calls models, keeps records.
//!
//! Read `session.rs` first: receive a message, advance the turn, append to the ledger, perform.
//!
//! Must never: print, read the command line, or decide a matter that the kernel can decide.
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::wildcard_enum_match_arm)]

mod authorize;
pub mod call_facts;
mod cancelled_model;
mod canonical_json;
pub mod channel;
mod charter;
pub mod chunked_send;
mod compaction;
mod confinement;
mod definition_source;
mod definitions;
pub mod dispatcher;
mod enforcer;
mod error;
pub mod event_hooks;
pub mod executor;
pub mod fork;
mod history;
pub mod hook_tools;
mod host;
mod intake;
pub mod jobs;
mod ledger_follower;
pub mod limits;
mod load_skill;
pub mod local_intake;
pub mod maintenance;
mod perform;
pub mod permission_request;
pub mod plan;
mod pre_turn;
pub mod programs;
pub mod receive;
pub mod redact;
mod redact_values;
pub mod replay;
pub mod reply;
pub mod run;
mod run_request;
mod runner;
pub mod secrets;
mod session;
mod session_message;
mod spawn;
pub mod spending;
mod step;
mod step_exit;
pub mod template_process;
pub mod trace;
pub mod tree_reader;
pub mod trust;
mod turn_hooks;
mod turn_rebuild;

pub use definition_source::DefinitionSource;
pub use definitions::Definitions;
pub use enforcer::Enforcer;
pub use error::Error;
pub use host::{Host, HostModels, ModelNameResolver, NoticeSink, RunObserver};
pub use ledger_follower::LedgerFollower;
pub use load_skill::spec as load_skill_spec;
pub use run_request::{AdmittedPrompt, RunRequest, RunSettings};
pub use runner::{RunExit, RunOutcome, Runner};
pub use session_message::{Attendance, SessionHandle, SessionInbox};
