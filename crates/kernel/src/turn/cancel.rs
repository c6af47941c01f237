//! Blocks all new work as soon as the turn is asked to end.
//!
//! Must never: wait for any signal before it blocks new work.

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::signal::{Kind, Signal, TurnStopReason};

/// The concern that handles cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cancellation {
    /// No cancellation was requested.
    Armed,
    /// Cancellation was requested; the turn is not stopped yet.
    Stopping,
    /// The turn is stopped.
    Stopped,
}

impl Cancellation {
    pub(super) fn bid(&self) -> Bid<Signal> {
        // Further cancellations are accepted without effect.
        let bid = Bid::new().wait(Pattern::kind(Kind::Cancelled));
        match self {
            Self::Armed => bid,
            Self::Stopping => block_until_stopped(bid, TurnStopReason::Cancelled),
            Self::Stopped => block_new_work(bid),
        }
    }

    pub(super) fn on(&mut self, signal: &Signal) -> Flow {
        *self = match (&self, signal) {
            (Self::Armed, _) => Self::Stopping,
            (Self::Stopping, Signal::Stop(_)) => Self::Stopped,
            (Self::Stopping, _) => Self::Stopping,
            (Self::Stopped, _) => Self::Stopped,
        };
        Flow::Go
    }
}

/// Blocks all signals that begin new work.
pub(super) fn block_new_work(bid: Bid<Signal>) -> Bid<Signal> {
    [
        Kind::Think,
        Kind::Propose,
        Kind::Ask,
        Kind::Execute,
        Kind::Check,
        Kind::Consult,
        Kind::Watch,
        Kind::Review,
    ]
    .into_iter()
    .fold(bid, |bid, kind| bid.block(Pattern::kind(kind)))
}

/// Blocks all new work and requests to stop the turn for this reason.
pub(super) fn block_until_stopped(bid: Bid<Signal>, why: TurnStopReason) -> Bid<Signal> {
    block_new_work(bid)
        .block(Pattern::kind(Kind::GoOn))
        .block(Pattern::kind(Kind::Finish))
        .request(Signal::Stop(why))
        .wait(Pattern::kind(Kind::Stop))
}
