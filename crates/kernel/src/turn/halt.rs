//! When a hook says that nothing at all is to go on, nothing new begins and the turn stops.
//!
//! Must never: let a later yes of another hook bring the turn on again.

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::cancel::{block_new_work, block_until_stopped};
use super::signal::{Kind, Signal, SignalCondition, TurnStopReason};

/// The concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookHalt {
    /// No hook said so.
    Armed,
    /// One did; the turn is still to be stopped.
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
