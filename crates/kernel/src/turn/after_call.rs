//! Holds the outcome of a call back from the model until its hooks have run.
//!
//! Must never: delay a turn that is stopped.

use std::collections::BTreeMap;

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::signal::{HookVerdict, Kind, Signal, SignalCondition};

/// The concern that runs hooks after each call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AfterCall {
    calls: BTreeMap<u64, State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum State {
    // The call is running.
    Running,
    // A hook must examine the outcome.
    Wanted,
    // A hook is examining it.
    Watching,
}

impl AfterCall {
    pub(super) fn bid(&self) -> Bid<Signal> {
        let kind = Pattern::kind;
        let mut bid = Bid::new()
            .wait(kind(Kind::Execute).guarded(SignalCondition::Watched))
            .wait(kind(Kind::Stop));
        if !self.calls.is_empty() {
            bid = bid.block(kind(Kind::Pass));
        }
        for (call, state) in &self.calls {
            bid = match state {
                State::Running => {
                    bid.wait(kind(Kind::Finished).key(*call)).wait(kind(Kind::Withheld).key(*call))
                }
                State::Wanted => bid.request(Signal::Watch(*call)),
                State::Watching => bid.wait(kind(Kind::Watched).key(*call)),
            };
        }
        bid
    }

    pub(super) fn on(&mut self, signal: &Signal) -> Flow {
        if let Signal::Execute(subject) = signal {
            self.calls.insert(subject.call, State::Running);
        }
        if let Signal::Finished(call) | Signal::Watched(call, HookVerdict::Next) = signal {
            self.calls.insert(*call, State::Wanted);
        } else if let Signal::Watched(call, _) = signal {
            self.calls.remove(call);
        }
        if let Signal::Withheld(subject) = signal {
            self.calls.remove(&subject.call);
        }
        if let Signal::Watch(call) = signal {
            self.calls.insert(*call, State::Watching);
        }
        if let Signal::Stop(_) = signal {
            self.calls.clear();
        }
        Flow::Go
    }
}
