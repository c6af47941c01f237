//! Runs from the request to the ending: the order of steps, the kinds of endings, and what a
//! second process may do.

use agentry_protocol::event::Mode;
use agentry_protocol::{AgentId, TaskId};

use super::*;
use crate::definitions::plan::COMPACT;
use crate::tests::{HELPER, TestHost, call, say};

/// Three steps of two agents; the last one has no shell of its own.
const RELEASE: &str = "
    --- .agentry/agents/helper/AGENT.md
    ---
    name: Helper
    tools: [Bash]
    tool_approvals:
      rules: [{tool: Bash, allow: true, when: {command: {startsWith: 't '}}}]
    ---
    You help.
    --- .agentry/agents/tester/AGENT.md
    ---
    name: Tester
    tools: [Bash]
    ---
    You test.
    --- .agentry/tasks/release/TASK.md
    ---
    name: Release
    agent: helper
    next: test.md
    inputs:
      - {name: version, description: Which one.}
    ---
    Build {{input.version}}.
    --- .agentry/tasks/release/test.md
    ---
    name: Test
    agent: tester
    next: tell.md
    ---
    Test it.
    --- .agentry/tasks/release/tell.md
    ---
    name: Tell
    ---
    Tell people.
    ";

fn release(scene: &TestHost) -> RunRequest {
    let inputs = [("version".to_owned(), "1.2".to_owned())].into();
    RunRequest { task: Some(TaskId::new("release")), inputs, ..scene.order("") }
}

fn ending(outcome: &RunOutcome) -> (Ending, Option<&str>) {
    match &outcome.end {
        RunExit::Ended { ending, message } => (*ending, message.as_deref()),
        RunExit::Paused(approvals) => panic!("it waits for {approvals:?}"),
    }
}

/// The number of the endings of runs in the ledger.
fn endings(scene: &TestHost) -> usize {
    let is_ending = |entry: &&Envelope| matches!(entry.event, Event::RunEnded { .. });
    scene.recorded().iter().filter(is_ending).count()
}

#[test]
fn the_steps_of_a_task_run_in_their_order_each_with_its_agent() {
    let scene = TestHost::new(RELEASE, &[say("Built."), say("Tested."), say("Told.")]);
    let outcome = scene.start(release(&scene)).unwrap();
    assert_eq!(ending(&outcome), (Ending::Done, None));
    insta::assert_snapshot!(scene.dialogue_from("run_created"), @r#"
    run_created helper release
    step_started 0
    turn_started "Build 1.2.\n\nInputs:\n```json\n{\n  \"version\": \"1.2\"\n}\n```"
    model_asked 1
    model_replied 1 "Built."
    turn_ended done "Built."
    step_ended 0 succeeded
    step_started 1
    turn_started "Test it.\n\nInputs:\n```json\n{\n  \"version\": \"1.2\"\n}\n```"
    model_asked 1
    model_replied 1 "Tested."
    turn_ended done "Tested."
    step_ended 1 succeeded
    step_started 2
    turn_started "Tell people.\n\nInputs:\n```json\n{\n  \"version\": \"1.2\"\n}\n```"
    model_asked 1
    model_replied 1 "Told."
    turn_ended done "Told."
    step_ended 2 succeeded
    run_ended done
    "#);
    let agents: Vec<String> = scene
        .recorded()
        .into_iter()
        .filter_map(|entry| {
            let Event::TurnStarted(plan) = entry.event else { return None };
            plan.charter["agent"].as_str().map(str::to_owned)
        })
        .collect();
    assert_eq!(agents, ["helper", "tester", "tester"]);
}

#[test]
fn the_steps_after_a_failed_one_are_skipped() {
    let fails = r#"{"error": {"kind": "authentication", "message": "the key is wrong"}}"#;
    let scene = TestHost::new(RELEASE, &[say("Built."), fails.to_owned(), say("Never.")]);
    let outcome = scene.start(release(&scene)).unwrap();
    assert_eq!(ending(&outcome).0, Ending::ModelFailed);
    insta::assert_snapshot!(scene.dialogue_from("step_ended"), @r#"
    step_ended 0 succeeded
    step_started 1
    turn_started "Test it.\n\nInputs:\n```json\n{\n  \"version\": \"1.2\"\n}\n```"
    model_asked 1
    model_failed 1 authentication
    turn_ended model_failed
    step_ended 1 failed
    step_ended 2 skipped
    run_ended model_failed the key is wrong
    "#);
    assert_eq!(endings(&scene), 1);
}

#[test]
fn each_kind_of_ending_is_that_of_its_turn() {
    let limits = |steps_max| move |order: &mut RunRequest| order.terms.limits.steps_max = steps_max;
    let tokens = |order: &mut RunRequest| order.terms.limits.tokens_max = Some(1);
    let usual = |_: &mut RunRequest| {};
    let used = r#"{"tool_calls": [{"name": "bash", "input": {"command": "t say a"}}],
        "usage": {"input_tokens": 5, "output_tokens": 5}}"#
        .replace('\n', "");
    type Change = Box<dyn Fn(&mut RunRequest)>;
    let cases: [(&str, Vec<String>, Change, Ending); 5] = [
        ("an answer", vec![say("Done.")], Box::new(usual), Ending::Done),
        (
            "a call of a tool that is not offered",
            vec![r#"{"tool_calls": [{"name": "write_file"}]}"#.to_owned(), say("No.")],
            Box::new(usual),
            Ending::Denied,
        ),
        (
            "too many requests",
            vec![call(&["t say a"]), say("Never.")],
            Box::new(limits(1)),
            Ending::LimitReached,
        ),
        ("too many tokens", vec![used, say("Never.")], Box::new(tokens), Ending::LimitReached),
        ("no answer", vec![], Box::new(usual), Ending::ModelFailed),
    ];
    for (name, script, change, expected) in cases {
        let scene = TestHost::new(HELPER, &script);
        let mut order = scene.order("Go.");
        change(&mut order);
        let outcome = scene.start(order).unwrap();
        assert_eq!(ending(&outcome).0, expected, "{name}\n{}", scene.dialogue());
        assert_eq!(endings(&scene), 1, "{name}");
    }
}

#[test]
fn an_autonomous_run_ends_at_its_limit_of_iterations() {
    let no = say(r#"{"done": false}"#);
    let script =
        [call(&["t say one"]), no.clone(), call(&["t say two"]), no.clone(), say("Never.")];
    let scene = TestHost::new(HELPER, &script);
    let mut order = scene.order("Work.");
    order.terms.mode = Mode::Autonomous;
    order.terms.limits.iterations_max = 2;
    let outcome = scene.start(order).unwrap();
    assert_eq!(ending(&outcome).0, Ending::LimitReached, "{}", scene.dialogue());
    assert_eq!(endings(&scene), 1);
    let counted = scene.dialogue();
    let counted: Vec<&str> =
        counted.lines().filter(|line| line.starts_with("iteration_counted")).collect();
    assert_eq!(counted.len(), 2, "{counted:?}");
}

#[test]
fn a_run_that_has_ended_is_neither_resumed_nor_cancelled() {
    let scene = TestHost::new(HELPER, &[say("Done.")]);
    let outcome = scene.run("Go.");
    let before = scene.dialogue();
    for second in [scene.resume(&outcome.run), scene.runner().cancel(&outcome.run)] {
        let error = second.unwrap_err().to_string();
        assert_eq!(error, format!("{} has ended: completed", outcome.run));
    }
    assert_eq!(scene.dialogue(), before);
}

#[test]
fn a_session_that_another_process_owns_is_refused_and_nothing_is_recorded() {
    let scene = TestHost::new(HELPER, &[say("One."), say("Two.")]);
    let order = || RunRequest { session: Some(SessionKey::new("desk")), ..scene.order("Go.") };
    let first = scene.start(order()).unwrap();
    let before = scene.dialogue();
    let owned = scene.ledger().lock_session(&first.session).unwrap();
    let error = scene.start(order()).unwrap_err();
    assert!(matches!(error, Error::Ledger(agentry_store::Error::Busy { .. })), "{error}");
    assert_eq!(scene.dialogue(), before);
    drop(owned);
    let second = scene.start(order()).unwrap();
    assert_eq!((second.session, endings(&scene)), (first.session, 2));
}

#[test]
fn a_session_with_an_unfinished_turn_takes_no_other_run() {
    let scene = TestHost::new(HELPER, &[call(&["make it"])]);
    let order = || RunRequest { session: Some(SessionKey::new("desk")), ..scene.order("Go.") };
    let paused = scene.start(order()).unwrap();
    let before = scene.dialogue();
    let (run, error) = (paused.run, scene.start(order()).unwrap_err().to_string());
    assert_eq!(
        error,
        format!(
            "the session `desk` has an unfinished turn of {run}: `agentry resume {run}` or \
             `agentry cancel {run}` first"
        )
    );
    assert_eq!(scene.dialogue(), before);
}

#[test]
fn a_cancel_of_a_paused_run_begins_nothing_new() {
    let scene = TestHost::new(RELEASE, &[call(&["make it"]), say("Never asked.")]);
    let paused = scene.start(release(&scene)).unwrap();
    let outcome = scene.runner().cancel(&paused.run).unwrap();
    assert_eq!(ending(&outcome), (Ending::Cancelled, None));
    assert_eq!(scene.shell.received(), [""; 0]);
    insta::assert_snapshot!(scene.dialogue_from("run_paused"), @"
    run_paused
    cancel_received
    run_resumed
    input_taken cancel_received
    call_refused [make it]
    turn_ended cancelled
    step_ended 0 failed
    step_ended 1 skipped
    step_ended 2 skipped
    run_ended cancelled
    ");
}

#[test]
fn a_step_whose_turn_ended_before_a_crash_is_not_begun_again() {
    let scene = TestHost::new(RELEASE, &[say("Built."), say("Tested."), say("Told.")]);
    let outcome = scene.start(release(&scene)).unwrap();
    let is_ended = |entry: &&Envelope| matches!(entry.event, Event::TurnEnded { .. });
    let first = scene.recorded().iter().find(is_ended).unwrap().seq;
    let cut = scene.cut_after(first);
    let resumed = cut.resume(&outcome.run).unwrap();
    assert_eq!(ending(&resumed), (Ending::Done, None));
    insta::assert_snapshot!(cut.dialogue_from("run_resumed"), @r#"
    run_resumed
    step_ended 0 succeeded
    step_started 1
    turn_started "Test it.\n\nInputs:\n```json\n{\n  \"version\": \"1.2\"\n}\n```"
    model_asked 1
    model_replied 1 "Tested."
    turn_ended done "Tested."
    step_ended 1 succeeded
    step_started 2
    turn_started "Tell people.\n\nInputs:\n```json\n{\n  \"version\": \"1.2\"\n}\n```"
    model_asked 1
    model_replied 1 "Told."
    turn_ended done "Told."
    step_ended 2 succeeded
    run_ended done
    "#);
}

#[test]
fn a_run_without_a_session_key_has_a_session_of_its_own() {
    let scene = TestHost::new(HELPER, &[say("Done.")]);
    let (one, other) = (scene.run("Go."), scene.run("Go again."));
    assert_ne!(one.session, other.session);
    let key = SessionKey::new(one.run.as_str());
    let row = scene.ledger().session_named(&key, &AgentId::new("helper")).unwrap();
    assert_eq!(row.map(|row| row.id), Some(one.session));
}

#[test]
fn a_run_is_told_as_accepted_when_it_is_on_disk() {
    let scene = TestHost::new(HELPER, &[say("Done.")]);
    let (other, mut seen) = (scene.ledger_to_read(), Vec::new());
    let outcome = scene.runner().start(scene.order("Go."), &mut |about| {
        let run = about.run.as_ref().expect("an accepted run has an id");
        seen.push(other.run(run).expect("the ledger is read").map(|row| row.id));
    });
    assert_eq!(seen, [Some(outcome.unwrap().run)]);
}

#[test]
fn a_compaction_on_request_of_a_session_with_nothing_to_compact_is_done_at_once() {
    let scene = TestHost::new(HELPER, &[say("Done.")]);
    let key = SessionKey::new("desk");
    scene.start(RunRequest { session: Some(key.clone()), ..scene.order("Go.") }).unwrap();
    let order = RunRequest { session: Some(key), ..scene.order("") };
    let mut plan = plan::of_order(&scene.definitions, &order).unwrap();
    COMPACT.clone_into(&mut plan.steps[0].uses);
    let outcome = scene.runner().begin(order, plan, &mut |_| {}).unwrap();
    assert_eq!(ending(&outcome), (Ending::Done, None));
    assert_eq!(endings(&scene), 2);
}
