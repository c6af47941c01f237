//! Definition files as written: one type for each kind of file.
//!
//! The JSON Schemas that editors use and that `check` applies are generated from these types, so
//! documented and accepted fields cannot differ.
//!
//! Must never: be used past resolution; downstream there is only `Agent`.

pub mod access;
pub mod agent_md;
pub mod agent_yml;
pub mod approvals;
pub mod channels;
pub mod command;
pub mod config;
pub mod event_hook_yml;
pub mod hooks;
pub mod names;
pub mod skill_md;
pub mod task_md;
pub mod tool_access;
pub mod tool_yml;
