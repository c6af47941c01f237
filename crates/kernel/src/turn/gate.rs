//! Blocks each call until a rule allows it or a person approves it.
//!
//! Closed from the start: a call is blocked until it is granted. In the autonomous mode a call that
//! would need approval is granted at once; a call that the rules deny never is, in either mode.
//! Without a sandbox, without the sender's permission, or if a hook requires it, each call needs
//! approval, regardless of rules, earlier answers and the mode. A hook's approval never opens the
//! gate; only its objection counts. A call that was withheld because its dependencies changed needs
//! a new approval. The number of pending approvals is limited; further calls are refused.
//!
//! Must never: open because it does not know a call.

use std::collections::{BTreeMap, BTreeSet};

use agentry_bthread::{Bid, Flow, Pattern};
use agentry_protocol::confinement::ConfinementLevel;
use agentry_protocol::event::Mode;
use agentry_protocol::verdict::Verdict;
use serde::{Deserialize, Serialize};

use super::signal::{CallRefusal, CallSummary, HookVerdict, Kind, Signal};
use crate::limits::QUESTIONS_MAX;

/// The concern that requires permits for calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gate {
    mode: Mode,
    confined: SandboxPresence,
    calls: BTreeMap<u64, GateState>,
    // Calls without the sender's permission, or for which a hook requires approval: no mode waives
    // the approval.
    lacking: BTreeSet<u64>,
}

/// The presence of a sandbox around the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SandboxPresence {
    /// A sandbox confines them.
    Yes,
    /// The operator switched it off.
    No,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum GateState {
    // An approval must be requested.
    Asking,
    // An approval was requested.
    Waiting,
    // An approval was requested; the mode allows the call meanwhile.
    Waived,
    // Allowed in every mode.
    Granted,
    // Allowed because of the mode.
    Trusted,
    // Running; a later answer has no effect.
    Made,
    Denied(CallRefusal),
}

impl SandboxPresence {
    /// Returns the presence for a confinement level.
    pub fn by(level: ConfinementLevel) -> Self {
        match level {
            ConfinementLevel::Ns
            | ConfinementLevel::Bwrap
            | ConfinementLevel::Seatbelt
            | ConfinementLevel::Landlock => Self::Yes,
            ConfinementLevel::Off => Self::No,
        }
    }
}

impl Gate {
    /// Creates the gate at the beginning of a turn.
    pub fn new(mode: Mode, confined: SandboxPresence) -> Self {
        Self { mode, confined, calls: BTreeMap::new(), lacking: BTreeSet::new() }
    }

    pub(super) fn bid(&self) -> Bid<Signal> {
        let kind = Pattern::kind;
        let open: BTreeSet<u64> = self
            .calls
            .iter()
            .filter(|(_, pass)| {
                matches!(pass, GateState::Granted | GateState::Trusted | GateState::Waived)
            })
            .map(|(call, _)| *call)
            .collect();
        let mut bid = Bid::new()
            .block(kind(Kind::Execute).keys_not_in(open))
            .wait(kind(Kind::Propose))
            .wait(kind(Kind::Execute))
            .wait(kind(Kind::Settle))
            .wait(kind(Kind::Reject))
            .wait(kind(Kind::Forbidden))
            .wait(kind(Kind::Consulted))
            .wait(kind(Kind::Withheld))
            .wait(kind(Kind::ModeWanted))
            .wait(kind(Kind::Stop));
        for (call, pass) in &self.calls {
            bid = match pass {
                GateState::Asking => bid.request(Signal::Ask(*call)),
                // Accept an answer that is no longer needed; it must not stay in the queue.
                GateState::Waiting | GateState::Waived | GateState::Made => {
                    bid.wait(kind(Kind::Decided).key(*call))
                }
                GateState::Denied(why) => bid.request(Signal::Reject(*call, *why)),
                GateState::Granted | GateState::Trusted => bid,
            };
        }
        bid
    }

    pub(super) fn on(&mut self, signal: &Signal) -> Flow {
        match signal {
            Signal::Propose(subject) => {
                let pass = self.within_limit(subject.call, self.first(subject));
                self.calls.insert(subject.call, pass);
                if subject.permission {
                    self.lacking.insert(subject.call);
                }
            }
            Signal::Ask(call) => self.set(*call, GateState::Waiting),
            Signal::Execute(subject) => self.set(subject.call, GateState::Made),
            Signal::Decided(call, true) => self.set(*call, GateState::Granted),
            Signal::Decided(call, false) => self.set(*call, GateState::Denied(CallRefusal::Person)),
            Signal::Forbidden(call) => self.set(*call, GateState::Denied(CallRefusal::Rules)),
            Signal::Consulted(subject, opinion) => self.consulted(subject, *opinion),
            Signal::Withheld(subject) => self.withheld(subject),
            Signal::Settle(call) | Signal::Reject(call, _) => {
                self.calls.remove(call);
                self.lacking.remove(call);
            }
            Signal::ModeWanted(mode, _) => self.switch(*mode),
            // A call that will not run needs no approval.
            Signal::Stop(_) => {
                self.calls.clear();
                self.lacking.clear();
            }
            Signal::Cancelled
            | Signal::Steered
            | Signal::Replied(..)
            | Signal::Unanswered(_)
            | Signal::Finished(_)
            | Signal::Checked(..)
            | Signal::Think(_)
            | Signal::Iterate(_)
            | Signal::Abort(_)
            | Signal::Pass(_)
            | Signal::Check(_)
            | Signal::Watched(..)
            | Signal::Reviewed(..)
            | Signal::Consult(_)
            | Signal::Watch(_)
            | Signal::Review(_)
            | Signal::GoOn
            | Signal::Finish
            | Signal::End(_) => {}
        }
        Flow::Go
    }

    fn first(&self, subject: &CallSummary) -> GateState {
        match (subject.verdict, self.confined, self.mode) {
            (Verdict::Deny, _, _) => GateState::Denied(CallRefusal::Rules),
            (Verdict::Allow | Verdict::Ask, SandboxPresence::No, _) => GateState::Asking,
            (Verdict::Allow, SandboxPresence::Yes, _) => GateState::Granted,
            (Verdict::Ask, SandboxPresence::Yes, _) if subject.permission => GateState::Asking,
            (Verdict::Ask, SandboxPresence::Yes, _) if subject.standing => GateState::Granted,
            (Verdict::Ask, SandboxPresence::Yes, Mode::Supervised) => GateState::Asking,
            (Verdict::Ask, SandboxPresence::Yes, Mode::Autonomous) => GateState::Trusted,
        }
    }

    /// Discards earlier answers: they were for a call that differs from the current one.
    fn withheld(&mut self, subject: &CallSummary) {
        let first = self.first(subject);
        let is_free = matches!(first, GateState::Granted | GateState::Trusted);
        let is_lacking = is_free && self.lacking.contains(&subject.call);
        let pass = if is_lacking { GateState::Asking } else { first };
        let limited = self.within_limit(subject.call, pass);
        if let Some(pass) = self.calls.get_mut(&subject.call) {
            *pass = limited;
        }
    }

    /// Returns the state of a call under the limit of pending approvals.
    fn within_limit(&self, call: u64, pass: GateState) -> GateState {
        let waits = |(one, pass): (&u64, &GateState)| {
            *one != call
                && matches!(pass, GateState::Asking | GateState::Waiting | GateState::Waived)
        };
        let is_full = || {
            let waiting = self.calls.iter().filter(|one| waits(*one)).count();
            waiting >= QUESTIONS_MAX
        };
        let is_over = pass == GateState::Asking && is_full();
        if is_over { GateState::Denied(CallRefusal::Questions) } else { pass }
    }

    /// Judges a call again after a hook; a need for approval persists.
    fn consulted(&mut self, subject: &CallSummary, opinion: HookVerdict) {
        let new = self.first(subject);
        let Some(pass) = self.calls.get_mut(&subject.call) else { return };
        *pass = match (*pass, new) {
            (GateState::Denied(why), _) | (_, GateState::Denied(why)) => GateState::Denied(why),
            (GateState::Granted, new) => new,
            (GateState::Trusted, GateState::Granted) => GateState::Trusted,
            (GateState::Trusted, new) => new,
            (
                old
                @ (GateState::Asking | GateState::Waiting | GateState::Waived | GateState::Made),
                _,
            ) => old,
        };
        if subject.permission || opinion == HookVerdict::Ask {
            self.lacking.insert(subject.call);
            *pass = match *pass {
                GateState::Denied(why) => GateState::Denied(why),
                GateState::Made => GateState::Made,
                GateState::Waiting | GateState::Waived => GateState::Waiting,
                GateState::Asking | GateState::Granted | GateState::Trusted => GateState::Asking,
            };
        }
        if let Some(pass) = self.calls.get(&subject.call) {
            let pass = self.within_limit(subject.call, *pass);
            self.set(subject.call, pass);
        }
    }

    fn set(&mut self, call: u64, to: GateState) {
        if let Some(pass) = self.calls.get_mut(&call).filter(|pass| **pass != GateState::Made) {
            *pass = to;
        }
    }

    /// Requires approval again for calls that only the old mode allowed.
    fn switch(&mut self, mode: Mode) {
        self.mode = mode;
        if self.confined == SandboxPresence::No {
            return;
        }
        let lacking = &self.lacking;
        for (_, pass) in self.calls.iter_mut().filter(|(call, _)| !lacking.contains(*call)) {
            *pass = match (mode, *pass) {
                (Mode::Autonomous, GateState::Asking) => GateState::Trusted,
                (Mode::Autonomous, GateState::Waiting) => GateState::Waived,
                (Mode::Supervised, GateState::Trusted) => GateState::Asking,
                (Mode::Supervised, GateState::Waived) => GateState::Waiting,
                (Mode::Autonomous | Mode::Supervised, same) => same,
            };
        }
        let asking: Vec<u64> = self.calls.keys().copied().collect();
        for call in asking.into_iter().rev() {
            let pass = self.within_limit(call, self.calls[&call]);
            self.set(call, pass);
        }
    }
}
