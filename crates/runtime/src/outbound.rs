//! The way out: sends answers to the channels of their questions.
//!
//! Must never: send an answer that is not recorded.

pub mod agent_events;
pub mod chunked_send;
pub mod program_text;
pub mod reply;
