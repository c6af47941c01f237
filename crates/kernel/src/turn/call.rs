//! One call, from the table to its outcome.
//!
//! Wants to be made; is refused, made, or stopped; and on every way it is settled exactly once.
//!
//! Must never: take effect twice, or leave without being settled.

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::signal::{CallSummary, Kind, Signal};

/// The concern.
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
    /// A call that was put on the table.
    pub fn new(subject: CallSummary) -> Self {
        Self { subject, state: State::Wanted }
    }

    /// Which call.
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
            // Nothing was done; it wants to be made as it is now.
            (State::Running, Signal::Withheld(subject)) => {
                self.subject = *subject;
                State::Wanted
            }
            (State::Running, Signal::Stop(_)) => State::Aborting,
            (State::Aborting, Signal::Abort(_)) => State::Dying,
            (State::Over, Signal::Settle(_)) => return Flow::End,
            // Refused or stopped before it was made, or finished.
            (State::Wanted | State::Running | State::Aborting | State::Dying | State::Over, _) => {
                State::Over
            }
        };
        Flow::Go
    }
}
