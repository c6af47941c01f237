//! The nouns that are stored or sent: ids, tool names, content hashes.
//!
//! A type enters this crate only if it reaches the ledger or a wire. Everything here can be
//! parsed, printed, compared and serialised, and nothing more.
//!
//! Must never: decide anything, read a file, look at a clock, or know how a thing is done.
#![deny(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod hash;
mod id;
pub mod tool;

pub use hash::{ContentHash, ContentHasher};
pub use id::{AgentId, PersonaId, SkillId, TaskId};
