//! The way in: channels are received, senders identified, access decided, messages routed.
//!
//! Must never: start a run, or accept an event that is not on disk.

pub(crate) mod authorize;
pub mod event_hooks;
pub(crate) mod intake;
pub mod local_intake;
pub mod permission_request;
pub mod receive;
pub mod trace;
