//! Runs and their turns: plans steps, drives the session loop, performs moves, resumes and replays.
//!
//! Read `session.rs` first.
//!
//! Must never: receive from a channel, or choose which run starts next.

pub mod call_facts;
pub(crate) mod cancelled_model;
pub(crate) mod charter;
pub(crate) mod compaction;
pub mod fork;
pub(crate) mod history;
pub(crate) mod perform;
pub(crate) mod pre_turn;
pub mod replay;
pub mod run;
pub(crate) mod runner;
pub(crate) mod session;
pub(crate) mod step;
pub(crate) mod step_exit;
pub(crate) mod turn_agent;
pub(crate) mod turn_hooks;
pub(crate) mod turn_rebuild;
