//! Blocks all new work and stops the turn once a hook halts it.
//!
//! Must never: let a later yes of another hook resume the turn.

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::cancel::{block_new_work, block_until_stopped};
use super::signal::{Kind, Signal, SignalCondition, TurnStopReason};

/// The concern that handles a halt by a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookHalt {
    /// No hook has halted the turn.
    Armed,
    /// A hook has; the turn is not stopped yet.
    Stopping,
    /// The turn is stopped.
    Stopped,
}

impl HookHalt {
    pub(super) fn bid(&self) -> Bid<Signal> {
        let bid = Bid::new();
        match self {
            Self::Armed => [Kind::Consulted, Kind::Watched, Kind::Reviewed]
                .into_iter()
                .fold(bid, |bid, kind| {
                    bid.wait(Pattern::kind(kind).guarded(SignalCondition::Halts))
                }),
            Self::Stopping => block_until_stopped(bid, TurnStopReason::Halted),
            Self::Stopped => block_new_work(bid),
        }
    }

    pub(super) fn on(&mut self, _: &Signal) -> Flow {
        *self = match self {
            Self::Armed => Self::Stopping,
            Self::Stopping | Self::Stopped => Self::Stopped,
        };
        Flow::Go
    }
}
