//! Selects the event hooks for an event, applies breakers, and plans the work of hooks that fire.
//!
//! Access comes first: it admits the event and fixes its session and powers. Hooks see only
//! admitted events. `EventHooks::of` indexes them; `EventHooks::triggered_by` answers for an event.
//!
//! Must never: run a hook unless all its triggers match, or let a hook choose a session or a power.

use agentry_protocol::EventHookId;
use agentry_protocol::event_hook::{Circuit, CircuitState, EventHook};
use agentry_protocol::inbound::Inbound;
use agentry_protocol::principal::Principal;

mod answer;
mod breaker;
mod fire;
mod index;
mod trigger;

pub use answer::{HookAnswer, HookAnswerError, answer};
pub use breaker::{BreakerDecision, BreakerOutcome, circuit_after, lets_through};
pub use fire::{DisabledHook, DispatchPlan, HookDispatch, HookResponse, TriggeringEvent, plan};

use index::EventHookIndex;
use trigger::{TriggerInput, holds};

/// A hook that is neither deleted nor disabled.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveHook {
    /// The definition of the hook.
    pub hook: EventHook,
    /// The state of its breaker.
    pub circuit: Circuit,
}

/// An index of hooks, ready to match events.
#[derive(Clone, Debug, Default)]
pub struct EventHooks {
    // Invariant: sorted by name and then id.
    all: Vec<ActiveHook>,
    // Invariant: numbers of hooks, each found by every event that can trigger it.
    index: EventHookIndex,
}

impl EventHooks {
    /// Sorts and indexes hooks.
    pub fn of(mut all: Vec<ActiveHook>) -> Self {
        all.sort_by(|a, b| (&a.hook.name, &a.hook.id).cmp(&(&b.hook.name, &b.hook.id)));
        let index = EventHookIndex::of(all.iter().map(|one| &one.hook.triggers));
        Self { all, index }
    }

    /// Returns the hooks that an event triggers, by name. A timer for one hook triggers no other; a
    /// backfilled event triggers none. `now` is in milliseconds since 1970 and only for breakers.
    pub fn triggered_by(
        &self,
        inbound: &Inbound,
        principal: &Principal,
        now: u64,
    ) -> Vec<&ActiveHook> {
        if inbound.backfill || self.all.is_empty() {
            return Vec::new();
        }
        let seen = TriggerInput::of(inbound, principal);
        let mut numbers = Vec::new();
        match &inbound.hook_id {
            Some(woken) => numbers.extend(self.number(woken)),
            None => self.index.each_candidate(&seen, |number| numbers.push(number)),
        }
        numbers.sort_unstable();
        let candidates = numbers.into_iter().map(|number| &self.all[number as usize]);
        let wanted = candidates.filter(|one| {
            holds(&one.hook.triggers, &seen)
                && lets_through(one.circuit, now) != BreakerDecision::No
        });
        wanted.collect()
    }

    /// Records that the single trial of a hook with an open breaker is running, to block others.
    pub fn begin_trial(&mut self, hook: &EventHookId) {
        let found = self.all.iter_mut().find(|one| one.hook.id == *hook);
        if let Some(one) = found.filter(|one| one.circuit.state == CircuitState::Open) {
            one.circuit.state = CircuitState::HalfOpen;
        }
    }

    /// Returns all hooks, by name.
    pub fn all(&self) -> &[ActiveHook] {
        &self.all
    }

    /// Returns the number of the hook with this id or, if no id matches, with this name.
    fn number(&self, woken: &str) -> Option<u32> {
        let by_id = self.all.iter().position(|one| one.hook.id.as_str() == woken);
        let found = by_id.or_else(|| self.all.iter().position(|one| one.hook.name == woken));
        found.map(index::number)
    }
}
