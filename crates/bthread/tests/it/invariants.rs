//! What holds for every program, tried on random ones.
//!
//! Must never: pass because nothing happened; each test counts what it saw.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use agentry_bthread::{Choice, ChosenEvent, EventSource, Lane, Program, StepOutcome, Thread};

use crate::actors::{Actor, Dice, Ev};

const PROGRAMS: u64 = 1_500;
const STEPS: u32 = 40;

/// Offers and steps by the dice; `look` sees each step with the state before and after.
fn play(
    seed: u64,
    mut look: impl FnMut(&Program<Actor>, &StepOutcome<Ev>, &Program<Actor>),
) -> Vec<Ev> {
    let mut dice = Dice::new(seed);
    let mut program = dice.program();
    let mut offered = Vec::new();
    for serial in 0..STEPS {
        if dice.one_in(3) {
            let event = dice.external(serial);
            offered.push(event);
            program.offer(dice.lane(), event);
        }
        let before = program.clone();
        let step = program.step();
        look(&before, &step, &program);
    }
    offered
}

fn hash_of(program: &Program<Actor>) -> u64 {
    let mut hasher = DefaultHasher::new();
    program.hash(&mut hasher);
    hasher.finish()
}

fn sorted(mut events: Vec<Ev>) -> Vec<Ev> {
    events.sort();
    events
}

#[test]
fn the_same_program_and_offers_give_the_same_steps_and_states() {
    for seed in 0..PROGRAMS {
        let record = |seed| {
            let mut steps = Vec::new();
            play(seed, |_, step, after| steps.push((step.clone(), hash_of(after))));
            steps
        };
        assert_eq!(record(seed), record(seed), "seed {seed}");
    }
}

#[test]
fn a_chosen_event_is_blocked_by_nobody_and_was_asked_for_or_offered() {
    let mut chosen = 0;
    for seed in 0..PROGRAMS {
        play(seed, |before, step, _| {
            let StepOutcome::Chosen(ChosenEvent { event, source }) = step else { return };
            chosen += 1;
            let mut bids = before.threads().map(Thread::bid);
            let is_blocked =
                bids.any(|bid| bid.blocks.iter().any(|pattern| pattern.matches(event)));
            assert!(!is_blocked, "seed {seed}");
            match source {
                EventSource::Internal { thread } => assert!(
                    before
                        .threads()
                        .any(|t| t.name() == *thread && t.bid().requests.contains(event)),
                    "seed {seed}"
                ),
                EventSource::External { lane } => {
                    assert!(before.queued(*lane).any(|queued| queued == event), "seed {seed}");
                }
            }
        });
    }
    assert!(chosen > 10_000, "{chosen}");
}

#[test]
fn what_can_be_chosen_keeps_a_program_going() {
    let mut quiet = 0;
    for seed in 0..PROGRAMS {
        play(seed, |before, step, after| {
            let could = before.choices().iter().any(|choice| match choice {
                Choice::Internal { .. } | Choice::External { .. } => true,
                Choice::Unheard { .. } => false,
            });
            assert_eq!(could, matches!(step, StepOutcome::Chosen(_)), "seed {seed}");
            if !could {
                quiet += 1;
                let is_requesting = after.threads().any(|t| !t.bid().requests.is_empty());
                assert_eq!(after.waiting().is_deadlock(), is_requesting, "seed {seed}");
            }
        });
    }
    assert!(quiet > 1_000, "{quiet}");
}

#[test]
fn every_offered_event_is_delivered_queued_or_reported_as_unheard() {
    let (mut delivered_in_all, mut unheard_in_all, mut queued_in_all) = (0, 0, 0);
    for seed in 0..PROGRAMS {
        let mut delivered = Vec::new();
        let mut rest = Vec::new();
        let offered = play(seed, |_, step, after| {
            if let StepOutcome::Chosen(ChosenEvent {
                event,
                source: EventSource::External { .. },
            }) = step
            {
                delivered.push(*event);
            }
            rest = after.queued(Lane::Urgent).chain(after.queued(Lane::Normal)).copied().collect();
            queued_in_all += rest.len();
            rest.extend(after.unheard());
            unheard_in_all += after.unheard().len();
        });
        delivered_in_all += delivered.len();
        delivered.extend(&rest);
        assert_eq!(sorted(delivered), sorted(offered), "seed {seed}");
    }
    assert!(delivered_in_all > 1_000 && unheard_in_all > 1_000 && queued_in_all > 1_000);
}

#[test]
fn events_that_all_threads_see_alike_are_delivered_in_the_order_offered() {
    for seed in 0..PROGRAMS {
        let mut last: HashMap<(Lane, u8, u64, bool), u32> = HashMap::new();
        play(seed, |_, step, _| {
            let StepOutcome::Chosen(ChosenEvent { event, source: EventSource::External { lane } }) =
                step
            else {
                return;
            };
            // Smaller contents may equal a request, which makes them different to that thread.
            if event.content >= 100 {
                let alike = (*lane, event.kind, event.key, event.content % 2 == 1);
                let before = last.insert(alike, event.content);
                assert!(before.is_none_or(|before| before < event.content), "seed {seed}");
            }
        });
    }
}

#[test]
fn a_stored_program_goes_on_as_if_it_had_not_been_stored() {
    for seed in 0..PROGRAMS {
        let mut dice = Dice::new(seed);
        let mut program = dice.program();
        let mut twin = program.clone();
        for serial in 0..STEPS {
            if dice.one_in(3) {
                let (lane, event) = (dice.lane(), dice.external(serial));
                program.offer(lane, event);
                twin.offer(lane, event);
            }
            if dice.one_in(4) {
                let stored = serde_json::to_string(&twin).unwrap();
                twin = serde_json::from_str(&stored).unwrap();
                assert_eq!(serde_json::to_string(&twin).unwrap(), stored, "seed {seed}");
            }
            assert_eq!(twin.step(), program.step(), "seed {seed}");
            assert_eq!(twin, program, "seed {seed}");
            assert_eq!(hash_of(&twin), hash_of(&program), "seed {seed}");
        }
    }
}

#[test]
fn recorded_choices_lead_to_the_same_state_without_selection() {
    for seed in 0..PROGRAMS {
        let mut replayed: Option<Program<Actor>> = None;
        play(seed, |before, step, after| {
            // What was offered since comes from the record too.
            let program = replayed.insert(before.clone());
            match step {
                StepOutcome::Chosen(ChosenEvent { event, source }) => {
                    let event = *event;
                    let choice = match source {
                        EventSource::Internal { thread } => {
                            Choice::Internal { thread: thread.clone(), event }
                        }
                        EventSource::External { lane } => Choice::External { lane: *lane, event },
                    };
                    assert_eq!(program.choose(&choice), *step, "seed {seed}");
                }
                StepOutcome::Quiet => {
                    for choice in before.choices() {
                        assert_eq!(program.choose(&choice), StepOutcome::Quiet, "seed {seed}");
                    }
                }
                StepOutcome::Halted(halt) => panic!("{halt}"),
            }
            assert_eq!(program, after, "seed {seed}");
        });
    }
}

#[test]
fn a_thread_that_only_waits_and_blocks_adds_no_behavior() {
    let (mut followed, mut held_back) = (0, 0);
    for seed in 0..PROGRAMS {
        let mut dice = Dice::new(seed);
        let actors = dice.actors(8);
        let mut original = Program::new(actors.clone());
        let mut watched = actors;
        let at = dice.below(watched.len() as u64 + 1) as usize;
        watched.insert(at, dice.watcher());
        let mut watched = Program::new(watched);
        for serial in 0..STEPS {
            if dice.one_in(3) {
                let (lane, event) = (dice.lane(), dice.external(serial));
                original.offer(lane, event);
                watched.offer(lane, event);
            }
            let choices = watched.choices();
            held_back += usize::from(choices.len() < original.choices().len());
            let Some(choice) = choices.get(dice.below(choices.len().max(1) as u64) as usize) else {
                continue;
            };
            if let StepOutcome::Chosen(_) = watched.choose(choice) {
                follow(&mut original, choice, seed);
                followed += 1;
            }
        }
    }
    assert!(followed > 10_000 && held_back > 1_000, "{followed} {held_back}");
}

/// The original must be able to do the same; what only the watcher hears passes it by.
fn follow(original: &mut Program<Actor>, choice: &Choice<Ev>, seed: u64) {
    if let StepOutcome::Chosen(_) = original.choose(choice) {
        return;
    }
    let Choice::External { lane, event } = choice else {
        panic!("{choice:?} is new, seed {seed}");
    };
    let heard_by_nobody = original.unheard().len();
    original.choose(&Choice::Unheard { lane: *lane, event: *event });
    assert_eq!(original.unheard().len(), heard_by_nobody + 1, "{choice:?} is new, seed {seed}");
}
