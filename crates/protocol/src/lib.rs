//! The nouns that are stored or sent: ids, events, messages, calls, verdicts.
//!
//! A type enters this crate only if it reaches the ledger or a wire. Everything here can be
//! parsed, printed, compared and serialized, and nothing more.
//!
//! Must never: decide anything, read a file, look at a clock, or know how an effect is performed.
#![deny(missing_docs, clippy::print_stdout, clippy::print_stderr)]

pub mod access;
mod access_terms;
pub mod agent_event;
pub mod approval;
pub mod call_facts;
pub mod confinement;
pub mod context;
pub mod envelope;
pub mod event;
pub mod event_hook;
mod hash;
pub mod hook;
mod id;
pub mod inbound;
pub mod inbound_request;
pub mod intake;
pub mod job;
pub mod limits;
pub mod message;
mod mode;
mod plan;
pub mod principal;
pub mod protected;
pub mod schema;
pub mod token;
pub mod tool;
pub mod tool_call;
pub mod trust;
pub mod verdict;

pub use hash::{ContentHash, ContentHasher};
pub use id::{
    AccessId, AgentId, ApprovalId, CallId, EventHookId, GrantId, InvocationId, JobId, PersonaId,
    RunId, SessionId, SessionKey, SkillId, TaskId, TokenId, TurnId, WrongId,
};
