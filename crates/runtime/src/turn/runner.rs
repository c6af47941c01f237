//! The parts of a run that this process drives: its services, its state and its result.
//!
//! The work on them is in `run`, `step`, `compaction` and `turn_hooks`.
//!
//! Must never: drive anything.

use std::collections::VecDeque;
use std::sync::Arc;

use agentry_kernel::charter::Charter;
use agentry_model::Model;
use agentry_protocol::event::{Ending, RunPlan};
use agentry_protocol::{ApprovalId, RunId, SessionId, TurnId};
use agentry_store::SessionLock;
use agentry_tools::Workspace;

use crate::definitions::Definitions;
use crate::host::enforcer::RunHomes;
use crate::host::ledger_follower::LedgerSubscription;
use crate::host::session_message::{Attendance, SessionInbox};
use crate::host::{RunObserver, SharedHost};
use crate::turn::pre_turn::{InheritedHook, PreTurnOutcome};

/// The result of driving a run in this process.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// The id of the run.
    pub run: RunId,
    /// The session of the run.
    pub session: SessionId,
    /// The reason why the run left this process.
    pub end: RunExit,
}

/// The reason why a run left this process.
#[derive(Clone, Debug, PartialEq)]
pub enum RunExit {
    /// The run ended.
    Ended {
        /// The final state of the run.
        ending: Ending,
        /// The explanation for a person; None if the ending says enough.
        message: Option<String>,
    },
    /// The run waits for these approvals and is unattended.
    Paused(Vec<ApprovalId>),
}

/// A turn that has not begun: its id, and its charter.
#[derive(Clone, Copy)]
pub(crate) struct PendingTurn<'a> {
    pub(crate) id: &'a TurnId,
    pub(crate) charter: &'a Charter,
}

/// Starts, resumes and cancels runs in this process.
pub struct Runner<'a> {
    /// The shared services.
    pub host: SharedHost,
    /// The loaded definitions.
    pub definitions: &'a Arc<Definitions>,
    /// The observer that receives recorded entries and deltas.
    pub observer: Arc<dyn RunObserver>,
    /// Tells if a person or program can answer approvals.
    pub attendance: Attendance,
    /// The inbox of the session loop.
    pub post: SessionInbox,
}

/// A run that this process drives.
pub(crate) struct ActiveRun {
    pub(crate) id: RunId,
    pub(crate) session: SessionId,
    pub(crate) plan: RunPlan,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) asked: u64,
    /// True if a turn exceeded the context window and is retried.
    pub(crate) retried: bool,
    /// The outcome of the pre-turn hooks, with the index of their step.
    pub(crate) shaped: Option<(usize, PreTurnOutcome)>,
    /// Hooks that another process started for a turn that has not begun.
    pub(crate) left_hooks: VecDeque<InheritedHook>,
    /// True if the session belongs to this run alone and ends with it.
    pub(crate) alone: bool,
    pub(crate) held: RunResources,
}

/// Resources that a run holds while this process drives it; dropping them releases the session.
pub(crate) struct RunResources {
    /// The home directories of its commands.
    pub(crate) homes: RunHomes,
    _ownership: SessionLock,
    _following: LedgerSubscription,
}

impl RunResources {
    pub(crate) fn new(run: RunId, ownership: SessionLock, following: LedgerSubscription) -> Self {
        Self { homes: RunHomes::new(run), _ownership: ownership, _following: following }
    }
}
