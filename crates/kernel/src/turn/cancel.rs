//! When somebody asks the turn to end, nothing new begins, from that moment on.
//!
//! Must never: wait for anything before it holds new work back.

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::signal::{Kind, Signal, TurnStopReason};

/// The concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cancellation {
    /// Nobody asked.
    Armed,
    /// Somebody asked; the turn is still to be stopped.
    Stopping,
    /// The turn is stopped.
    Stopped,
}

impl Cancellation {
    pub(super) fn bid(&self) -> Bid<Signal> {
        // Asked once or many times: it is heard, and changes nothing more.
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

/// Holds back all that begins something.
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

/// The same, until the turn is stopped.
pub(super) fn block_until_stopped(bid: Bid<Signal>, why: TurnStopReason) -> Bid<Signal> {
    block_new_work(bid)
        .block(Pattern::kind(Kind::GoOn))
        .block(Pattern::kind(Kind::Finish))
        .request(Signal::Stop(why))
        .wait(Pattern::kind(Kind::Stop))
}
