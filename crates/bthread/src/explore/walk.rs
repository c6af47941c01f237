//! The state walk: states found, states open, properties broken.
//!
//! Equal thread states are stored once, so a state costs a few pointers and comparison is cheap.
//!
//! Must never: forget a state it has seen.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use super::{
    ALWAYS_CAN_END, BrokenProperty, Exploration, NEVER_STUCK, NO_DEADLOCK_UNREPORTED,
    NO_ENDLESS_INNER_LOOP, NO_THREAD_PANICS, Offer, Violation, World,
    graph::{Edge, EdgeKind, Graph},
};
use crate::{
    live_thread::LiveThread,
    program::Program,
    step::{Choice, StepOutcome},
    thread::Thread,
};

type FixedHasher = BuildHasherDefault<DefaultHasher>;

pub(super) struct StateWalk<T: Thread, W> {
    states_max: usize,
    found: Vec<VisitedState<T, W>>,
    seen: HashMap<StateKey<T, W>, u32, FixedHasher>,
    threads: HashSet<Arc<LiveThread<T>>, FixedHasher>,
    graph: Graph,
    // The number of expanded states in `found`; the others are open.
    expanded: usize,
    truncated: bool,
    broken: Vec<Violation>,
}

/// A state, the edge by which the walk first reached it, and its part in the checks of endings.
struct VisitedState<T: Thread, W> {
    state: Arc<State<T, W>>,
    from: Option<(u32, Label<T::Event>)>,
    // An end, or a state where the walk stopped: it need not reach an end.
    may_rest: bool,
}

struct State<T: Thread, W> {
    program: Program<T>,
    world: W,
}

/// A state with its hash, which a growing map would otherwise compute again and again.
struct StateKey<T: Thread, W> {
    hash: u64,
    state: Arc<State<T, W>>,
}

#[derive(Clone)]
enum Label<E> {
    Offer(E),
    Choice(Choice<E>),
}

impl<T: Thread, W: World<T>> StateWalk<T, W> {
    pub(super) fn start(program: Program<T>, world: W, states_max: usize) -> Self {
        let mut walk = StateWalk {
            states_max,
            found: Vec::new(),
            seen: HashMap::default(),
            threads: HashSet::default(),
            graph: Graph::default(),
            expanded: 0,
            truncated: false,
            broken: Vec::new(),
        };
        if let Some(halt) = program.halt() {
            let broken = BrokenProperty { property: NO_THREAD_PANICS, why: halt.to_string() };
            walk.breaks(broken, None, None);
        }
        walk.admit(State { program, world }, None);
        walk
    }

    /// Follows each edge of the next open state. False if no state is open or the limit is reached.
    pub(super) fn expand_next(&mut self) -> bool {
        if self.expanded == self.found.len() || self.truncated {
            return false;
        }
        let number = self.expanded;
        let state = Arc::clone(&self.found[number].state);
        let choices = state.program.choices();
        let offers = state.world.offers(&state.program);
        self.look_at(number, &state, &choices, &offers);
        for choice in choices {
            self.follow_choice(number, &state, choice);
        }
        for offer in offers {
            self.follow_offer(number, &state, offer);
        }
        if self.truncated {
            // Some of its edges are missing; it counts as open.
            self.found[number].may_rest = true;
        }
        self.graph.close_state();
        self.expanded += 1;
        true
    }

    pub(super) fn finish(mut self) -> Exploration {
        let states = self.found.len();
        let without_end = self.graph.first_state_without_path(
            states,
            |state| state >= self.expanded || self.found[state].may_rest,
            |way| way != EdgeKind::FreeWill,
        );
        if let Some(state) = without_end {
            let why =
                "no path of internal choices and owed answers leads from here to an end".to_owned();
            self.breaks(BrokenProperty { property: ALWAYS_CAN_END, why }, Some(state), None);
        }
        if let Some(circle) = self.graph.cycle(states, |way| way == EdgeKind::Internal) {
            self.breaks_by_circle(&circle);
        }
        Exploration {
            states,
            edges: self.graph.edges_len(),
            broken: self.broken,
            complete: !self.truncated,
        }
    }

    /// Checks the properties that hold for a single state.
    fn look_at(
        &mut self,
        number: usize,
        state: &State<T, W>,
        choices: &[Choice<T::Event>],
        offers: &[Offer<T::Event>],
    ) {
        let ended = state.world.ended(&state.program) || state.program.is_halted();
        self.found[number].may_rest |= ended;
        let is_internal = |choice: &Choice<T::Event>| match choice {
            Choice::Internal { .. } => true,
            Choice::External { .. } | Choice::Unheard { .. } => false,
        };
        if !choices.iter().any(is_internal)
            && let Err(broken) = state.world.quiet(&state.program)
        {
            self.breaks(broken, Some(number), None);
        }
        if !choices.is_empty() {
            return;
        }
        let is_requesting = state.program.live().iter().any(|live| !live.bid.requests.is_empty());
        let report = state.program.waiting();
        let names_all = report.blocked.iter().all(|blocked| !blocked.blocked_by.is_empty());
        if is_requesting && !state.program.is_halted() && !(report.is_deadlock() && names_all) {
            let broken =
                BrokenProperty { property: NO_DEADLOCK_UNREPORTED, why: report.to_string() };
            self.breaks(broken, Some(number), None);
        }
        if !ended && !offers.iter().any(|offer| offer.owed) {
            let why = format!("nothing can be chosen and nobody owes an answer\n{report}");
            self.breaks(BrokenProperty { property: NEVER_STUCK, why }, Some(number), None);
        }
    }

    fn follow_choice(&mut self, number: usize, state: &State<T, W>, choice: Choice<T::Event>) {
        let mut program = state.program.clone();
        let mut world = state.world.clone();
        let outcome = match program.choose(&choice) {
            StepOutcome::Chosen(chosen) => world.saw(&chosen.event),
            StepOutcome::Quiet => Ok(()),
            StepOutcome::Halted(halt) => {
                Err(BrokenProperty { property: NO_THREAD_PANICS, why: halt.to_string() })
            }
        };
        let way = match choice {
            Choice::Internal { .. } => EdgeKind::Internal,
            Choice::External { .. } => EdgeKind::Delivery,
            Choice::Unheard { .. } => EdgeKind::Unheard,
        };
        match outcome {
            Ok(()) => self.lead(number, State { program, world }, Label::Choice(choice), way),
            Err(broken) => {
                self.breaks(broken, Some(number), Some(&Label::Choice(choice)));
                // The walk stops here, so this state is not required to reach an end.
                self.found[number].may_rest = true;
            }
        }
    }

    fn follow_offer(&mut self, number: usize, state: &State<T, W>, offer: Offer<T::Event>) {
        let Offer { event, lane, owed } = offer;
        let mut program = state.program.clone();
        let mut world = state.world.clone();
        world.offered(&event);
        program.offer(lane, event.clone());
        let way = if owed { EdgeKind::Owed } else { EdgeKind::FreeWill };
        self.lead(number, State { program, world }, Label::Offer(event), way);
    }

    fn lead(&mut self, from: usize, mut state: State<T, W>, label: Label<T::Event>, way: EdgeKind) {
        let before = Arc::clone(&self.found[from].state);
        state.program.sort_queues();
        self.share_threads(&mut state.program, &before.program);
        if let Some(to) = self.admit(state, Some((index(from), label))) {
            self.graph.push(Edge { to, way });
        }
    }

    /// Returns the number of this state, new or known. None if the limit admits no new one.
    fn admit(&mut self, state: State<T, W>, from: Option<(u32, Label<T::Event>)>) -> Option<u32> {
        let key = StateKey::new(state);
        if let Some(known) = self.seen.get(&key) {
            return Some(*known);
        }
        if self.found.len() >= self.states_max {
            self.truncated = true;
            return None;
        }
        let number = index(self.found.len());
        self.found.push(VisitedState { state: Arc::clone(&key.state), from, may_rest: false });
        self.seen.insert(key, number);
        Some(number)
    }

    fn share_threads(&mut self, program: &mut Program<T>, before: &Program<T>) {
        for position in 0..program.live().len() {
            let live = &program.live()[position];
            if before.live().get(position).is_some_and(|before| Arc::ptr_eq(before, live)) {
                continue;
            }
            match self.threads.get(live) {
                Some(known) => program.share(position, Arc::clone(known)),
                None => {
                    self.threads.insert(Arc::clone(live));
                }
            }
        }
    }

    /// Keeps the first violation of each property; breadth first, it is a shortest one.
    fn breaks(
        &mut self,
        broken: BrokenProperty,
        at: Option<usize>,
        then: Option<&Label<T::Event>>,
    ) {
        let BrokenProperty { property, why } = broken;
        if self.broken.iter().any(|violation| violation.property == property) {
            return;
        }
        let mut trace = at.map_or_else(Vec::new, |number| self.trace_to(number));
        trace.extend(then.map(text));
        self.broken.push(Violation { property, why, trace });
    }

    fn breaks_by_circle(&mut self, circle: &[usize]) {
        let next = circle.iter().cycle().skip(1);
        let round: Vec<String> =
            circle.iter().zip(next).map(|(from, to)| self.choice_between(*from, *to)).collect();
        let why = format!("goes round for ever: {}", round.join(", "));
        let broken = BrokenProperty { property: NO_ENDLESS_INNER_LOOP, why };
        self.breaks(broken, circle.first().copied(), None);
    }

    fn choice_between(&self, from: usize, to: usize) -> String {
        let (from, to) = (&self.found[from].state, &self.found[to].state);
        let mut choices = from.program.choices().into_iter();
        let choice = choices.find(|choice| {
            let mut program = from.program.clone();
            program.choose(choice);
            program == to.program
        });
        text(&Label::Choice(choice.expect("the walk went this way before")))
    }

    fn trace_to(&self, number: usize) -> Vec<String> {
        let mut trace = Vec::new();
        let mut at = &self.found[number];
        while let Some((before, label)) = &at.from {
            trace.push(text(label));
            at = &self.found[*before as usize];
        }
        trace.reverse();
        trace
    }
}

impl<T: Thread, W: Hash> StateKey<T, W> {
    fn new(state: State<T, W>) -> Self {
        let mut hasher = FixedHasher::default().build_hasher();
        state.program.hash(&mut hasher);
        state.world.hash(&mut hasher);
        StateKey { hash: hasher.finish(), state: Arc::new(state) }
    }
}

impl<T: Thread, W: Eq> PartialEq for StateKey<T, W> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && self.state.world == other.state.world
            && self.state.program == other.state.program
    }
}

impl<T: Thread, W: Eq> Eq for StateKey<T, W> {}

impl<T: Thread, W> Hash for StateKey<T, W> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

fn text<E: std::fmt::Debug>(label: &Label<E>) -> String {
    match label {
        Label::Offer(event) => format!("offer {event:?}"),
        Label::Choice(Choice::Internal { thread, event }) => format!("{thread}: {event:?}"),
        Label::Choice(Choice::External { event, .. }) => format!("deliver {event:?}"),
        Label::Choice(Choice::Unheard { event, .. }) => format!("nobody hears {event:?}"),
    }
}

fn index(state: usize) -> u32 {
    u32::try_from(state).expect("states are numbered by u32")
}
