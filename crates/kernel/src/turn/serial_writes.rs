//! Calls that change something are made one after the other; calls that only look go side by side.
//!
//! A model that writes a file and then runs it in one reply means that order. A call that waits for a person
//! holds nobody up.
//!
//! Must never: hold back a call that only looks.

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::signal::{Kind, Signal, SignalCondition};

/// The concern: the call that is under way, if it changes something.
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
