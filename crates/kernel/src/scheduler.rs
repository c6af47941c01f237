//! Decides which session may start its next turn when not all can.
//!
//! Principals take turns, then the sessions of each; within a session the oldest request is first.
//! A principal with a thousand sessions gets no more than one with one. A request beyond the limits
//! is returned with the condition to wait for, so none is lost.
//!
//! Must never: run two turns of one session at once, or more than a limit allows.

use std::collections::{BTreeMap, VecDeque};

use agentry_protocol::SessionId;
use serde::{Deserialize, Serialize};

use crate::limits::{
    TURNS_RUNNING, TURNS_RUNNING_PER_PRINCIPAL, TURNS_WAITING, TURNS_WAITING_PER_PRINCIPAL,
};

/// The limits on running and waiting turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulerLimits {
    /// The number of turns that run at once.
    pub running: usize,
    /// The number of running turns of one principal.
    pub running_per_principal: usize,
    /// The number of waiting turns.
    pub waiting: usize,
    /// The number of waiting turns of one principal.
    pub waiting_per_principal: usize,
}

impl Default for SchedulerLimits {
    fn default() -> Self {
        Self {
            running: TURNS_RUNNING,
            running_per_principal: TURNS_RUNNING_PER_PRINCIPAL,
            waiting: TURNS_WAITING,
            waiting_per_principal: TURNS_WAITING_PER_PRINCIPAL,
        }
    }
}

/// A turn that is ready to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRequest {
    /// The principal that requests it.
    pub principal: String,
    /// The session of the turn.
    pub session: SessionId,
    /// The caller's own number for it.
    pub ticket: u64,
}

/// The next action of the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulerDecision {
    /// Start this turn; it counts as running until `ended` is called.
    Start(TurnRequest),
    /// No turn is waiting.
    Nothing,
    /// Turns are waiting, and none may start before this condition.
    Full(WaitCondition),
}

/// The condition for starting or accepting a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitCondition {
    /// The end of any turn.
    AnyTurn,
    /// The end of a turn of this principal.
    TurnOf(String),
    /// The end of a turn of a principal or session with waiting turns.
    TurnOfWaiting,
    /// The start of any turn, since too many are waiting.
    AnyStart,
    /// The start of a turn of this principal, since too many of it are waiting.
    StartOf(String),
}

/// All running and waiting turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnScheduler {
    limits: SchedulerLimits,
    principals: BTreeMap<String, PrincipalQueue>,
    sessions: BTreeMap<SessionId, SessionQueue>,
    // Invariant: principals that may start a turn, each once, by position.
    ring: BTreeMap<u64, String>,
    next_place: u64,
    running: usize,
    waiting: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PrincipalQueue {
    running: usize,
    waiting: usize,
    // Invariant: sessions that do not run and whose first ticket is this principal's.
    ready: BTreeMap<u64, SessionId>,
    in_ring: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SessionQueue {
    running: Option<String>,
    /// Its position among the ready sessions of its first ticket's principal.
    ready: Option<u64>,
    tickets: VecDeque<(String, u64)>,
}

impl TurnScheduler {
    /// Creates an empty scheduler; every limit is at least one.
    pub fn new(limits: SchedulerLimits) -> Self {
        let limits = SchedulerLimits {
            running: limits.running.max(1),
            running_per_principal: limits.running_per_principal.max(1),
            waiting: limits.waiting.max(1),
            waiting_per_principal: limits.waiting_per_principal.max(1),
        };
        Self { limits, ..Self::default() }
    }

    /// Returns the number of running turns.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Returns the number of waiting turns.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Queues a turn, or returns it with the condition to wait for.
    pub fn want(&mut self, wanted: TurnRequest) -> Result<(), (TurnRequest, WaitCondition)> {
        if self.waiting >= self.limits.waiting {
            return Err((wanted, WaitCondition::AnyStart));
        }
        let its = self.principals.get(&wanted.principal).map_or(0, |one| one.waiting);
        if its >= self.limits.waiting_per_principal {
            let wait = WaitCondition::StartOf(wanted.principal.clone());
            return Err((wanted, wait));
        }
        let TurnRequest { principal, session, ticket } = wanted;
        self.waiting += 1;
        self.principals.entry(principal.clone()).or_default().waiting += 1;
        let place = self.sessions.entry(session.clone()).or_default();
        place.tickets.push_back((principal, ticket));
        if place.running.is_none() && place.tickets.len() == 1 {
            self.make_ready(session);
        }
        Ok(())
    }

    /// Removes and returns the next turn that may start.
    pub fn take_next(&mut self) -> SchedulerDecision {
        if self.waiting == 0 {
            return SchedulerDecision::Nothing;
        }
        if self.running >= self.limits.running {
            return SchedulerDecision::Full(WaitCondition::AnyTurn);
        }
        let Some((_, name)) = self.ring.pop_first() else {
            return SchedulerDecision::Full(self.blocked());
        };
        let principal = self.principals.get_mut(&name).expect("the ring names principals");
        principal.in_ring = None;
        principal.running += 1;
        principal.waiting -= 1;
        let (_, session) =
            principal.ready.pop_first().expect("one in the ring has a ready session");
        let place = self.sessions.get_mut(&session).expect("a ready session is known");
        let (_, ticket) = place.tickets.pop_front().expect("a ready session has a ticket");
        place.running = Some(name.clone());
        place.ready = None;
        self.running += 1;
        self.waiting -= 1;
        self.join_ring(&name);
        SchedulerDecision::Start(TurnRequest { principal: name, session, ticket })
    }

    /// Ends the running turn of this session.
    pub fn ended(&mut self, session: &SessionId) {
        let Some(place) = self.sessions.get_mut(session) else { return };
        let Some(name) = place.running.take() else { return };
        let goes_on = !place.tickets.is_empty();
        self.running -= 1;
        let principal = self.principals.get_mut(&name).expect("who runs is known");
        principal.running -= 1;
        if goes_on {
            self.make_ready(session.clone());
        } else {
            self.sessions.remove(session);
        }
        self.join_ring(&name);
        self.forget(&name);
    }

    /// Removes a waiting turn; false if it is not queued.
    pub fn withdraw(&mut self, session: &SessionId, ticket: u64) -> bool {
        let Some(place) = self.sessions.get_mut(session) else { return false };
        let Some(at) = place.tickets.iter().position(|(_, one)| *one == ticket) else {
            return false;
        };
        let (name, _) = place.tickets.remove(at).expect("it was found there");
        let was_ready = if at == 0 { place.ready.take() } else { None };
        let (goes_on, runs) = (!place.tickets.is_empty(), place.running.is_some());
        self.waiting -= 1;
        let principal = self.principals.get_mut(&name).expect("who waits is known");
        principal.waiting -= 1;
        if let Some(held) = was_ready {
            principal.ready.remove(&held);
            if principal.ready.is_empty()
                && let Some(place) = principal.in_ring.take()
            {
                self.ring.remove(&place);
            }
            if goes_on {
                self.make_ready(session.clone());
            }
        }
        if !goes_on && !runs {
            self.sessions.remove(session);
        }
        self.forget(&name);
        true
    }

    fn make_ready(&mut self, session: SessionId) {
        let Some(place) = self.sessions.get_mut(&session) else { return };
        let Some((name, _)) = place.tickets.front().cloned() else { return };
        place.ready = Some(self.next_place);
        self.principals.entry(name.clone()).or_default().ready.insert(self.next_place, session);
        self.next_place += 1;
        self.join_ring(&name);
    }

    fn join_ring(&mut self, name: &str) {
        let Some(principal) = self.principals.get_mut(name) else { return };
        let may = principal.running < self.limits.running_per_principal;
        if may && principal.in_ring.is_none() && !principal.ready.is_empty() {
            principal.in_ring = Some(self.next_place);
            self.ring.insert(self.next_place, name.to_owned());
            self.next_place += 1;
        }
    }

    fn forget(&mut self, name: &str) {
        let gone = |one: &PrincipalQueue| one.running == 0 && one.waiting == 0;
        if self.principals.get(name).is_some_and(gone) {
            self.principals.remove(name);
        }
    }

    /// Returns the condition for waiting turns that only limits per principal or session block.
    fn blocked(&self) -> WaitCondition {
        let mut waiting = self.principals.iter().filter(|(_, one)| one.waiting > 0);
        match (waiting.next(), waiting.next()) {
            (Some((name, one)), None) if !one.ready.is_empty() => {
                WaitCondition::TurnOf(name.clone())
            }
            _ => WaitCondition::TurnOfWaiting,
        }
    }
}
