//! Makes the model read messages that arrive during a turn before the turn may finish.
//!
//! Must never: interrupt a call, or let a turn finish with an unread message.

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::signal::{Kind, Signal};

/// The concern that delivers new messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SteeringState {
    /// The model has read all messages.
    Read,
    /// A message is unread.
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
