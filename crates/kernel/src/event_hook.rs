//! Which hooks an event sets off, when a failing hook is left alone, and what follows when hooks fire.
//!
//! Access comes first: it says whether an event is let in, which session it goes to and what may be done for it.
//! Hooks look at what was let in. `Hooks::of` files them once; `Hooks::set_off` then answers for one event.
//!
//! Must never: set off a hook whose triggers do not all hold, or let a hook choose a session or a power.

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

/// A hook that is neither gone nor disabled.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveHook {
    /// The hook.
    pub hook: EventHook,
    /// How its breaker stands.
    pub circuit: Circuit,
}

/// Hooks, ready to be set off.
#[derive(Clone, Debug, Default)]
pub struct EventHooks {
    // Invariant: sorted by name and then id.
    all: Vec<ActiveHook>,
    // Invariant: numbers of hooks, each where every event that can set it off looks.
    index: EventHookIndex,
}

impl EventHooks {
    /// Sorts and files hooks.
    pub fn of(mut all: Vec<ActiveHook>) -> Self {
        all.sort_by(|a, b| (&a.hook.name, &a.hook.id).cmp(&(&b.hook.name, &b.hook.id)));
        let index = EventHookIndex::of(all.iter().map(|one| &one.hook.triggers));
        Self { all, index }
    }

    /// The hooks that an event sets off, by name. What a timer woke one hook for sets off no other, and what is from
    /// the past sets off none. `now` is in milliseconds since 1970 and only for breakers.
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

    /// Notes that the one try of a hook whose breaker is open is under way, so that no other is.
    pub fn begin_trial(&mut self, hook: &EventHookId) {
        let found = self.all.iter_mut().find(|one| one.hook.id == *hook);
        if let Some(one) = found.filter(|one| one.circuit.state == CircuitState::Open) {
            one.circuit.state = CircuitState::HalfOpen;
        }
    }

    /// All of them, by name.
    pub fn all(&self) -> &[ActiveHook] {
        &self.all
    }

    /// The hook that is meant by an id or, where no id fits, by a name.
    fn number(&self, woken: &str) -> Option<u32> {
        let by_id = self.all.iter().position(|one| one.hook.id.as_str() == woken);
        let found = by_id.or_else(|| self.all.iter().position(|one| one.hook.name == woken));
        found.map(index::number)
    }
}
