//! A thread: an explicit state machine that can be cloned, compared, hashed, stored and explored.
//!
//! Must never: share state between threads; they talk through events only.

use std::{borrow::Cow, fmt::Debug, hash::Hash};

use crate::bid::{Bid, ProgramEvent};

/// The name of a thread in reports.
pub type ThreadName = Cow<'static, str>;

/// The state of a thread after a move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Flow {
    /// The thread stays, in its new state.
    Go,
    /// The thread has ended and leaves the program.
    End,
}

/// A thread for one concern. A program's threads are of one type, most often an enum.
///
/// Two taps and a thread that mixes them:
///
/// ```
/// use std::borrow::Cow;
/// use agentry_bthread::{Bid, Flow, Pattern, Program, ProgramEvent, Spawner, Thread};
///
/// #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
/// enum Water { Hot, Cold }
///
/// impl ProgramEvent for Water {
///     type Kind = Water;
///     type Guard = ();
///     fn kind(&self) -> Water { *self }
///     fn key(&self) -> u64 { 0 }
///     fn satisfies(&self, _: &()) -> bool { true }
/// }
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// enum Tap { Pour { what: Water, left: u8 }, Mix { next: Water } }
///
/// impl Thread for Tap {
///     type Event = Water;
///     fn name(&self) -> Cow<'static, str> {
///         match self { Tap::Pour { .. } => "tap".into(), Tap::Mix { .. } => "mixer".into() }
///     }
///     fn bid(&self) -> Bid<Water> {
///         match self {
///             Tap::Pour { what, .. } => Bid::new().request(*what),
///             Tap::Mix { next } => {
///                 let other = if *next == Water::Hot { Water::Cold } else { Water::Hot };
///                 Bid::new().wait(Pattern::kind(*next)).block(Pattern::kind(other))
///             }
///         }
///     }
///     fn on(&mut self, event: &Water, _: &mut Spawner<Tap>) -> Flow {
///         match self {
///             Tap::Pour { left, .. } => {
///                 *left -= 1;
///                 if *left == 0 { Flow::End } else { Flow::Go }
///             }
///             Tap::Mix { next } => {
///                 *next = if *event == Water::Hot { Water::Cold } else { Water::Hot };
///                 Flow::Go
///             }
///         }
///     }
/// }
///
/// let pour = |what| Tap::Pour { what, left: 3 };
/// let mut program = Program::new([pour(Water::Hot), pour(Water::Cold), Tap::Mix { next: Water::Hot }]);
/// let poured: Vec<Water> = program.run().unwrap().into_iter().map(|chosen| chosen.event).collect();
/// assert_eq!(poured, [Water::Hot, Water::Cold, Water::Hot, Water::Cold, Water::Hot, Water::Cold]);
/// ```
pub trait Thread: Clone + Eq + Hash + Debug {
    /// The type of the events of its program.
    type Event: ProgramEvent;

    /// Returns its name in reports.
    fn name(&self) -> ThreadName;

    /// Computes its bid: a pure function of its state.
    fn bid(&self) -> Bid<Self::Event>;

    /// Moves on an event that it requested or waited for.
    fn on(&mut self, event: &Self::Event, spawner: &mut Spawner<Self>) -> Flow;

    /// Reacts to an interrupt; ends the thread unless overridden.
    fn interrupted(&mut self, event: &Self::Event) -> Flow {
        let _event = event;
        Flow::End
    }
}

/// Collects the threads that a thread starts while it moves. They join last, as the least urgent.
#[derive(Debug)]
pub struct Spawner<T> {
    pub(crate) spawned: Vec<T>,
}

impl<T> Spawner<T> {
    /// Creates an empty collector, for a test that calls one thread directly.
    pub fn new() -> Self {
        Spawner { spawned: Vec::new() }
    }

    /// Starts this thread; it takes part from the next step on.
    pub fn spawn(&mut self, thread: T) {
        self.spawned.push(thread);
    }

    /// Returns the started threads, in order.
    pub fn into_spawned(self) -> Vec<T> {
        self.spawned
    }
}

impl<T> Default for Spawner<T> {
    fn default() -> Self {
        Self::new()
    }
}
