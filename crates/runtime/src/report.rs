//! Reports on the record: the reasons of an entry, the course of a run, activity, policy replays.
//!
//! Must never: append to the ledger, or report a fact that is not recorded.

pub mod activity;
pub mod policy_replay;
pub mod provenance;
pub mod source_location;
pub mod timeline;
