//! Blocks the end of a turn until its hooks agree, or until they have delayed it often enough.
//!
//! They run when all else is ready to finish: the model has no further calls, or the check has
//! passed. Input from outside makes their pending answers obsolete.
//!
//! Must never: keep a turn from continuing or from being stopped, or delay its end for ever.

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::signal::{CheckResult, HookVerdict, Kind, Signal};
use crate::limits::STOP_CONTINUATIONS_MAX;

/// The concern that runs hooks before the turn finishes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BeforeFinish {
    // The last reply had calls, so only a check can decide that the work is done.
    calls: bool,
    // A check has passed.
    passed: bool,
    // The number of hooks run: an answer of an earlier one must not count for a later one.
    heard: u64,
    // The number of times that the turn was kept from finishing.
    kept: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum State {
    #[default]
    Idle,
    // All outcomes of a reply have arrived.
    Open,
    Reviewing,
    Cleared,
    Kept,
}

impl BeforeFinish {
    pub(super) fn bid(&self) -> Bid<Signal> {
        let kind = Pattern::kind;
        let bid = [
            Kind::Replied,
            Kind::Pass,
            Kind::Checked,
            Kind::ModeWanted,
            Kind::Steered,
            Kind::GoOn,
            Kind::Stop,
        ]
        .into_iter()
        .fold(Bid::new(), |bid, one| bid.wait(kind(one)));
        if self.kept >= STOP_CONTINUATIONS_MAX {
            return bid;
        }
        let hold = |bid: Bid<Signal>| bid.block(kind(Kind::Finish));
        match self.state {
            State::Idle => hold(bid),
            State::Open if self.calls && !self.passed => hold(bid),
            State::Open => hold(bid).request(Signal::Review(self.heard + 1)),
            State::Reviewing => hold(bid).wait(kind(Kind::Reviewed).key(self.heard)),
            State::Cleared => bid,
            State::Kept => hold(bid).request(Signal::GoOn),
        }
    }

    pub(super) fn on(&mut self, signal: &Signal) -> Flow {
        match signal {
            Signal::Replied(_, calls, _) => self.calls = !calls.is_empty(),
            Signal::Pass(_) => self.state = State::Open,
            Signal::Checked(_, result) => self.passed = *result == CheckResult::Done,
            Signal::Review(number) => {
                self.heard = *number;
                self.state = State::Reviewing;
            }
            Signal::Reviewed(_, opinion) => self.hear(*opinion),
            Signal::ModeWanted(..) | Signal::Steered => {
                self.passed = false;
                self.reopen();
            }
            Signal::GoOn | Signal::Stop(_) => {
                self.kept += u32::from(self.state == State::Kept);
                self.passed = false;
                self.state = State::Idle;
            }
            Signal::Cancelled
            | Signal::Unanswered(_)
            | Signal::Finished(_)
            | Signal::Withheld(_)
            | Signal::Decided(..)
            | Signal::Forbidden(_)
            | Signal::Consulted(..)
            | Signal::Watched(..)
            | Signal::Think(_)
            | Signal::Iterate(_)
            | Signal::Propose(_)
            | Signal::Ask(_)
            | Signal::Execute(_)
            | Signal::Reject(..)
            | Signal::Abort(_)
            | Signal::Settle(_)
            | Signal::Check(_)
            | Signal::Consult(_)
            | Signal::Watch(_)
            | Signal::Finish
            | Signal::End(_) => {}
        }
        Flow::Go
    }

    fn hear(&mut self, opinion: HookVerdict) {
        self.state = match opinion {
            HookVerdict::Next => State::Open,
            // To finish is to return the turn to a person.
            HookVerdict::Clear | HookVerdict::Ask => State::Cleared,
            HookVerdict::Deny => State::Kept,
            // Another concern stops the turn.
            HookVerdict::Halt => State::Idle,
        };
    }

    fn reopen(&mut self) {
        self.state = match self.state {
            State::Open | State::Reviewing | State::Cleared | State::Kept => State::Open,
            State::Idle => State::Idle,
        };
    }
}
