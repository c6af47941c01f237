//! What a thread says in one state: events, patterns over events, and the bid made of them.
//!
//! A guard is a name of the user's for a pure test of an event's content, so that a bid can be compared and shown.
//!
//! Must never: hold a closure, or depend on anything but the event at hand.

use std::{
    collections::BTreeSet,
    fmt::{self, Debug, Display},
    hash::Hash,
};

/// Something that can happen.
pub trait ProgramEvent: Clone + Eq + Hash + Debug {
    /// What sort of event it is: a small enum. Threads are found by it.
    type Kind: Copy + Eq + Ord + Hash + Debug;
    /// The named pure tests over an event's content.
    type Guard: Clone + Eq + Hash + Debug;

    /// The sort of this event.
    fn kind(&self) -> Self::Kind;
    /// What ties it to other events: the number of a call, of a turn.
    fn key(&self) -> u64;
    /// Whether the content passes this test; the same event always answers the same.
    fn satisfies(&self, guard: &Self::Guard) -> bool;
}

/// Which keys a pattern means.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum KeySet {
    /// Every key.
    Any,
    /// This one.
    Is(u64),
    /// One of these.
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
    /// Every event of this kind.
    pub fn kind(kind: E::Kind) -> Self {
        Pattern { kind, keys: KeySet::Any, guards: Vec::new() }
    }

    /// Only with this key.
    pub fn key(mut self, key: u64) -> Self {
        self.keys = KeySet::Is(key);
        self
    }

    /// Only with one of these keys.
    pub fn keys_in(mut self, keys: impl IntoIterator<Item = u64>) -> Self {
        self.keys = KeySet::In(keys.into_iter().collect());
        self
    }

    /// Only with none of these keys.
    pub fn keys_not_in(mut self, keys: impl IntoIterator<Item = u64>) -> Self {
        self.keys = KeySet::NotIn(keys.into_iter().collect());
        self
    }

    /// Only if the content passes this guard; of several, all must pass.
    pub fn guarded(mut self, guard: E::Guard) -> Self {
        self.guards.push(guard);
        self
    }

    /// Whether the event is one of those meant.
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

/// What a thread wants in one state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bid<E: ProgramEvent> {
    /// Events it asks for, the dearest first. It moves when an equal one is chosen.
    pub requests: Vec<E>,
    /// Events it moves on, whoever asks for them.
    pub waits: Vec<Pattern<E>>,
    /// Events that must not happen now, whoever asks for them.
    pub blocks: Vec<Pattern<E>>,
    /// Events that break it off. Interrupt beats wait.
    pub interrupts: Vec<Pattern<E>>,
}

impl<E: ProgramEvent> Bid<E> {
    /// Wants nothing.
    pub fn new() -> Self {
        Bid { requests: Vec::new(), waits: Vec::new(), blocks: Vec::new(), interrupts: Vec::new() }
    }

    /// Asks for this event, after those asked for before.
    pub fn request(mut self, event: E) -> Self {
        self.requests.push(event);
        self
    }

    /// Moves on these.
    pub fn wait(mut self, pattern: Pattern<E>) -> Self {
        self.waits.push(pattern);
        self
    }

    /// Forbids these.
    pub fn block(mut self, pattern: Pattern<E>) -> Self {
        self.blocks.push(pattern);
        self
    }

    /// Is broken off by these.
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
