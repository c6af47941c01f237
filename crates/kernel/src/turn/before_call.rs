//! Blocks approval and execution of a call until all of its hooks have answered.
//!
//! Closed from the start, like the gate: a call is blocked until its hooks have cleared it. Hooks
//! do not run for a call that is refused anyway.
//!
//! Must never: let a call run before its hooks, or count a hook's yes as more than no objection.

use std::collections::{BTreeMap, BTreeSet};

use agentry_bthread::{Bid, Flow, Pattern};
use agentry_protocol::verdict::Verdict;
use serde::{Deserialize, Serialize};

use super::signal::{CallRefusal, CallSummary, HookVerdict, Kind, Signal, SignalCondition};

/// The concern that runs hooks before each call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BeforeCall {
    calls: BTreeMap<u64, State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum State {
    // A hook must run.
    Wanted,
    // A hook is running.
    Hearing,
    // All hooks have run, and none objected.
    Cleared,
    // A hook objected.
    Denied,
    // Another concern refuses it.
    Closed,
}

impl BeforeCall {
    pub(super) fn bid(&self) -> Bid<Signal> {
        let kind = Pattern::kind;
        let (cleared, held): (BTreeSet<u64>, BTreeSet<u64>) =
            self.calls.keys().partition(|call| self.calls.get(call) == Some(&State::Cleared));
        let mut bid = Bid::new()
            .block(kind(Kind::Execute).guarded(SignalCondition::Hooked).keys_not_in(cleared))
            .block(kind(Kind::Ask).keys_in(held))
            .wait(kind(Kind::Propose).guarded(SignalCondition::Hooked))
            .wait(kind(Kind::Forbidden))
            .wait(kind(Kind::Reject))
            .wait(kind(Kind::Settle))
            .wait(kind(Kind::Stop));
        for (call, state) in &self.calls {
            bid = match state {
                State::Wanted => bid.request(Signal::Consult(*call)),
                State::Hearing => bid.wait(kind(Kind::Consulted).key(*call)),
                State::Denied => bid.request(Signal::Reject(*call, CallRefusal::Hook)),
                State::Cleared | State::Closed => bid,
            };
        }
        bid
    }

    pub(super) fn on(&mut self, signal: &Signal) -> Flow {
        if let Signal::Propose(subject) = signal {
            let refused = subject.verdict == Verdict::Deny || subject.dangerous;
            self.calls.insert(subject.call, if refused { State::Closed } else { State::Wanted });
        }
        if let Signal::Consult(call) = signal {
            self.set(*call, State::Hearing);
        }
        if let Signal::Consulted(subject, opinion) = signal {
            self.set(subject.call, after(subject, *opinion));
        }
        if let Signal::Forbidden(call) = signal {
            self.set(*call, State::Closed);
        }
        if let Signal::Settle(call) | Signal::Reject(call, _) = signal {
            self.calls.remove(call);
        }
        if let Signal::Stop(_) = signal {
            self.calls.clear();
        }
        Flow::Go
    }

    fn set(&mut self, call: u64, to: State) {
        if let Some(state) = self.calls.get_mut(&call) {
            *state = to;
        }
    }
}

fn after(subject: &CallSummary, opinion: HookVerdict) -> State {
    match opinion {
        HookVerdict::Deny | HookVerdict::Halt => State::Denied,
        // With the hook's changes, the rules deny it.
        HookVerdict::Next | HookVerdict::Clear | HookVerdict::Ask
            if subject.verdict == Verdict::Deny || subject.dangerous =>
        {
            State::Closed
        }
        HookVerdict::Next => State::Wanted,
        HookVerdict::Clear | HookVerdict::Ask => State::Cleared,
    }
}
