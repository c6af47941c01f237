//! Parses the text of agent directories into `Agent` values and diagnostics.
//!
//! Reads agent programs, packs, context folders, skills, tasks and project settings. The file as
//! written is a manifest; the resolved form is an `Agent`, in which every decision knows the file
//! and line it came from.
//!
//! Must never: touch the file system, network, clock or environment. The input is a `FileTree`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod access;
pub mod agent;
pub mod approval_rule;
pub mod config;
pub mod context_folder;
pub mod diagnostic;
pub mod diagnostic_code;
pub mod event_hook;
pub mod file_tree;
pub mod front_matter;
pub mod json;
mod layered_values;
pub mod layout;
pub mod library;
pub mod limits;
pub mod manifest;
pub mod markdown;
pub mod mcp;
pub mod name_index;
pub mod node;
pub mod pack;
mod pattern;
pub mod program;
pub mod resolution;
pub mod sandbox;
pub mod schema;
pub mod scope;
pub mod skill;
pub mod source;
pub mod task;
pub mod template;
pub mod toml;
pub mod tool_access;
pub mod toolset;
pub mod trust;
pub mod yaml;
