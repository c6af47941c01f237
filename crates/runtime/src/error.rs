//! Why a run cannot begin or go on.
//!
//! Must never: stand for a failing tool or model; those are answers, and are recorded.

use agentry_protocol::{AgentId, RunId};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The ledger did not take or give something.
    #[error(transparent)]
    Ledger(#[from] agentry_store::Error),
    /// There is no such model.
    #[error(transparent)]
    Model(#[from] agentry_model::ModelOpenError),
    /// The directory to work in cannot be used.
    #[error("cannot work in {path}: {why}")]
    Workspace {
        /// The directory.
        path: String,
        /// Why.
        why: String,
    },
    /// The definitions do not give what the run needs.
    #[error("{0}")]
    Definition(String),
    /// The run is over.
    #[error("{run} has ended: {status}")]
    Ended {
        /// The run.
        run: RunId,
        /// How.
        status: &'static str,
    },
    /// The record and the program do not agree, so nobody can say what would happen next.
    #[error(
        "{run} cannot go on: its record says\n  {recorded}\nand this program would do\n  {chosen}\n\
         it was recorded by another version of agentry; use that one, or fork the turn before"
    )]
    Diverged {
        /// The run.
        run: RunId,
        /// What was recorded.
        recorded: String,
        /// What would be done.
        chosen: String,
    },
    /// The definitions cannot be read now; whoever came waits until they can.
    #[error("{0}")]
    Unready(String),
    /// Access does not let in who said it.
    #[error("{0}")]
    Denied(String),
    /// The owner has not looked at the programs of the agent as they are now.
    #[error(
        "the agent `{agent}` brings programs that {}",
        if *has_changed { "changed since somebody looked at them" } else { "nobody has looked at" }
    )]
    Untrusted {
        /// The agent.
        agent: AgentId,
        /// What to give to `agentry trust`.
        place: String,
        /// Whether somebody looked at them before.
        has_changed: bool,
    },
    /// The turn's program stopped working. A defect of ours.
    #[error("the turn stopped working: {0}")]
    Halted(String),
}
