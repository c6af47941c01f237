//! Walks every state a program can reach in a world, under every order of what could happen.
//!
//! Order of urgency is ignored on purpose: what holds here needs no priority to hold. Breadth first, so the first
//! trace to a broken property is a shortest one. States are merged by equality.
//!
//! Must never: call a walk complete that left out a state, or go on behind a step that broke a property.

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

/// From every state, internal choices, deliveries and what the outside owes can lead to an end.
pub const ALWAYS_CAN_END: &str = "always can end";
/// A state that is not an end has something to choose, or the outside owes an answer.
pub const NEVER_STUCK: &str = "never stuck";
/// Internal choices alone never go round in a circle.
pub const NO_ENDLESS_INNER_LOOP: &str = "no endless inner loop";
/// Where everything requested is blocked, the report says so and names who blocks.
pub const NO_DEADLOCK_UNREPORTED: &str = "no deadlock unreported";
/// No thread and no guard panics.
pub const NO_THREAD_PANICS: &str = "no thread panics";

/// Something the outside may say.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Offer<E> {
    /// What.
    pub event: E,
    /// Through which lane.
    pub lane: Lane,
    /// Whether it must come some day, as an answer to something asked; else it is free will.
    pub owed: bool,
}

/// A property that does not hold, as a monitor says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokenProperty {
    /// Its name.
    pub property: &'static str,
    /// In which way it is broken.
    pub why: String,
}

/// The outside of a program, and what is demanded of it. Part of the state: it must be finite.
pub trait World<T: Thread>: Clone + Eq + Hash + Debug {
    /// What the outside may say in this state.
    fn offers(&self, program: &Program<T>) -> Vec<Offer<T::Event>>;

    /// Sees each chosen event; monitors live here. The walk does not go on behind a broken property.
    fn saw(&mut self, event: &T::Event) -> Result<(), BrokenProperty>;

    /// Told before an offer is queued, so that it can be spent.
    fn offered(&mut self, event: &T::Event);

    /// Looked at in every state that is quiet inside: nothing internal can be chosen.
    fn quiet(&self, program: &Program<T>) -> Result<(), BrokenProperty>;

    /// Whether the work is over in this state.
    fn ended(&self, program: &Program<T>) -> bool;
}

/// How far to walk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExplorationLimits {
    /// States: the walk stops there and is not complete.
    pub states_max: usize,
}

impl Default for ExplorationLimits {
    fn default() -> Self {
        ExplorationLimits { states_max: EXPLORED_STATES_MAX }
    }
}

/// A property that does not hold, and a shortest way to where it breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Its name.
    pub property: &'static str,
    /// In which way it is broken.
    pub why: String,
    /// What happened, from the start.
    pub trace: Vec<String>,
}

/// What a walk found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exploration {
    /// Different states seen.
    pub states: usize,
    /// Ways from one to another.
    pub edges: usize,
    /// Each broken property once, in the order found.
    pub broken: Vec<Violation>,
    /// Whether no state was left out. If not, nothing said about endings is a proof.
    pub complete: bool,
}

impl Exploration {
    /// The violation of this property.
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
/// From each state lead: every choice of the program (offered events can be delivered at any time, also while
/// internal ones could be chosen), and every offer of the world, which is queued and delivered later or never.
/// Queues are kept sorted by kind, because the order across kinds changes nothing here.
pub fn explore<T: Thread, W: World<T>>(
    program: Program<T>,
    world: W,
    explorer: ExplorationLimits,
) -> Exploration {
    let mut walk = StateWalk::start(program, world, explorer.states_max);
    while walk.expand_next() {}
    walk.finish()
}
