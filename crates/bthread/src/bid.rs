//! Events, patterns over events, and the bid that a thread makes of them in one state.
//!
//! A guard is a named pure test of an event's content, so that bids can be compared and shown.
//!
//! Must never: hold a closure, or depend on anything but the event at hand.

use std::{
    collections::BTreeSet,
    fmt::{self, Debug, Display},
    hash::Hash,
};

/// An event that a program can choose.
pub trait ProgramEvent: Clone + Eq + Hash + Debug {
    /// The sort of an event: a small enum. The index finds threads by it.
    type Kind: Copy + Eq + Ord + Hash + Debug;
    /// The named pure tests of an event's content.
    type Guard: Clone + Eq + Hash + Debug;

    /// Returns the sort of this event.
    fn kind(&self) -> Self::Kind;
    /// Returns the number that ties it to other events: the number of a call, of a turn.
    fn key(&self) -> u64;
    /// Returns true if the content passes this guard; must be pure: equal events answer equally.
    fn satisfies(&self, guard: &Self::Guard) -> bool;
}

/// The keys that a pattern covers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum KeySet {
    /// Every key.
    Any,
    /// This key only.
    Is(u64),
    /// Each of these keys.
    In(BTreeSet<u64>),
    /// Every key but these; of an empty set: every key.
    NotIn(BTreeSet<u64>),
}

impl KeySet {
    fn contains(&self, key: u64) -> bool {
        match self {
            KeySet::Any => true,
            KeySet::Is(one) => *one == key,
            KeySet::In(set) => set.contains(&key),
            KeySet::NotIn(set) => !set.contains(&key),
        }
    }
}

/// A set of events: one kind, some keys, perhaps a guard.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pattern<E: ProgramEvent> {
    kind: E::Kind,
    keys: KeySet,
    guards: Vec<E::Guard>,
}

impl<E: ProgramEvent> Pattern<E> {
    /// Matches every event of this kind.
    pub fn kind(kind: E::Kind) -> Self {
        Pattern { kind, keys: KeySet::Any, guards: Vec::new() }
    }

    /// Narrows the pattern to this key.
    pub fn key(mut self, key: u64) -> Self {
        self.keys = KeySet::Is(key);
        self
    }

    /// Narrows the pattern to these keys.
    pub fn keys_in(mut self, keys: impl IntoIterator<Item = u64>) -> Self {
        self.keys = KeySet::In(keys.into_iter().collect());
        self
    }

    /// Narrows the pattern to all keys but these.
    pub fn keys_not_in(mut self, keys: impl IntoIterator<Item = u64>) -> Self {
        self.keys = KeySet::NotIn(keys.into_iter().collect());
        self
    }

    /// Narrows the pattern to content that passes this guard; of several guards, all must pass.
    pub fn guarded(mut self, guard: E::Guard) -> Self {
        self.guards.push(guard);
        self
    }

    /// Returns true if the kind, the key and every guard accept the event.
    pub fn matches(&self, event: &E) -> bool {
        self.kind == event.kind()
            && self.keys.contains(event.key())
            && self.guards.iter().all(|guard| event.satisfies(guard))
    }

    pub(crate) fn of_kind(&self) -> E::Kind {
        self.kind
    }
}

impl<E: ProgramEvent> Display for Pattern<E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.kind)?;
        match &self.keys {
            KeySet::Any => {}
            KeySet::Is(key) => write!(out, " with key {key}")?,
            KeySet::In(set) => write!(out, " with a key in {set:?}")?,
            KeySet::NotIn(set) => write!(out, " with a key not in {set:?}")?,
        }
        for guard in &self.guards {
            write!(out, " that is {guard:?}")?;
        }
        Ok(())
    }
}

/// The requests, waits, blocks and interrupts of a thread in one state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bid<E: ProgramEvent> {
    /// Events it requests, the most wanted first. It moves when an equal event is chosen.
    pub requests: Vec<E>,
    /// Events on which it moves, no matter which thread requests them.
    pub waits: Vec<Pattern<E>>,
    /// Events that must not be chosen now, no matter which thread requests them.
    pub blocks: Vec<Pattern<E>>,
    /// Events that interrupt it. An interrupt takes precedence over a wait.
    pub interrupts: Vec<Pattern<E>>,
}

impl<E: ProgramEvent> Bid<E> {
    /// Returns a bid without requests, waits, blocks or interrupts.
    pub fn new() -> Self {
        Bid { requests: Vec::new(), waits: Vec::new(), blocks: Vec::new(), interrupts: Vec::new() }
    }

    /// Adds a request, less wanted than those added before.
    pub fn request(mut self, event: E) -> Self {
        self.requests.push(event);
        self
    }

    /// Adds events on which the thread moves.
    pub fn wait(mut self, pattern: Pattern<E>) -> Self {
        self.waits.push(pattern);
        self
    }

    /// Adds events that must not be chosen now.
    pub fn block(mut self, pattern: Pattern<E>) -> Self {
        self.blocks.push(pattern);
        self
    }

    /// Adds events that interrupt the thread.
    pub fn interrupt(mut self, pattern: Pattern<E>) -> Self {
        self.interrupts.push(pattern);
        self
    }

    pub(crate) fn is_interrupted_by(&self, event: &E) -> bool {
        self.interrupts.iter().any(|pattern| pattern.matches(event))
    }

    pub(crate) fn wakes_for(&self, event: &E) -> bool {
        self.waits.iter().any(|pattern| pattern.matches(event)) || self.requests.contains(event)
    }

    pub(crate) fn is_blocking(&self, event: &E) -> bool {
        self.blocks.iter().any(|pattern| pattern.matches(event))
    }
}

impl<E: ProgramEvent> Default for Bid<E> {
    fn default() -> Self {
        Self::new()
    }
}
