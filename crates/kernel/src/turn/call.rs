//! One call, from its proposal to its outcome.
//!
//! A call requests to run; it is refused, run or stopped, and in each case settled exactly once.
//!
//! Must never: take effect twice, or end without being settled.

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::signal::{CallSummary, Kind, Signal};

/// The concern for one proposed call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallConcern {
    subject: CallSummary,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum State {
    Wanted,
    Running,
    Aborting,
    Dying,
    Over,
}

impl CallConcern {
    /// Creates the concern for a call that was proposed.
    pub fn new(subject: CallSummary) -> Self {
        Self { subject, state: State::Wanted }
    }

    /// Returns the number of the call in its turn.
    pub fn number(&self) -> u64 {
        self.subject.call
    }

    pub(super) fn bid(&self) -> Bid<Signal> {
        let call = self.subject.call;
        let bid = Bid::new();
        let own = |kind| Pattern::kind(kind).key(call);
        match self.state {
            State::Wanted => bid
                .request(Signal::Execute(self.subject))
                .wait(own(Kind::Reject))
                .wait(own(Kind::Consulted))
                .wait(Pattern::kind(Kind::Stop)),
            State::Running => bid
                .wait(own(Kind::Finished))
                .wait(own(Kind::Withheld))
                .wait(Pattern::kind(Kind::Stop)),
            State::Aborting => {
                bid.request(Signal::Abort(call)).wait(own(Kind::Finished)).wait(own(Kind::Withheld))
            }
            State::Dying => bid.wait(own(Kind::Finished)).wait(own(Kind::Withheld)),
            State::Over => bid.request(Signal::Settle(call)),
        }
    }

    pub(super) fn on(&mut self, signal: &Signal) -> Flow {
        self.state = match (self.state, signal) {
            (State::Wanted, Signal::Execute(_)) => State::Running,
            // A hook may have changed its arguments.
            (State::Wanted, Signal::Consulted(subject, _)) => {
                self.subject = *subject;
                State::Wanted
            }
            // Nothing was done; it requests to run in its current form.
            (State::Running, Signal::Withheld(subject)) => {
                self.subject = *subject;
                State::Wanted
            }
            (State::Running, Signal::Stop(_)) => State::Aborting,
            (State::Aborting, Signal::Abort(_)) => State::Dying,
            (State::Over, Signal::Settle(_)) => return Flow::End,
            // Refused or stopped before it ran, or finished.
            (State::Wanted | State::Running | State::Aborting | State::Dying | State::Over, _) => {
                State::Over
            }
        };
        Flow::Go
    }
}
