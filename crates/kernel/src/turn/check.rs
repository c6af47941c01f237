//! Requires a passed check before a turn in the autonomous mode finishes.
//!
//! Counts the iterations, and after each checks whether the work is done. Until the check has
//! answered, the turn neither continues nor finishes.
//!
//! Must never: interpret the model's silence, or an unintelligible answer, as a yes.

use agentry_bthread::{Bid, Flow, Pattern};
use agentry_protocol::event::Mode;
use serde::{Deserialize, Serialize};

use super::signal::{CheckResult, HookVerdict, Kind, Signal, TurnStopReason};

/// The concern that checks whether the work is done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Check {
    mode: Mode,
    iteration: u64,
    // The number of checks: an answer to an earlier one must not count for a later one.
    checks: u64,
    // The model has not read all input from outside.
    unread: bool,
    // All outcomes of a reply have arrived, and the next action is not decided.
    open: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum State {
    Idle,
    // A reply has arrived and is not counted yet.
    Counting,
    // All outcomes have arrived; the check has not begun.
    Wanted,
    Checking,
    Passed,
    NotPassed,
    Unanswered,
}

impl Check {
    /// Creates the concern at the beginning of a turn.
    pub fn new(mode: Mode) -> Self {
        Self { mode, iteration: 0, checks: 0, unread: false, open: false, state: State::Idle }
    }

    pub(super) fn bid(&self) -> Bid<Signal> {
        let kind = Pattern::kind;
        let bid = Bid::new()
            .wait(kind(Kind::ModeWanted))
            .wait(kind(Kind::Steered))
            .wait(kind(Kind::Think))
            .wait(kind(Kind::GoOn))
            .wait(kind(Kind::Finish))
            .wait(kind(Kind::Stop));
        let stay = |bid: Bid<Signal>| bid.block(kind(Kind::Finish)).block(kind(Kind::Review));
        let hold = |bid: Bid<Signal>| stay(bid).block(kind(Kind::GoOn));
        match self.state {
            State::Idle => bid.wait(kind(Kind::Replied)).wait(kind(Kind::Pass)),
            State::Counting => bid
                .block(kind(Kind::Propose))
                .block(kind(Kind::Pass))
                .request(Signal::Iterate(self.iteration + 1)),
            State::Wanted => hold(bid).request(Signal::Check(self.checks + 1)),
            State::Checking => hold(bid).wait(kind(Kind::Checked).key(self.checks)),
            State::Passed => {
                let bid = bid.wait(kind(Kind::Reviewed));
                bid.block(kind(Kind::GoOn)).request(Signal::Finish)
            }
            State::NotPassed => stay(bid).request(Signal::GoOn),
            State::Unanswered => hold(bid).request(Signal::Stop(TurnStopReason::Unanswered)),
        }
    }

    pub(super) fn on(&mut self, signal: &Signal) -> Flow {
        match signal {
            Signal::Replied(..) => {
                if self.mode == Mode::Autonomous {
                    self.state = State::Counting;
                }
            }
            Signal::Iterate(count) => {
                self.iteration = *count;
                self.state = State::Idle;
            }
            Signal::Pass(_) => {
                self.open = true;
                self.want();
            }
            Signal::Check(number) => {
                self.checks = *number;
                self.state = State::Checking;
            }
            Signal::Checked(_, CheckResult::Done) => self.state = State::Passed,
            Signal::Checked(_, CheckResult::NotDone) => self.state = State::NotPassed,
            Signal::Checked(_, CheckResult::Unanswered) => self.state = State::Unanswered,
            Signal::ModeWanted(mode, _) => {
                self.mode = *mode;
                self.iteration = 0;
                self.state = State::Idle;
                self.want();
            }
            // The check passed, but a hook keeps the turn from finishing.
            Signal::Reviewed(_, HookVerdict::Deny) => self.state = State::NotPassed,
            Signal::Reviewed(
                _,
                HookVerdict::Next | HookVerdict::Clear | HookVerdict::Ask | HookVerdict::Halt,
            ) => {}
            Signal::Steered => self.hear(),
            Signal::Think(_) => self.unread = false,
            Signal::GoOn | Signal::Finish | Signal::Stop(_) => {
                self.open = false;
                self.state = State::Idle;
            }
            Signal::Cancelled
            | Signal::Unanswered(_)
            | Signal::Finished(_)
            | Signal::Withheld(_)
            | Signal::Decided(..)
            | Signal::Forbidden(_)
            | Signal::Propose(_)
            | Signal::Ask(_)
            | Signal::Execute(_)
            | Signal::Reject(..)
            | Signal::Abort(_)
            | Signal::Settle(_)
            | Signal::Consulted(..)
            | Signal::Watched(..)
            | Signal::Consult(_)
            | Signal::Watch(_)
            | Signal::Review(_)
            | Signal::End(_) => {}
        }
        Flow::Go
    }
    /// Starts a check, unless the model has unread input: then the turn continues without one.
    fn want(&mut self) {
        if self.open && self.mode == Mode::Autonomous && !self.unread {
            self.state = State::Wanted;
        }
    }

    /// Drops a running check, since input makes its answer obsolete; a reply is still counted.
    fn hear(&mut self) {
        self.unread = true;
        self.state = match self.state {
            State::Counting => State::Counting,
            State::Unanswered => State::Unanswered,
            State::Idle | State::Wanted | State::Checking | State::Passed | State::NotPassed => {
                State::Idle
            }
        };
    }
}
