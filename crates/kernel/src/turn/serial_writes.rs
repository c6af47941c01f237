//! Runs calls that change state one after the other; calls that only read run in parallel.
//!
//! A model that writes a file and then runs it in one reply means that order. A call that waits for
//! approval delays no other call.
//!
//! Must never: delay a call that only reads.

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::signal::{Kind, Signal, SignalCondition};

/// The concern, with the number of the running call that changes state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SerialWrites {
    under_way: Option<u64>,
}

impl SerialWrites {
    pub(super) fn bid(&self) -> Bid<Signal> {
        let bid = Bid::new();
        match self.under_way {
            None => bid.wait(Pattern::kind(Kind::Execute).guarded(SignalCondition::Changes)),
            Some(call) => bid
                .block(Pattern::kind(Kind::Execute).guarded(SignalCondition::Changes))
                .wait(Pattern::kind(Kind::Settle).key(call))
                .wait(Pattern::kind(Kind::Withheld).key(call)),
        }
    }

    pub(super) fn on(&mut self, signal: &Signal) -> Flow {
        self.under_way = None;
        if let Signal::Execute(subject) = signal {
            self.under_way = Some(subject.call);
        }
        Flow::Go
    }
}
