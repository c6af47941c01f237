//! The engine: choose one event, move each thread concerned, repeat.
//!
//! A step is computed on copies and committed at once, so a panic leaves the state before the step.
//! Programs with many threads find candidates by index; small ones are searched linearly.
//!
//! Must never: recurse, run an effect, drop or merge an external event, or choose after a halt.

use std::{
    cell::Cell,
    collections::VecDeque,
    hash::{Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use crate::{
    bid::{Bid, ProgramEvent},
    halt::{A_GUARD, Halt},
    index::{BidIndex, Candidates, Relation},
    limits::{LIVELOCK_EVENTS_SHOWN_MAX, SCAN_THREADS_MAX, SUPER_STEP_EVENTS_MAX},
    live_thread::LiveThread,
    step::{Choice, ChosenEvent, EventSource, Lane, StepOutcome},
    thread::{Flow, Spawner, Thread, ThreadName},
};

/// A behavioral program: its threads by priority, and the events offered to them.
#[derive(Clone, Debug)]
pub struct Program<T: Thread> {
    live: Vec<Arc<LiveThread<T>>>,
    pub(crate) urgent: VecDeque<T::Event>,
    pub(crate) normal: VecDeque<T::Event>,
    pub(crate) unheard: Vec<T::Event>,
    pub(crate) halted: Option<Halt>,
    // A cache: not part of equality, hash or the stored form. None while there are few threads.
    index: Option<BidIndex<T::Event>>,
}

/// The effect of a step, computed before the program changes.
struct Transition<T: Thread> {
    event: T::Event,
    from: EventPosition,
    // By ascending position; None if the thread ended.
    moved: Vec<(usize, Option<LiveThread<T>>)>,
    spawned: Vec<LiveThread<T>>,
}

/// The origin of an event: the requesting thread, or the place in a queue.
#[derive(Clone, Copy)]
enum EventPosition {
    Thread(usize),
    Queue(Lane, usize),
}

/// The result of selecting an event.
enum Selection<T: Thread> {
    Take(Transition<T>),
    // No event can be taken; these queued events (lane, place) concern no thread.
    Quiet(Vec<(Lane, usize)>),
}

impl<T: Thread> Program<T> {
    /// Creates a program of these threads, the most urgent first.
    pub fn new(threads: impl IntoIterator<Item = T>) -> Self {
        let mut halted = None;
        let live = threads
            .into_iter()
            .map(|thread| {
                let bid = catch_unwind(AssertUnwindSafe(|| thread.bid())).unwrap_or_else(|panic| {
                    halted.get_or_insert(Halt::panicked(thread.name(), None, panic.as_ref()));
                    Bid::new()
                });
                Arc::new(LiveThread { thread, bid })
            })
            .collect();
        let mut program = Program {
            live,
            urgent: VecDeque::new(),
            normal: VecDeque::new(),
            unheard: Vec::new(),
            halted,
            index: None,
        };
        program.rebuild_index();
        program
    }

    /// Queues an external event; none is dropped or merged. A blocked one can be overtaken.
    pub fn offer(&mut self, lane: Lane, event: T::Event) {
        self.queue_mut(lane).push_back(event);
    }

    /// Chooses one event and moves each thread concerned.
    pub fn step(&mut self) -> StepOutcome<T::Event> {
        self.step_by(|program, moving| match program.select() {
            Some((event, from)) => Selection::Take(program.plan(event, from, moving)),
            None => Selection::Quiet(program.unheard_positions().collect()),
        })
    }

    /// Steps until no event can be chosen. A run beyond the limit halts the program.
    ///
    /// To act on each event use [`Program::step`]: a halt loses the events chosen before it.
    pub fn run(&mut self) -> Result<Vec<ChosenEvent<T::Event>>, Halt> {
        let mut chosen = Vec::new();
        let mut internal = 0;
        loop {
            match self.step() {
                StepOutcome::Quiet => return Ok(chosen),
                StepOutcome::Halted(halt) => return Err(halt),
                StepOutcome::Chosen(next) => {
                    internal = match next.source {
                        EventSource::Internal { .. } => internal + 1,
                        EventSource::External { .. } => 0,
                    };
                    chosen.push(next);
                }
            }
            if internal >= SUPER_STEP_EVENTS_MAX {
                let last = &chosen[chosen.len() - LIVELOCK_EVENTS_SHOWN_MAX..];
                let last = last.iter().map(|chosen| format!("{:?}", chosen.event)).collect();
                let halt = Halt::Livelock { events: internal, last };
                self.halted = Some(halt.clone());
                return Err(halt);
            }
        }
    }

    /// Returns all possible next events, ignoring priority: requests in thread order, then queues.
    /// Equal requests count once; of queued events of a kind, the first deliverable one counts.
    pub fn choices(&self) -> Vec<Choice<T::Event>> {
        let mut choices = Vec::new();
        if self.is_halted() {
            return choices;
        }
        let mut seen: Vec<&T::Event> = Vec::new();
        for position in self.requesting() {
            let live = &self.live[position];
            for event in &live.bid.requests {
                if !seen.contains(&event) && !self.is_blocked(event) {
                    seen.push(event);
                    let thread = live.thread.name();
                    choices.push(Choice::Internal { thread, event: event.clone() });
                }
            }
        }
        for lane in [Lane::Urgent, Lane::Normal] {
            let mut kinds = Vec::new();
            for event in self.queue(lane) {
                if !kinds.contains(&event.kind()) && self.is_deliverable(event) {
                    kinds.push(event.kind());
                    choices.push(Choice::External { lane, event: event.clone() });
                }
            }
        }
        if choices.is_empty() {
            choices.extend(self.unheard_positions().map(|(lane, place)| Choice::Unheard {
                lane,
                event: self.queue(lane)[place].clone(),
            }));
        }
        choices
    }

    /// Takes this choice regardless of priority; changes nothing and returns `Quiet` if it is gone.
    pub fn choose(&mut self, choice: &Choice<T::Event>) -> StepOutcome<T::Event> {
        self.step_by(|program, moving| match choice {
            Choice::Internal { event, .. } => match program.requester_of(event) {
                Some(position) if !program.is_blocked(event) => Selection::Take(program.plan(
                    event.clone(),
                    EventPosition::Thread(position),
                    moving,
                )),
                Some(_) | None => Selection::Quiet(Vec::new()),
            },
            Choice::External { lane, event } => match program.place_of(*lane, event) {
                Some(place) if program.is_deliverable(event) => Selection::Take(program.plan(
                    event.clone(),
                    EventPosition::Queue(*lane, place),
                    moving,
                )),
                Some(_) | None => Selection::Quiet(Vec::new()),
            },
            Choice::Unheard { lane, event } => match program.place_of(*lane, event) {
                Some(place) if !program.is_blocked(event) && !program.is_heard(event) => {
                    Selection::Quiet(vec![(*lane, place)])
                }
                Some(_) | None => Selection::Quiet(Vec::new()),
            },
        })
    }

    /// Returns the live threads, the most urgent first.
    pub fn threads(&self) -> impl Iterator<Item = &T> {
        self.live.iter().map(|live| &live.thread)
    }

    /// Returns the offered events on which no thread moved, oldest first.
    pub fn unheard(&self) -> &[T::Event] {
        &self.unheard
    }

    /// Removes and returns the unheard events, so that the caller can report them.
    pub fn take_unheard(&mut self) -> Vec<T::Event> {
        std::mem::take(&mut self.unheard)
    }

    /// Returns the undelivered events of a lane, oldest first.
    pub fn queued(&self, lane: Lane) -> impl Iterator<Item = &T::Event> {
        self.queue(lane).iter()
    }

    /// Returns true if the program has halted for good.
    pub fn is_halted(&self) -> bool {
        self.halted.is_some()
    }

    /// Returns the reason of the halt; None while the program can run.
    pub fn halt(&self) -> Option<&Halt> {
        self.halted.as_ref()
    }

    pub(crate) fn live(&self) -> &[Arc<LiveThread<T>>] {
        &self.live
    }

    /// Sorts queues by kind, stable within a kind. [`Program::choices`] cannot tell the difference.
    pub(crate) fn sort_queues(&mut self) {
        self.urgent.make_contiguous().sort_by_key(ProgramEvent::kind);
        self.normal.make_contiguous().sort_by_key(ProgramEvent::kind);
        self.unheard.sort_by_key(ProgramEvent::kind);
    }

    /// Replaces a thread by an equal, shared copy, so that the explorer stores each state once.
    pub(crate) fn share(&mut self, position: usize, live: Arc<LiveThread<T>>) {
        self.live[position] = live;
    }

    pub(crate) fn queue(&self, lane: Lane) -> &VecDeque<T::Event> {
        match lane {
            Lane::Urgent => &self.urgent,
            Lane::Normal => &self.normal,
        }
    }

    /// Returns the positions of the threads that block this event now.
    pub(crate) fn blockers(&self, event: &T::Event) -> impl Iterator<Item = usize> {
        self.concerned(Relation::Block, event.kind())
            .filter(|position| self.live[*position].bid.is_blocking(event))
    }

    pub(crate) fn is_blocked(&self, event: &T::Event) -> bool {
        self.blockers(event).next().is_some()
    }

    /// Returns true if a thread would move on this event.
    pub(crate) fn is_heard(&self, event: &T::Event) -> bool {
        self.concerned(Relation::Move, event.kind()).any(|position| {
            let bid = &self.live[position].bid;
            bid.is_interrupted_by(event) || bid.wakes_for(event)
        })
    }

    pub(crate) fn is_deliverable(&self, event: &T::Event) -> bool {
        !self.is_blocked(event) && self.is_heard(event)
    }

    /// Returns the queued events that no thread blocks and no thread moves on.
    pub(crate) fn unheard_positions(&self) -> impl Iterator<Item = (Lane, usize)> {
        [Lane::Urgent, Lane::Normal].into_iter().flat_map(move |lane| {
            self.queue(lane).iter().enumerate().filter_map(move |(place, event)| {
                (!self.is_blocked(event) && !self.is_heard(event)).then_some((lane, place))
            })
        })
    }

    fn queue_mut(&mut self, lane: Lane) -> &mut VecDeque<T::Event> {
        match lane {
            Lane::Urgent => &mut self.urgent,
            Lane::Normal => &mut self.normal,
        }
    }

    fn place_of(&self, lane: Lane, event: &T::Event) -> Option<usize> {
        self.queue(lane).iter().position(|queued| queued == event)
    }

    fn requester_of(&self, event: &T::Event) -> Option<usize> {
        self.concerned(Relation::Move, event.kind())
            .find(|position| self.live[*position].bid.requests.contains(event))
    }

    fn requesting(&self) -> Candidates<'_> {
        match &self.index {
            Some(index) => Candidates::Listed(index.requesting().iter()),
            None => Candidates::All(0..self.live.len()),
        }
    }

    fn concerned(
        &self,
        relation: Relation,
        kind: <T::Event as ProgramEvent>::Kind,
    ) -> Candidates<'_> {
        match &self.index {
            Some(index) => Candidates::Listed(index.concerned(relation, kind).iter()),
            None => Candidates::All(0..self.live.len()),
        }
    }

    /// Selects the next event: urgent lane, then requests by priority, then normal lane.
    fn select(&self) -> Option<(T::Event, EventPosition)> {
        self.first_deliverable(Lane::Urgent)
            .or_else(|| self.first_request())
            .or_else(|| self.first_deliverable(Lane::Normal))
    }

    fn first_deliverable(&self, lane: Lane) -> Option<(T::Event, EventPosition)> {
        let mut queued = self.queue(lane).iter().enumerate();
        let (place, event) = queued.find(|(_, event)| self.is_deliverable(event))?;
        Some((event.clone(), EventPosition::Queue(lane, place)))
    }

    fn first_request(&self) -> Option<(T::Event, EventPosition)> {
        self.requesting().find_map(|position| {
            let mut requests = self.live[position].bid.requests.iter();
            let event = requests.find(|event| !self.is_blocked(event))?;
            Some((event.clone(), EventPosition::Thread(position)))
        })
    }

    /// Computes the step without changing the program; `moving` records whose code runs.
    fn plan(
        &self,
        event: T::Event,
        from: EventPosition,
        moving: &PanicContext<T::Event>,
    ) -> Transition<T> {
        moving.event.set(Some(event.clone()));
        let mut moved = Vec::new();
        let mut spawned = Vec::new();
        let mut spawner = Spawner::new();
        for position in self.concerned(Relation::Move, event.kind()) {
            let before = &self.live[position];
            let interrupted = before.bid.is_interrupted_by(&event);
            if !interrupted && !before.bid.wakes_for(&event) {
                continue;
            }
            moving.position.set(Some(position));
            let mut thread = before.thread.clone();
            let flow = if interrupted {
                thread.interrupted(&event)
            } else {
                thread.on(&event, &mut spawner)
            };
            match flow {
                // An equal state has an equal bid, so nothing changes.
                Flow::Go if thread == before.thread => {}
                Flow::Go => moved.push((position, Some(LiveThread::new(thread)))),
                Flow::End => moved.push((position, None)),
            }
            spawned.extend(spawner.spawned.drain(..).map(LiveThread::new));
        }
        Transition { event, from, moved, spawned }
    }

    /// Runs the code that may panic on copies, then commits its result.
    fn step_by(
        &mut self,
        decide: impl FnOnce(&Self, &PanicContext<T::Event>) -> Selection<T>,
    ) -> StepOutcome<T::Event> {
        if let Some(halt) = &self.halted {
            return StepOutcome::Halted(halt.clone());
        }
        let moving = PanicContext { position: Cell::new(None), event: Cell::new(None) };
        match catch_unwind(AssertUnwindSafe(|| decide(self, &moving))) {
            Ok(Selection::Take(plan)) => StepOutcome::Chosen(self.commit(plan)),
            Ok(Selection::Quiet(unheard)) => {
                self.put_aside(&unheard);
                StepOutcome::Quiet
            }
            Err(panic) => {
                let position = moving.position.get();
                let name = position
                    .map_or(ThreadName::Borrowed(A_GUARD), |at| self.live[at].thread.name());
                let event = moving.event.take().map(|event| format!("{event:?}"));
                let halt = Halt::panicked(name, event, panic.as_ref());
                self.halted = Some(halt.clone());
                StepOutcome::Halted(halt)
            }
        }
    }

    fn commit(&mut self, plan: Transition<T>) -> ChosenEvent<T::Event> {
        let source = match plan.from {
            EventPosition::Thread(position) => {
                EventSource::Internal { thread: self.live[position].thread.name() }
            }
            EventPosition::Queue(lane, place) => {
                self.queue_mut(lane).remove(place);
                EventSource::External { lane }
            }
        };
        let mut ended = Vec::new();
        for (position, after) in plan.moved {
            match after {
                Some(after) => {
                    if let Some(index) = &mut self.index {
                        index.replace(position, &self.live[position].bid, &after.bid);
                    }
                    match Arc::get_mut(&mut self.live[position]) {
                        Some(unshared) => *unshared = after,
                        None => self.live[position] = Arc::new(after),
                    }
                }
                None => ended.push(position),
            }
        }
        self.remove(ended);
        for live in plan.spawned {
            if let Some(index) = &mut self.index {
                index.add(self.live.len(), &live.bid);
            }
            self.live.push(Arc::new(live));
        }
        if self.index.is_some() != (self.live.len() > SCAN_THREADS_MAX) {
            self.rebuild_index();
        }
        ChosenEvent { event: plan.event, source }
    }

    /// Expects ascending positions. Spawned threads end first, so only others cost a new index.
    fn remove(&mut self, mut ended: Vec<usize>) {
        while let Some(position) = ended.pop_if(|position| *position + 1 == self.live.len()) {
            let gone = self.live.pop().expect("an ended thread was live");
            if let Some(index) = &mut self.index {
                index.remove(position, &gone.bid);
            }
        }
        if !ended.is_empty() {
            for position in ended.into_iter().rev() {
                self.live.remove(position);
            }
            self.rebuild_index();
        }
    }

    /// Moves events from the queues to `unheard`; places ascend within each lane.
    fn put_aside(&mut self, unheard: &[(Lane, usize)]) {
        for (lane, place) in unheard.iter().rev() {
            let event = self.queue_mut(*lane).remove(*place);
            self.unheard.push(event.expect("the place was just looked up"));
        }
        // Removed from the back so that places stay valid; reported from the front.
        let first = self.unheard.len() - unheard.len();
        self.unheard[first..].reverse();
    }

    fn rebuild_index(&mut self) {
        let many = self.live.len() > SCAN_THREADS_MAX;
        self.index = many.then(|| BidIndex::build(self.live.iter().map(|live| &live.bid)));
    }
}

/// The thread and the event whose code runs, for the report of a panic.
struct PanicContext<E> {
    position: Cell<Option<usize>>,
    event: Cell<Option<E>>,
}

impl<T: Thread> PartialEq for Program<T> {
    fn eq(&self, other: &Self) -> bool {
        self.live == other.live
            && self.urgent == other.urgent
            && self.normal == other.normal
            && self.unheard == other.unheard
            && self.halted == other.halted
    }
}

impl<T: Thread> Eq for Program<T> {}

impl<T: Thread> Hash for Program<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.live.hash(state);
        self.urgent.hash(state);
        self.normal.hash(state);
        self.unheard.hash(state);
        self.halted.hash(state);
    }
}
