//! The decisions of Agentry: pure functions from the recorded state to the next move.
//!
//! Must never: wait, read a file, read a clock, draw a random number or do I/O. Equal input gives
//! equal output on every machine; replay and tests rely on it.
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::wildcard_enum_match_arm)]

pub mod access;
pub mod approval;
pub mod authority;
pub mod charter;
pub mod chunk;
pub mod compaction;
pub mod confinement;
pub mod danger;
pub mod event_hook;
pub mod executor_choice;
pub mod hook;
pub mod hook_output;
pub mod identity;
pub mod legible_text;
pub mod limits;
pub mod links;
pub mod mailbox;
pub mod model_choice;
pub mod moves;
pub mod permission_request;
pub mod prompt;
pub mod provider_keys;
pub mod route;
pub mod scheduler;
pub mod shell;
pub mod template;
pub mod tokens;
pub mod turn;
pub mod visibility;
