//! A turn that was interrupted at any entry: it is rebuilt to its state, and no effect runs twice.

use std::collections::BTreeSet;

use agentry_protocol::CallId;
use agentry_protocol::event::Ending;
use agentry_protocol::tool_call::OutcomeStatus;

use super::*;
use crate::tests::{HELPER, TestHost, call, say};
use crate::turn::runner::{RunExit, RunOutcome};

/// A turn with calls that work, fail and are approved, and with a message while it runs.
fn recorded() -> (TestHost, RunOutcome) {
    let script = [
        call(&["t say one", "t fail"]),
        call(&["make it", "t say two"]),
        call(&["t say three"]),
        say("Done."),
    ];
    let scene = TestHost::new(HELPER, &script);
    // The entries of one append have one time, which no other append has.
    scene.clock.tick_at_each_reading();
    let paused = scene.run("Go.");
    scene.steer("Hurry.");
    scene.allow();
    let outcome = scene.resume(&paused.run).unwrap();
    assert!(
        matches!(outcome.end, RunExit::Ended { ending: Ending::Done, .. }),
        "{}",
        scene.dialogue()
    );
    (scene, outcome)
}

/// The calls that were started, and those that finished, by their ids.
fn calls(entries: &[Envelope]) -> (Vec<CallId>, BTreeSet<CallId>) {
    let (mut started, mut finished) = (Vec::new(), BTreeSet::new());
    for entry in entries {
        if let Event::CallStarted { call, .. } = &entry.event {
            started.push(call.clone());
        } else if let Event::CallFinished { call, .. } = &entry.event {
            finished.insert(call.clone());
        }
    }
    (started, finished)
}

/// The status of the outcome of a call.
fn status(entries: &[Envelope], wanted: &CallId) -> Option<OutcomeStatus> {
    entries.iter().find_map(|entry| {
        let Event::CallFinished { call, outcome } = &entry.event else { return None };
        (call == wanted).then_some(outcome.status)
    })
}

/// The first and last entry of the only turn.
fn turn_of(entries: &[Envelope]) -> (TurnId, u64, u64) {
    let started = entries.iter().find(|one| matches!(one.event, Event::TurnStarted(_)));
    let ended = entries.iter().find(|one| matches!(one.event, Event::TurnEnded { .. }));
    let (started, ended) = (started.expect("it begins"), ended.expect("it ends"));
    (started.about.turn.clone().expect("a turn has an id"), started.seq, ended.seq)
}

/// True if no append was cut in two after this entry.
fn is_between_appends(entries: &[Envelope], seq: u64) -> bool {
    let time = |seq: u64| entries.iter().find(|entry| entry.seq == seq).map(|entry| entry.time);
    time(seq) != time(seq + 1)
}

#[test]
fn a_turn_that_is_interrupted_at_any_append_goes_on_and_makes_no_call_twice() {
    let (scene, outcome) = recorded();
    let entries = scene.recorded();
    let (_, first, last) = turn_of(&entries);
    let mut uncertain = 0;
    for seq in (first..=last).filter(|seq| is_between_appends(&entries, *seq)) {
        let cut = scene.cut_after(seq);
        let before = cut.recorded();
        let (started_before, finished_before) = calls(&before);
        let resumed = cut.resume(&outcome.run).unwrap_or_else(|error| panic!("{seq}: {error}"));
        if let RunExit::Paused(_) = resumed.end {
            cut.allow();
            cut.resume(&outcome.run).unwrap_or_else(|error| panic!("{seq}: {error}"));
        }
        let after = cut.recorded();
        let (started, finished) = calls(&after);
        let all: BTreeSet<&CallId> = started.iter().collect();
        assert_eq!(all.len(), started.len(), "{seq}: a call starts once\n{}", cut.dialogue());
        assert_eq!(all.len(), finished.len(), "{seq}: each has an outcome\n{}", cut.dialogue());
        // Only calls that this process started ran here.
        let here = started.len() - started_before.len();
        assert_eq!(cut.shell.received().len(), here, "{seq}\n{}", cut.dialogue());
        for left in started_before.iter().filter(|call| !finished_before.contains(*call)) {
            assert_eq!(status(&after, left), Some(OutcomeStatus::Uncertain), "{seq}");
            uncertain += 1;
        }
        assert!(cut.dialogue().ends_with("run_ended done"), "{seq}\n{}", cut.dialogue());
    }
    assert!(uncertain >= 4, "each call was cut once after its start, not {uncertain}");
}

#[test]
fn a_turn_is_rebuilt_to_the_moves_that_are_under_way_at_each_append() {
    let (scene, outcome) = recorded();
    let entries = scene.recorded();
    let (turn, first, last) = turn_of(&entries);
    for seq in first..=last {
        let cut = scene.cut_after(seq);
        let before = cut.dialogue();
        let rebuilt = rebuild(cut.ledger(), &outcome.run, &turn, cut.definitions.level);
        assert_eq!(cut.dialogue(), before, "a rebuild writes nothing");
        match rebuilt {
            Ok(rebuilt) => {
                let (started, finished) = calls(&cut.recorded());
                let under_way = started.iter().filter(|call| !finished.contains(*call)).count();
                let is_call = |one: &&agentry_kernel::turn::PendingMove| {
                    matches!(one, agentry_kernel::turn::PendingMove::Call(_))
                };
                let undone = rebuilt.turn.undone();
                assert_eq!(undone.iter().filter(is_call).count(), under_way, "{seq}");
            }
            // Half of an append: the record lacks moves that the turn has chosen.
            Err(error) => {
                assert!(!is_between_appends(&entries, seq), "{seq}: {error}");
                assert!(matches!(error, Error::Diverged { .. }), "{seq}: {error}");
            }
        }
    }
}

#[test]
fn a_record_with_a_move_that_the_turn_does_not_choose_is_refused() {
    let (scene, outcome) = recorded();
    let entries = scene.recorded();
    let (turn, first, _) = turn_of(&entries);
    let cut = scene.cut_after(first);
    let about = entries.iter().find(|one| one.seq == first).unwrap().about.clone();
    let iteration = Event::IterationCounted { count: 1 };
    cut.record(&about, vec![iteration]);
    let rebuilt = rebuild(cut.ledger(), &outcome.run, &turn, cut.definitions.level);
    let Err(Error::Diverged { recorded, chosen, .. }) = rebuilt else { panic!("it diverges") };
    assert_eq!(recorded, r#"{"type":"iteration_counted","count":1}"#);
    assert!(chosen.starts_with(r#"{"type":"model_asked""#), "{chosen}");
    let error = cut.resume(&outcome.run).unwrap_err();
    assert!(matches!(error, Error::Diverged { .. }), "{error}");
    assert_eq!(cut.shell.received(), [""; 0]);
}

#[test]
fn a_turn_does_not_go_on_under_a_weaker_sandbox() {
    let (scene, outcome) = recorded();
    let (turn, ..) = turn_of(&scene.recorded());
    let rebuilt = rebuild(scene.ledger(), &outcome.run, &turn, ConfinementLevel::Off);
    let Err(error) = rebuilt else { panic!("it is refused") };
    insta::assert_snapshot!(error, @"the turn began under `ns`, and only `off` is available now; restore the sandbox, or cancel the run and start a new one");
}

#[test]
fn a_turn_that_has_no_start_is_not_rebuilt() {
    let scene = TestHost::new(HELPER, &[]);
    let (run, turn) = (RunId::from_number(7), TurnId::from_number(7));
    let rebuilt = rebuild(scene.ledger(), &run, &turn, scene.definitions.level);
    let Err(error) = rebuilt else { panic!("it is refused") };
    assert!(error.to_string().ends_with(&format!("{turn} has no start in the ledger")), "{error}");
}

#[test]
fn a_rebuilt_turn_knows_the_inputs_that_it_has_taken() {
    let (scene, outcome) = recorded();
    let entries = scene.recorded();
    let (turn, ..) = turn_of(&entries);
    let rebuilt = rebuild(scene.ledger(), &outcome.run, &turn, scene.definitions.level);
    let inputs: BTreeSet<u64> = entries
        .iter()
        .filter(|one| {
            matches!(one.event, Event::SteerReceived { .. } | Event::ApprovalAnswered { .. })
        })
        .map(|one| one.seq)
        .collect();
    let Ok(rebuilt) = rebuilt else { panic!("the record is whole") };
    assert_eq!(rebuilt.taken, inputs);
}
