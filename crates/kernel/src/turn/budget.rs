//! Stops a turn at its limit of steps, calls, iterations or tokens, and names the limit.
//!
//! The usage is compared when the turn wants to continue: a turn that finishes with its last step
//! has not exceeded its budget.
//!
//! Must never: stop a turn that has no further work.

use agentry_bthread::{Bid, Flow, Pattern};
use agentry_protocol::event::{Mode, RunLimits};
use serde::{Deserialize, Serialize};

use super::signal::{Kind, Signal, TurnLimit, TurnStopReason};

/// The concern that enforces the limits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Budget {
    limits: BudgetLimits,
    mode: Mode,
    steps: u32,
    calls: u32,
    iterations: u32,
    tokens: u64,
    over: Option<TurnLimit>,
    stopped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct BudgetLimits {
    steps: u32,
    calls: u32,
    iterations: u32,
    tokens: Option<u64>,
}

impl Budget {
    /// Creates the budget of one turn.
    pub fn new(limits: &RunLimits, mode: Mode) -> Self {
        let limits = BudgetLimits {
            steps: limits.steps_max,
            calls: limits.calls_max,
            iterations: limits.iterations_max,
            tokens: limits.tokens_max,
        };
        Self {
            limits,
            mode,
            steps: 0,
            calls: 0,
            iterations: 0,
            tokens: 0,
            over: None,
            stopped: false,
        }
    }

    pub(super) fn bid(&self) -> Bid<Signal> {
        let kind = Pattern::kind;
        let bid = Bid::new()
            .wait(kind(Kind::Think))
            .wait(kind(Kind::Propose))
            .wait(kind(Kind::Iterate))
            .wait(kind(Kind::Replied))
            .wait(kind(Kind::ModeWanted))
            .wait(kind(Kind::GoOn))
            .wait(kind(Kind::Stop));
        match self.over {
            Some(limit) => {
                let bid = bid.block(kind(Kind::Think)).block(kind(Kind::Execute));
                let bid = bid.block(kind(Kind::Check));
                if self.stopped {
                    bid
                } else {
                    bid.request(Signal::Stop(TurnStopReason::Limit(limit)))
                }
            }
            None => bid,
        }
    }

    pub(super) fn on(&mut self, signal: &Signal) -> Flow {
        match signal {
            Signal::Think(_) => self.steps += 1,
            Signal::Propose(_) => {
                self.calls += 1;
                if self.calls > self.limits.calls {
                    self.over = Some(TurnLimit::Calls);
                }
            }
            Signal::Iterate(_) => self.iterations += 1,
            Signal::Replied(_, _, tokens) => self.tokens = self.tokens.saturating_add(*tokens),
            Signal::ModeWanted(mode, iterations) => {
                self.mode = *mode;
                self.iterations = 0;
                self.limits.iterations = iterations.unwrap_or(self.limits.iterations);
            }
            Signal::GoOn => self.over = self.over.or(self.used_up()),
            Signal::Stop(_) => self.stopped = true,
            Signal::Cancelled
            | Signal::Steered
            | Signal::Unanswered(_)
            | Signal::Finished(_)
            | Signal::Withheld(_)
            | Signal::Decided(..)
            | Signal::Checked(..)
            | Signal::Forbidden(_)
            | Signal::Ask(_)
            | Signal::Execute(_)
            | Signal::Reject(..)
            | Signal::Abort(_)
            | Signal::Settle(_)
            | Signal::Pass(_)
            | Signal::Check(_)
            | Signal::Consulted(..)
            | Signal::Watched(..)
            | Signal::Reviewed(..)
            | Signal::Consult(_)
            | Signal::Watch(_)
            | Signal::Review(_)
            | Signal::Finish
            | Signal::End(_) => {}
        }
        Flow::Go
    }

    fn used_up(&self) -> Option<TurnLimit> {
        let BudgetLimits { steps, iterations, tokens, .. } = self.limits;
        if self.mode == Mode::Autonomous && self.iterations >= iterations {
            Some(TurnLimit::Iterations)
        } else if tokens.is_some_and(|tokens| self.tokens >= tokens) {
            Some(TurnLimit::Tokens)
        } else if self.steps >= steps {
            Some(TurnLimit::Steps)
        } else {
            None
        }
    }
}
