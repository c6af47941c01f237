//! Shared by the command line, the chat and the server: faults, text for people, a composed host.
//!
//! Must never: know the command line, HTTP or a screen; the crates above decide how things look.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod address_trust;
pub mod agent_report;
pub mod approval_text;
pub mod bootstrap;
pub mod call_text;
pub mod channels;
pub mod cli_context;
pub mod command_faults;
pub mod diagnostics;
mod env;
pub mod event_description;
pub mod fault;
pub mod image;
mod limits;
pub mod model_choice;
pub mod output;
pub mod prompt_preview;
pub mod runtime_fault;
pub mod sandbox_setup;
pub mod timezone;
