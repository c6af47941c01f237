//! Does what was decided: reads directories into snapshots, renders templates in a confined process.
//!
//! Must never: print, read the command line, or decide what the kernel can decide.
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::wildcard_enum_match_arm)]

pub mod agents;
pub mod limits;
pub mod template;
