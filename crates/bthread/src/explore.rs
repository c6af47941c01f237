//! Walks every state a program can reach in a world, under every possible order of events.
//!
//! Priorities are ignored on purpose: a property proven here needs none. The walk is breadth first,
//! so the first trace to a broken property is a shortest one. Equal states are merged.
//!
//! Must never: call a walk complete that left out a state, or continue past a broken property.

mod graph;
mod walk;

use std::{
    fmt::{self, Debug, Display},
    hash::Hash,
};

use crate::{
    explore::walk::StateWalk, limits::EXPLORED_STATES_MAX, program::Program, step::Lane,
    thread::Thread,
};

/// From every state, internal choices, deliveries and owed offers can lead to an end.
pub const ALWAYS_CAN_END: &str = "always can end";
/// A state that is not an end has a choice, or the world owes an answer.
pub const NEVER_STUCK: &str = "never stuck";
/// Internal choices alone never form a cycle.
pub const NO_ENDLESS_INNER_LOOP: &str = "no endless inner loop";
/// If every request is blocked, the report is a deadlock and names the blocking threads.
pub const NO_DEADLOCK_UNREPORTED: &str = "no deadlock unreported";
/// No thread and no guard panics.
pub const NO_THREAD_PANICS: &str = "no thread panics";

/// An event that the world may offer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Offer<E> {
    /// The event that is queued.
    pub event: E,
    /// The lane in which it is queued.
    pub lane: Lane,
    /// True if the world must offer it some day, as an answer to a request; else it may never come.
    pub owed: bool,
}

/// A violated property, as a monitor of the world reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokenProperty {
    /// The name of the property.
    pub property: &'static str,
    /// The way in which it is broken.
    pub why: String,
}

/// The outside of a program, with its monitors. It is part of the state, so it must be finite.
pub trait World<T: Thread>: Clone + Eq + Hash + Debug {
    /// Returns the events that the world may offer in this state.
    fn offers(&self, program: &Program<T>) -> Vec<Offer<T::Event>>;

    /// Observes each chosen event; monitors live here. The walk stops behind a broken property.
    fn saw(&mut self, event: &T::Event) -> Result<(), BrokenProperty>;

    /// Consumes an offer; called before the event is queued.
    fn offered(&mut self, event: &T::Event);

    /// Checks a state in which no internal event can be chosen.
    fn quiet(&self, program: &Program<T>) -> Result<(), BrokenProperty>;

    /// Returns true if the work is over in this state.
    fn ended(&self, program: &Program<T>) -> bool;
}

/// The bounds of a walk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExplorationLimits {
    /// The number of states after which the walk stops as incomplete.
    pub states_max: usize,
}

impl Default for ExplorationLimits {
    fn default() -> Self {
        ExplorationLimits { states_max: EXPLORED_STATES_MAX }
    }
}

/// A violated property, with a shortest trace to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The name of the property.
    pub property: &'static str,
    /// The way in which it is broken.
    pub why: String,
    /// The events from the start to the violation, as text.
    pub trace: Vec<String>,
}

/// The result of a walk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exploration {
    /// The number of distinct states.
    pub states: usize,
    /// The number of transitions between them.
    pub edges: usize,
    /// The first violation of each property, in the order of discovery.
    pub broken: Vec<Violation>,
    /// True if no state was left out. If false, statements about endings are no proof.
    pub complete: bool,
}

impl Exploration {
    /// Returns the violation of this property; None if the walk found none.
    pub fn violation(&self, property: &str) -> Option<&Violation> {
        self.broken.iter().find(|violation| violation.property == property)
    }
}

impl Display for Exploration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = if self.complete { "all" } else { "not all" };
        writeln!(out, "{} states, {} edges, {all} seen.", self.states, self.edges)?;
        for Violation { property, why, trace } in &self.broken {
            writeln!(out, "Broken: {property}: {why}")?;
            for line in trace {
                writeln!(out, "  {line}")?;
            }
        }
        Ok(())
    }
}

/// Walks every reachable state of this program in this world.
///
/// A state leads to each choice of the program (a queued event can be delivered at any time) and to
/// each offer of the world, which is queued and delivered later or never. Queues stay sorted by
/// kind, because the order across kinds changes nothing here.
pub fn explore<T: Thread, W: World<T>>(
    program: Program<T>,
    world: W,
    explorer: ExplorationLimits,
) -> Exploration {
    let mut walk = StateWalk::start(program, world, explorer.states_max);
    while walk.expand_next() {}
    walk.finish()
}
