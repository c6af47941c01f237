//! The explorer finds every state, and names what is wrong with programs known to be wrong.
//!
//! Must never: accept that an ablated program passes.

use std::collections::HashSet;

use agentry_bthread::{
    BrokenProperty, Choice, Exploration, ExplorationLimits, Lane, Offer, Program, StepOutcome,
    World,
    explore::{
        ALWAYS_CAN_END, NEVER_STUCK, NO_DEADLOCK_UNREPORTED, NO_ENDLESS_INNER_LOOP,
        NO_THREAD_PANICS, explore,
    },
};

use crate::{
    actors::{Actor, After, Dice, Ev, Line, Pat, ev},
    guarded_calls::{self, CANCEL_IS_HEARD, NO_ACT_WITHOUT_APPROVAL, Outside, without},
};

/// A world that says a few things of its free will and demands nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Says {
    left: Vec<Ev>,
    ends: bool,
}

const SILENT: Says = Says { left: Vec::new(), ends: true };

impl World<Actor> for Says {
    fn offers(&self, _program: &Program<Actor>) -> Vec<Offer<Ev>> {
        let mut offers = Vec::new();
        for event in &self.left {
            let offer = Offer { event: *event, lane: Lane::Normal, owed: false };
            if !offers.contains(&offer) {
                offers.push(offer);
            }
        }
        offers
    }

    fn saw(&mut self, _event: &Ev) -> Result<(), BrokenProperty> {
        Ok(())
    }

    fn offered(&mut self, event: &Ev) {
        let at = self.left.iter().position(|left| left == event).expect("only these are offered");
        self.left.remove(at);
    }

    fn quiet(&self, _program: &Program<Actor>) -> Result<(), BrokenProperty> {
        Ok(())
    }

    fn ended(&self, _program: &Program<Actor>) -> bool {
        self.ends
    }
}

fn broken(exploration: &Exploration) -> Vec<&str> {
    exploration.broken.iter().map(|violation| violation.property).collect()
}

/// Asks for this event so many times, then ends.
fn asks(label: &str, event: Ev, times: usize) -> Actor {
    let line = |after| Line { requests: vec![event], after, ..Line::new() };
    let mut lines = vec![line(After::Next); times - 1];
    lines.push(line(After::End));
    Actor::new(label, lines)
}

fn mixer() -> Actor {
    let turn = |first, second| Line {
        waits: vec![Pat::kind(first)],
        blocks: vec![Pat::kind(second)],
        ..Line::new()
    };
    Actor::new("mixer", vec![turn(1, 2), turn(2, 1)])
}

#[test]
fn two_taps_have_all_interleavings_and_a_mixer_leaves_one() {
    let taps = || vec![asks("hot", ev(1, 0), 3), asks("cold", ev(2, 0), 3)];
    let free = explore(Program::new(taps()), SILENT, ExplorationLimits::default());
    assert_eq!((free.states, free.edges, free.complete), (16, 24, true));
    let mut mixed = taps();
    mixed.push(mixer());
    let mixed = explore(Program::new(mixed), SILENT, ExplorationLimits::default());
    assert_eq!((mixed.states, mixed.edges, mixed.complete), (7, 6, true));
    assert_eq!(broken(&mixed), Vec::<&str>::new());
}

#[test]
fn the_guarded_program_holds_everything_in_every_state() {
    let program = Program::new(guarded_calls::program());
    let result = explore(program, Outside::default(), ExplorationLimits::default());
    assert_eq!(result.to_string(), "981 states, 2733 edges, all seen.\n");
}

#[test]
fn without_the_gate_a_call_runs_unapproved_and_the_shortest_trace_says_how() {
    let result = explore(without("gate"), Outside::default(), ExplorationLimits::default());
    let violation = result.violation(NO_ACT_WITHOUT_APPROVAL).expect("the gate was the only guard");
    assert_eq!(violation.why, "call 1 ran");
    assert_eq!(
        violation.trace,
        ["offer Prompt", "deliver Prompt", "loop: Propose(1)", "call 1: Execute(1)"]
    );
}

#[test]
fn without_the_refuser_a_refused_call_hangs() {
    let result = explore(without("refuser"), Outside::default(), ExplorationLimits::default());
    assert_eq!(broken(&result), [NEVER_STUCK, ALWAYS_CAN_END]);
    let stuck = &result.violation(NEVER_STUCK).expect("asserted above").why;
    let blocked = "Execute(1), requested by call 1, is blocked by gate.\n";
    assert!(stuck.contains(blocked), "{stuck}");
}

#[test]
fn without_cancel_a_cancel_is_not_heard() {
    let result = explore(without("cancel"), Outside::default(), ExplorationLimits::default());
    assert_eq!(broken(&result), [CANCEL_IS_HEARD]);
}

#[test]
fn a_circle_of_internal_choices_is_shown_with_the_way_to_it() {
    let request = |kind, after| Line { requests: vec![ev(kind, 0)], after, ..Line::new() };
    // Once started, the child goes round between its two lines for ever.
    let child = Actor::new("child", vec![request(2, After::Next), request(3, After::Next)]);
    let start = Line { waits: vec![Pat::kind(1)], after: After::End, ..Line::new() };
    let held = Line { blocks: vec![Pat::kind(2)], ..start };
    let world = Says { left: vec![ev(1, 0)], ends: true };
    let program = Program::new([child, Actor::new("lock", vec![held])]);
    let result = explore(program, world, ExplorationLimits::default());
    assert_eq!(broken(&result), [NO_ENDLESS_INNER_LOOP]);
    let round = format!("goes round for ever: child: {:?}, child: {:?}", ev(2, 0), ev(3, 0));
    assert_eq!(result.broken[0].why, round);
    let way = [format!("offer {:?}", ev(1, 0)), format!("deliver {:?}", ev(1, 0))];
    assert_eq!(result.broken[0].trace, way);
}

#[test]
fn a_circle_that_needs_the_world_is_not_endless() {
    let request = Line { requests: vec![ev(2, 0)], ..Line::new() };
    let wait = Line { waits: vec![Pat::kind(1)], ..Line::new() };
    let world = Says { left: vec![ev(1, 0), ev(1, 0)], ends: true };
    let result = explore(
        Program::new([Actor::new("a", vec![wait, request])]),
        world,
        ExplorationLimits::default(),
    );
    assert_eq!((result.complete, broken(&result)), (true, Vec::new()));
}

#[test]
fn a_deadlock_is_stuck_and_cannot_end() {
    let mut program = vec![asks("hot", ev(1, 0), 1)];
    program.push(Actor::new("shut", vec![Line { blocks: vec![Pat::kind(1)], ..Line::new() }]));
    let world = Says { left: Vec::new(), ends: false };
    let result = explore(Program::new(program), world, ExplorationLimits::default());
    assert_eq!(broken(&result), [NEVER_STUCK, ALWAYS_CAN_END]);
    assert!(result.violation(NO_DEADLOCK_UNREPORTED).is_none());
}

#[test]
fn an_owed_answer_counts_for_an_end_and_free_will_does_not() {
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Answers {
        owed: bool,
        spent: bool,
        heard: bool,
    }
    impl World<Actor> for Answers {
        fn offers(&self, _program: &Program<Actor>) -> Vec<Offer<Ev>> {
            let offer = Offer { event: ev(1, 0), lane: Lane::Normal, owed: self.owed };
            if self.spent { Vec::new() } else { vec![offer] }
        }
        fn saw(&mut self, _event: &Ev) -> Result<(), BrokenProperty> {
            self.heard = true;
            Ok(())
        }
        fn offered(&mut self, _event: &Ev) {
            self.spent = true;
        }
        fn quiet(&self, _program: &Program<Actor>) -> Result<(), BrokenProperty> {
            Ok(())
        }
        fn ended(&self, _program: &Program<Actor>) -> bool {
            self.heard
        }
    }
    let ear = || {
        Program::new([Actor::new("ear", vec![Line { waits: vec![Pat::kind(1)], ..Line::new() }])])
    };
    let world = |owed| Answers { owed, spent: false, heard: false };
    let owed = explore(ear(), world(true), ExplorationLimits::default());
    assert_eq!(broken(&owed), Vec::<&str>::new());
    let free = explore(ear(), world(false), ExplorationLimits::default());
    assert_eq!(broken(&free), [NEVER_STUCK, ALWAYS_CAN_END]);
}

#[test]
fn a_panic_is_a_violation_with_its_trace() {
    let fails = Line { waits: vec![Pat::kind(1)], after: After::Panic, ..Line::new() };
    let program = Program::new([asks("asks", ev(1, 0), 1), Actor::new("fails", vec![fails])]);
    // What would have come after is unknown, so only the panic is blamed.
    let world = Says { left: Vec::new(), ends: false };
    let result = explore(program, world, ExplorationLimits::default());
    assert_eq!(broken(&result), [NO_THREAD_PANICS]);
    assert_eq!(result.broken[0].trace, [format!("asks: {:?}", ev(1, 0))]);
}

#[test]
fn a_walk_that_has_no_room_says_that_it_is_not_complete() {
    let taps = || Program::new([asks("hot", ev(1, 0), 3), asks("cold", ev(2, 0), 3)]);
    let world = || Says { left: Vec::new(), ends: false };
    let short = explore(taps(), world(), ExplorationLimits { states_max: 15 });
    assert_eq!((short.states, short.complete), (15, false));
    // What lies beyond is unknown, so no state is blamed for it.
    assert_eq!(broken(&short), Vec::<&str>::new());
    let enough = explore(taps(), world(), ExplorationLimits { states_max: 16 });
    assert_eq!((enough.states, enough.complete), (16, true));
    assert_eq!(broken(&enough), [NEVER_STUCK, ALWAYS_CAN_END]);
}

#[test]
fn the_explorer_sees_exactly_the_states_a_plain_search_sees() {
    let mut states = 0;
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let program = Program::new(dice.actors(4));
        // One kind only: the explorer merges queues that differ in the order across kinds.
        let kind = dice.below(6) as u8;
        let world = Says { left: vec![ev(kind, 0), ev(kind, 1)], ends: true };
        let (plain, is_whole) = plain_search(&program, &world);
        if is_whole {
            let result = explore(program, world, ExplorationLimits::default());
            assert_eq!((result.states, result.complete), (plain, true), "seed {seed}");
            states += plain;
        }
    }
    assert!(states > 5_000, "{states}");
}

fn plain_search(program: &Program<Actor>, world: &Says) -> (usize, bool) {
    let mut seen = HashSet::from([(program.clone(), world.clone())]);
    let mut open: Vec<_> = seen.iter().cloned().collect();
    while let Some((program, world)) = open.pop() {
        let mut next = Vec::new();
        for choice in program.choices() {
            let mut program = program.clone();
            let step = program.choose(&choice);
            assert_eq!(
                matches!(step, StepOutcome::Quiet),
                matches!(choice, Choice::Unheard { .. })
            );
            next.push((program, world.clone()));
        }
        for offer in world.offers(&program) {
            let (mut program, mut world) = (program.clone(), world.clone());
            world.offered(&offer.event);
            program.offer(offer.lane, offer.event);
            next.push((program, world));
        }
        for state in next {
            if seen.insert(state.clone()) {
                open.push(state);
            }
        }
        if seen.len() > 3_000 {
            return (seen.len(), false);
        }
    }
    (seen.len(), true)
}
