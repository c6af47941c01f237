//! The main loop: ask the model, run its calls, return the outcomes, until it has no more calls.
//!
//! Asks the model, proposes the calls of its reply one by one, waits until each has its outcome,
//! and then requests to continue (there were calls) or to finish (there were none). It runs no call
//! itself: each proposed call is a concern of its own (see `call`).
//!
//! Must never: know about approval, danger, limits, steering or checks.

use std::collections::BTreeSet;

use agentry_bthread::{Bid, Flow, Pattern};
use serde::{Deserialize, Serialize};

use super::call::CallConcern;
use super::signal::{CallSummary, Kind, Signal, TurnStopReason};

/// The concern that alternates between the model and its calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ThinkAct {
    pass: u64,
    // Proposed calls without an outcome.
    open: BTreeSet<u64>,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum State {
    Thinking,
    Awaiting,
    // The calls not proposed yet, last first.
    Proposing { rest: Vec<CallSummary>, calls: bool },
    Passing { calls: bool },
    Deciding { calls: bool },
    Draining(TurnStopReason),
    Ending(TurnStopReason),
    Over,
}

impl ThinkAct {
    /// Creates the concern at the beginning of a turn.
    pub fn new() -> Self {
        Self { pass: 1, open: BTreeSet::new(), state: State::Thinking }
    }

    pub(super) fn bid(&self) -> Bid<Signal> {
        let kind = Pattern::kind;
        let bid = Bid::new();
        // No concern may continue or finish the turn before all outcomes have arrived.
        let bid = match &self.state {
            State::Deciding { .. } => bid,
            State::Thinking
            | State::Awaiting
            | State::Proposing { .. }
            | State::Passing { .. }
            | State::Draining(_)
            | State::Ending(_)
            | State::Over => {
                let bid = bid.block(kind(Kind::GoOn)).block(kind(Kind::Finish));
                bid.block(kind(Kind::Review))
            }
        };
        match &self.state {
            State::Thinking => bid.request(Signal::Think(self.pass)).wait(kind(Kind::Stop)),
            State::Awaiting => bid
                .wait(kind(Kind::Replied).key(self.pass))
                .wait(kind(Kind::Unanswered).key(self.pass))
                .wait(kind(Kind::Stop)),
            State::Proposing { rest, .. } => {
                let bid = match rest.last() {
                    Some(subject) => bid.request(Signal::Propose(*subject)),
                    None => bid,
                };
                bid.wait(kind(Kind::Settle)).wait(kind(Kind::Stop))
            }
            State::Passing { .. } => bid.request(Signal::Pass(self.pass)).wait(kind(Kind::Stop)),
            State::Deciding { calls } => {
                let (own, other) = if *calls {
                    (Signal::GoOn, Kind::Finish)
                } else {
                    (Signal::Finish, Kind::GoOn)
                };
                bid.request(own).wait(kind(other)).wait(kind(Kind::Stop))
            }
            State::Draining(_) => bid.wait(kind(Kind::Settle)),
            State::Ending(why) => bid.request(Signal::End(*why)),
            State::Over => bid,
        }
    }

    pub(super) fn on(&mut self, signal: &Signal, mut spawn: impl FnMut(CallConcern)) -> Flow {
        match signal {
            Signal::Think(_) => self.state = State::Awaiting,
            Signal::Replied(_, calls, _) => {
                let rest: Vec<CallSummary> = calls.iter().rev().copied().collect();
                self.state = State::Proposing { calls: !rest.is_empty(), rest };
                self.pass_if_settled();
            }
            Signal::Unanswered(_) => self.state = State::Ending(TurnStopReason::Unanswered),
            Signal::Propose(subject) => {
                if let State::Proposing { rest, .. } = &mut self.state {
                    rest.pop();
                }
                self.open.insert(subject.call);
                spawn(CallConcern::new(*subject));
            }
            Signal::Settle(call) => {
                self.open.remove(call);
                self.pass_if_settled();
            }
            Signal::Pass(_) => {
                if let State::Passing { calls } = self.state {
                    self.state = State::Deciding { calls };
                }
            }
            Signal::GoOn => {
                self.pass += 1;
                self.state = State::Thinking;
            }
            Signal::Finish => self.state = State::Ending(TurnStopReason::Done),
            Signal::Stop(why) => {
                self.state = State::Draining(*why);
                self.pass_if_settled();
            }
            Signal::End(_) => self.state = State::Over,
            Signal::Cancelled
            | Signal::ModeWanted(..)
            | Signal::Steered
            | Signal::Finished(_)
            | Signal::Withheld(_)
            | Signal::Decided(..)
            | Signal::Checked(..)
            | Signal::Forbidden(_)
            | Signal::Consulted(..)
            | Signal::Watched(..)
            | Signal::Reviewed(..)
            | Signal::Consult(_)
            | Signal::Watch(_)
            | Signal::Review(_)
            | Signal::Iterate(_)
            | Signal::Ask(_)
            | Signal::Execute(_)
            | Signal::Reject(..)
            | Signal::Abort(_)
            | Signal::Check(_) => {}
        }
        Flow::Go
    }

    fn pass_if_settled(&mut self) {
        if !self.open.is_empty() {
            return;
        }
        match &self.state {
            State::Proposing { rest, calls } if rest.is_empty() => {
                self.state = State::Passing { calls: *calls };
            }
            State::Draining(why) => self.state = State::Ending(*why),
            State::Thinking
            | State::Awaiting
            | State::Proposing { .. }
            | State::Passing { .. }
            | State::Deciding { .. }
            | State::Ending(_)
            | State::Over => {}
        }
    }
}
