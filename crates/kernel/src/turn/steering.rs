//! What somebody says while a turn is under way is read by the model before the turn may finish.
//!
//! Must never: interrupt a call, or let a turn finish with something unread.

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::signal::{Kind, Signal};

/// The concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SteeringState {
    /// The model has read everything.
    Read,
    /// It has not.
    Unread,
}

impl SteeringState {
    pub(super) fn bid(&self) -> Bid<Signal> {
        let bid = Bid::new().wait(Pattern::kind(Kind::Steered)).wait(Pattern::kind(Kind::Think));
        match self {
            Self::Read => bid,
            Self::Unread => bid
                .block(Pattern::kind(Kind::Finish))
                .block(Pattern::kind(Kind::Review))
                .request(Signal::GoOn),
        }
    }

    pub(super) fn on(&mut self, signal: &Signal) -> Flow {
        if *signal == Signal::Steered {
            *self = Self::Unread;
        }
        if matches!(signal, Signal::Think(_)) {
            *self = Self::Read;
        }
        Flow::Go
    }
}
