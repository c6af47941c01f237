//! Errors that keep a run from starting or continuing.
//!
//! Must never: stand for a failing tool or model; those are answers, and are recorded.

use agentry_protocol::{AgentId, RunId};

/// An error that ends or prevents a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The ledger failed to read or append.
    #[error(transparent)]
    Ledger(#[from] agentry_store::Error),
    /// The model cannot be opened.
    #[error(transparent)]
    Model(#[from] agentry_model::ModelOpenError),
    /// The workspace cannot be opened.
    #[error("cannot work in {path}: {why}")]
    Workspace {
        /// The workspace directory.
        path: String,
        /// The reason from the operating system.
        why: String,
    },
    /// The definitions lack what the run needs.
    #[error("{0}")]
    Definition(String),
    /// The run has ended already.
    #[error("{run} has ended: {status}")]
    Ended {
        /// The id of the run.
        run: RunId,
        /// The final status of the run.
        status: &'static str,
    },
    /// The ledger and this program's choices differ, so the run cannot be continued safely.
    #[error(
        "{run} cannot be resumed: its record says\n  {recorded}\nand this program would do\n  {chosen}\n\
         it was recorded by another version of agentry; use that one, or fork the turn before"
    )]
    Diverged {
        /// The id of the run.
        run: RunId,
        /// The recorded move.
        recorded: String,
        /// The move that this program would choose.
        chosen: String,
    },
    /// The definitions do not load now; inbound events wait until they do.
    #[error("{0}")]
    Unready(String),
    /// Access denies the sender of the prompt.
    #[error("{0}")]
    Denied(String),
    /// The owner has not trusted the agent's programs in their present state.
    #[error(
        "the programs of the agent `{agent}` {}",
        if *has_changed { "have changed since they were trusted" } else { "are not trusted" }
    )]
    Untrusted {
        /// The id of the agent.
        agent: AgentId,
        /// The path to pass to `agentry trust`.
        place: String,
        /// True if an earlier state of the programs was trusted.
        has_changed: bool,
    },
    /// The turn's program stopped working, which is a defect of Agentry.
    #[error("internal error: the turn stopped: {0}")]
    Halted(String),
}
