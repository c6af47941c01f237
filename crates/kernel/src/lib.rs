//! What Agentry decides: pure functions from what is known to what is next.
//!
//! Must never: wait, read a file, look at a clock, draw a random number or ask for anything. The same
//! input gives the same output, on every machine; replay and tests rest on it.
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
pub mod route;
pub mod scheduler;
pub mod shell;
pub mod template;
pub mod tokens;
pub mod turn;
