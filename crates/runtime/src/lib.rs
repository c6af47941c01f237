//! Does what was decided: reads directories, drives turns, calls models and tools, keeps the record.
//!
//! Read `session.rs` first: take, tell, record, perform.
//!
//! Must never: print, read the command line, or decide what the kernel can decide.
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::wildcard_enum_match_arm)]

mod admit;
pub mod agents;
mod canonical;
pub mod channel;
pub mod chores;
mod compact;
mod confine;
mod define;
pub mod delivery;
pub mod desk;
pub mod door;
mod enforcer;
mod error;
pub mod event_hooks;
pub mod executor;
pub mod facts;
pub mod fork;
mod hidden;
mod history;
pub mod hook_tools;
mod host;
mod intake;
pub mod jobs;
pub mod limits;
mod load_skill;
mod mail;
mod nobody;
mod perform;
pub mod plan;
pub mod programs;
mod rebuild;
pub mod receive;
pub mod redact;
pub mod replay;
pub mod reply;
pub mod request;
pub mod run;
pub mod secret;
mod session;
mod shaping;
pub mod spend;
mod step;
pub mod template;
mod threads;
pub mod trace;
pub mod trust;

pub use define::{Definitions, Terms};
pub use enforcer::Enforcer;
pub use error::Error;
pub use host::{Host, ModelNamed, Models, Witness};
pub use intake::Office;
pub use load_skill::spec as load_skill_spec;
pub use mail::Mail;
pub use session::{Attendance, Handle};
