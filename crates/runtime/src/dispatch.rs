//! Schedules the work: mailboxes, the order of turns, active runs, and the maintenance of each minute.
//!
//! Must never: decide who may send, or drive a turn itself.

pub mod dispatcher;
pub mod maintenance;
