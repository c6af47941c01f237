//! The engine does what the plain rules do, step by step, on thousands of random programs.
//!
//! Must never: compare only the outcome; every state on the way counts.

use agentry_bthread::{Choice, EventSource, Lane, Program, StepOutcome};

use crate::{
    actors::{Actor, Dice, Ev},
    naive::{Naive, Picked},
};

const PROGRAMS: u64 = 3_000;
const STEPS: usize = 40;

fn picked(step: StepOutcome<Ev>) -> Option<Picked> {
    match step {
        StepOutcome::Chosen(chosen) => Some((
            chosen.event,
            match chosen.source {
                EventSource::Internal { .. } => None,
                EventSource::External { lane } => Some(lane),
            },
        )),
        StepOutcome::Quiet => None,
        StepOutcome::Halted(halt) => panic!("no actor here may fail: {halt}"),
    }
}

#[track_caller]
fn assert_same_state(engine: &Program<Actor>, naive: &Naive, seed: u64) {
    assert!(engine.threads().eq(&naive.threads), "threads differ, seed {seed}");
    assert!(engine.queued(Lane::Urgent).eq(&naive.urgent), "urgent lane differs, seed {seed}");
    assert!(engine.queued(Lane::Normal).eq(&naive.normal), "normal lane differs, seed {seed}");
    assert_eq!(engine.unheard(), naive.unheard, "unheard events differ, seed {seed}");
}

#[test]
fn the_engine_and_the_plain_rules_agree_on_every_step_of_random_programs() {
    let (mut events, mut indexed) = (0, 0);
    for seed in 0..PROGRAMS {
        let mut dice = Dice::new(seed);
        let most = if seed % 2 == 0 { 6 } else { 40 };
        let actors = dice.actors(most);
        indexed += usize::from(actors.len() > agentry_bthread::limits::SCAN_THREADS_MAX);
        let mut engine = Program::new(actors.clone());
        let mut naive = Naive::new(actors);
        for serial in 0..STEPS as u32 {
            if dice.one_in(3) {
                let (lane, event) = (dice.lane(), dice.external(serial));
                engine.offer(lane, event);
                naive.offer(lane, event);
            }
            let expected = naive.step();
            events += usize::from(expected.is_some());
            assert_eq!(picked(engine.step()), expected, "seed {seed}");
            assert_same_state(&engine, &naive, seed);
        }
    }
    assert!(events > 30_000, "the programs hardly moved: {events} events");
    assert!(indexed > 500, "hardly any program was large enough for the index: {indexed}");
}

#[test]
fn the_engine_and_the_plain_rules_agree_on_everything_that_could_be_chosen() {
    for seed in 0..PROGRAMS / 4 {
        let mut dice = Dice::new(seed);
        let actors = dice.actors(if seed % 2 == 0 { 6 } else { 30 });
        let mut engine = Program::new(actors.clone());
        let mut naive = Naive::new(actors);
        for serial in 0..20 {
            let (lane, event) = (dice.lane(), dice.external(serial));
            engine.offer(lane, event);
            naive.offer(lane, event);
            let (inside, outside) = naive.enabled();
            let (mut chosen_inside, mut chosen_outside) = (Vec::new(), Vec::new());
            for choice in engine.choices() {
                match choice {
                    Choice::Internal { event, .. } => chosen_inside.push(event),
                    Choice::External { lane, event } => chosen_outside.push((lane, event)),
                    Choice::Unheard { .. } => {}
                }
            }
            assert_eq!((chosen_inside, chosen_outside), (inside, outside), "seed {seed}");
            naive.step();
            engine.step();
        }
    }
}
