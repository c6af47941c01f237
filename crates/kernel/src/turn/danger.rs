//! Refuses dangerous calls, in any mode and regardless of approvals.
//!
//! Two concerns: the guard blocks the call, and its companion requests the refusal, so that the
//! turn does not wait for ever. The guard judges the call's data when it is about to run.
//!
//! Must never: decide what is dangerous. See the kernel's `danger`.

use std::collections::BTreeSet;

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::signal::{CallRefusal, Kind, Signal, SignalCondition};

/// Blocks dangerous calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DangerGuard;

impl DangerGuard {
    pub(super) fn bid(&self) -> Bid<Signal> {
        Bid::new().block(Pattern::kind(Kind::Execute).guarded(SignalCondition::Dangerous))
    }
}

/// Requests the refusal of dangerous calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DangerRefusal {
    calls: BTreeSet<u64>,
}

impl DangerRefusal {
    pub(super) fn bid(&self) -> Bid<Signal> {
        let mut bid = Bid::new()
            .wait(Pattern::kind(Kind::Propose).guarded(SignalCondition::Dangerous))
            .wait(Pattern::kind(Kind::Settle))
            .wait(Pattern::kind(Kind::Reject));
        for call in &self.calls {
            bid = bid.request(Signal::Reject(*call, CallRefusal::Danger));
        }
        bid
    }

    pub(super) fn on(&mut self, signal: &Signal) -> Flow {
        if let Signal::Propose(subject) = signal {
            self.calls.insert(subject.call);
        }
        if let Signal::Settle(call) | Signal::Reject(call, _) = signal {
            self.calls.remove(call);
        }
        Flow::Go
    }
}
