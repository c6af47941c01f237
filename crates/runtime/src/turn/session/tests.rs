//! The loop of one turn: what is recorded when, what is taken once, and how it ends.

use std::sync::Arc;

use agentry_kernel::charter::Charter;
use agentry_protocol::approval::ApprovalAnswer;
use agentry_protocol::event::TurnPlan;
use agentry_protocol::message::ModelReply;
use agentry_protocol::tool::ToolName;
use agentry_protocol::{CallId, TurnId};

use super::*;
use crate::tests::{HELPER, TestHost, TestModel, call, new_number, say};
use crate::turn::runner::{ActiveRun, RunExit, Runner};

/// Begins the turn of a run that a test drives, and performs its first moves. The run owns the
/// session until it is dropped.
fn begin_turn<'a>(
    scene: &'a TestHost,
    runner: &'a Runner<'a>,
    model: Arc<TestModel>,
) -> (SessionLoop<'a>, Turn, ActiveRun) {
    let active = scene.active_run(runner, scene.order("Go."), model);
    let id = TurnId::from_number(new_number());
    let charter: Charter = runner.charter(&active, 0, &id).expect("the agent loads");
    let plan = TurnPlan {
        parent: None,
        parent_hash: None,
        history_from: None,
        pruned: Default::default(),
        compaction: None,
        step: 0,
        prompt: "Go.".to_owned(),
        images: Vec::new(),
        charter: serde_json::to_value(&charter).expect("a charter is plain JSON"),
        standing: Default::default(),
        shaping: Default::default(),
    };
    let (mut turn, moves) = Turn::begin(charter, &plan, Vec::new()).expect("the turn begins");
    let mut session = runner.session(&active, &id, 0).expect("the agent loads");
    session.workers.confine(turn.charter(), &active.held.homes);
    let started = Event::TurnStarted(Box::new(plan));
    session.record_and_perform(&mut turn, vec![started], None, moves).expect("it is recorded");
    (session, turn, active)
}

/// The next message that the loop receives.
fn next(session: &SessionLoop<'_>) -> SessionMessage {
    session.inbox.recv_timeout(crate::tests::PATIENCE).expect("a message comes")
}

/// The recorded events of this kind.
fn count(scene: &TestHost, is_wanted: impl Fn(&Event) -> bool) -> usize {
    scene.recorded().iter().filter(|entry| is_wanted(&entry.event)).count()
}

#[test]
fn the_events_of_a_turn_are_recorded_in_their_order() {
    let script = [call(&["t say one", "t fail"]), say("Both were made.")];
    let scene = TestHost::new(HELPER, &script);
    scene.run("Go.");
    insta::assert_snapshot!(scene.dialogue(), @r#"
    session_opened helper
    prompt_received "Go."
    run_created helper
    step_started 0
    turn_started "Go."
    model_asked 1
    model_replied 1 [t say one] [t fail]
    call_proposed [t say one] allow
    call_proposed [t fail] allow
    call_started [t say one] by rule
    call_finished [t say one] done "one"
    call_started [t fail] by rule
    call_finished [t fail] failed "it failed"
    model_asked 2
    model_replied 2 "Both were made."
    turn_ended done "Both were made."
    step_ended 0 succeeded
    run_ended done
    "#);
}

#[test]
fn a_call_and_a_request_are_on_disk_before_they_are_performed() {
    let scene = TestHost::new(HELPER, &[call(&["t say one", "t say two"]), say("Done.")]);
    let (other, seen) = (scene.ledger_to_read(), std::sync::mpsc::channel());
    let sender = seen.0;
    let probe = move |command: &str| {
        let entries = other.read_from(0, &Default::default(), usize::MAX).expect("it is read");
        let id = entries.iter().find_map(|entry| {
            let Event::CallProposed { call, .. } = &entry.event else { return None };
            (call.input["command"] == command).then(|| call.id.clone())
        });
        let started = entries.iter().any(|entry| {
            matches!(&entry.event, Event::CallStarted { call, .. } if Some(call) == id.as_ref())
        });
        sender.send((command.to_owned(), started)).expect("the test listens");
    };
    *scene.shell.probe.lock().unwrap() = Some(Box::new(probe));
    scene.run("Go.");
    let mut seen: Vec<(String, bool)> = seen.1.try_iter().collect();
    seen.sort();
    assert_eq!(seen, [("t say one".to_owned(), true), ("t say two".to_owned(), true)]);
}

#[test]
fn an_input_during_a_turn_is_told_to_the_model_once() {
    let script = [call(&["t gate open"]), say("I hear you."), say("Too much.")];
    let scene = TestHost::new(HELPER, &script);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| scene.run("Go."));
        scene.shell.until("t gate open", 1);
        scene.steer("Hurry.");
        scene.entries.until(|event| matches!(event, Event::InputTaken { .. }));
        scene.shell.open_gate("open");
        run.join().unwrap();
    });
    insta::assert_snapshot!(scene.dialogue_from("call_started"), @r#"
    call_started [t gate open] by rule
    steer_received "Hurry."
    input_taken steer_received
    call_finished [t gate open] done "open"
    model_asked 2
    model_replied 2 "I hear you."
    turn_ended done "I hear you."
    step_ended 0 succeeded
    run_ended done
    "#);
}

#[test]
fn a_second_copy_of_an_input_is_not_taken() {
    let scene = TestHost::new(HELPER, &[]);
    let runner = scene.runner();
    let model = TestModel::new([TestModel::text("Going."), TestModel::text("Hurrying.")]);
    let (mut session, mut turn, _active) = begin_turn(&scene, &runner, model);
    let about = session.workers.about.clone();
    let steer = Event::SteerReceived { content: "Hurry.".to_owned(), event: None };
    let input = scene.record(&about, vec![steer]).remove(0);
    for _ in 0..2 {
        session.take(&mut turn, SessionMessage::Input(Box::new(input.clone()))).unwrap();
    }
    // The follower of the ledger brings it a third time.
    assert!(matches!(session.drive(&mut turn), Ok(TurnExit::Ended(Ending::Done))));
    assert_eq!(count(&scene, |event| matches!(event, Event::InputTaken { .. })), 1);
}

#[test]
fn an_entry_that_is_no_input_is_not_taken() {
    let scene = TestHost::new(HELPER, &[]);
    let runner = scene.runner();
    let (mut session, mut turn, _active) = begin_turn(&scene, &runner, TestModel::new([]));
    let about = session.workers.about.clone();
    let prompt = Event::PromptReceived { content: "For another run.".to_owned() };
    let input = scene.record(&about, vec![prompt]).remove(0);
    session.take(&mut turn, SessionMessage::Input(Box::new(input))).unwrap();
    assert_eq!(count(&scene, |event| matches!(event, Event::InputTaken { .. })), 0);
}

#[test]
fn an_unattended_turn_pauses_at_an_approval_and_goes_on_with_the_answer() {
    let scene = TestHost::new(HELPER, &[call(&["make it"]), say("It is made.")]);
    let paused = scene.run("Go.");
    let RunExit::Paused(approvals) = &paused.end else { panic!("{:?}", paused.end) };
    assert_eq!(approvals.len(), 1);
    assert_eq!(scene.shell.received(), [""; 0], "nothing runs without the answer");
    scene.allow();
    scene.resume(&paused.run).unwrap();
    assert_eq!(scene.shell.received(), ["make it"]);
    insta::assert_snapshot!(scene.dialogue_from("call_proposed"), @r#"
    call_proposed [make it] ask
    approval_asked [make it]
    run_paused
    approval_answered true
    run_resumed
    input_taken approval_answered
    call_started [make it] by approval
    call_finished [make it] done "ran"
    model_asked 2
    model_replied 2 "It is made."
    turn_ended done "It is made."
    step_ended 0 succeeded
    run_ended done
    "#);
}

#[test]
fn a_no_is_told_to_the_model_and_nothing_runs() {
    let scene = TestHost::new(HELPER, &[call(&["make it"]), say("Then not.")]);
    let paused = scene.run("Go.");
    scene.answer(ApprovalAnswer::declined(Some("not today".to_owned())));
    scene.resume(&paused.run).unwrap();
    assert_eq!(scene.shell.received(), [""; 0]);
    insta::assert_snapshot!(scene.dialogue_from("approval_answered"), @r#"
    approval_answered false
    run_resumed
    input_taken approval_answered
    call_refused [make it]
    model_asked 2
    model_replied 2 "Then not."
    turn_ended denied "Then not."
    step_ended 0 failed
    run_ended denied
    "#);
}

#[test]
fn a_turn_that_waits_with_a_person_pauses_when_the_person_leaves() {
    let scene = TestHost::new(HELPER, &[call(&["make it"])]);
    let mut runner = scene.runner();
    runner.attendance = Attendance::Present;
    let handle = runner.post.handle();
    // The message waits in the inbox until the turn waits for the answer.
    handle.set_unattended();
    let left = runner.start(scene.order("Go."), &mut |_| {}).unwrap();
    assert!(matches!(left.end, RunExit::Paused(_)), "{:?}", left.end);
}

#[test]
fn a_fatal_message_ends_the_loop_with_its_reason() {
    let scene = TestHost::new(HELPER, &[]);
    let runner = scene.runner();
    let (mut session, mut turn, _active) = begin_turn(&scene, &runner, TestModel::new([]));
    let fatal = SessionMessage::Fatal("the ledger cannot be followed".to_owned());
    let error = session.take(&mut turn, fatal).unwrap_err().to_string();
    assert_eq!(error, "internal error: the turn stopped: the ledger cannot be followed");
}

#[test]
fn a_cancel_stops_what_runs_and_begins_nothing_new() {
    let scene = TestHost::new(HELPER, &[call(&["t hang"]), say("Never asked.")]);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| scene.run("Go."));
        scene.shell.until("t hang", 1);
        scene.cancel();
        run.join().unwrap();
    });
    insta::assert_snapshot!(scene.dialogue_from("call_started"), @r#"
    call_started [t hang] by rule
    cancel_received
    input_taken cancel_received
    call_stopped [t hang]
    call_finished [t hang] stopped "it was stopped"
    turn_ended cancelled
    step_ended 0 failed
    run_ended cancelled
    "#);
}

#[test]
fn a_turn_whose_moves_cannot_be_recorded_ends_without_performing_them() {
    let scene = TestHost::new(HELPER, &[]);
    let runner = scene.runner();
    let model = TestModel::new([TestModel::calls(&["t say one"]), TestModel::text("Never.")]);
    let (mut session, mut turn, _active) = begin_turn(&scene, &runner, model.clone());
    let reply = next(&session);
    let full = scene.ledger_to_read();
    session.ledger = &full;
    let error = session.take(&mut turn, reply).unwrap_err();
    assert!(matches!(error, Error::Ledger(agentry_store::Error::ReadOnly { .. })), "{error}");
    assert!(session.inbox.try_recv().is_err(), "no effect runs that could report");
    drop(session);
    assert_eq!(scene.shell.received(), [""; 0]);
    assert_eq!(model.requests().len(), 1);
    assert_eq!(count(&scene, |event| matches!(event, Event::ModelReplied { .. })), 0);
}

#[test]
fn a_record_alone_does_not_change_the_turn() {
    let scene = TestHost::new(HELPER, &[]);
    let runner = scene.runner();
    let (mut session, mut turn, _active) = begin_turn(&scene, &runner, TestModel::new([]));
    let before = turn.undone().len();
    let reply = ModelReply { text: "Not for the turn.".to_owned(), ..ModelReply::default() };
    let event = Event::ModelReplied { step: 9, reply, facts: Vec::new() };
    session.take(&mut turn, SessionMessage::RecordOnly(Box::new(event))).unwrap();
    assert_eq!(turn.undone().len(), before);
    assert_eq!(count(&scene, |event| matches!(event, Event::ModelReplied { .. })), 1);
}

#[test]
fn a_started_call_of_another_process_is_uncertain_and_not_made_again() {
    let scene = TestHost::new(HELPER, &[]);
    let runner = scene.runner();
    let model = TestModel::new([TestModel::text("I look first.")]);
    let (mut session, mut turn, _active) = begin_turn(&scene, &runner, model.clone());
    // The reply of the request does not come: another process made the call and ended.
    let id = CallId::from_number(new_number());
    let (tool, input) = (ToolName::canonical("bash"), serde_json::json!({"command": "t say one"}));
    let calls = vec![ToolCall { id, tool, input }];
    let reply = ModelReply { calls, ..ModelReply::default() };
    let moves = turn.tell(&Event::ModelReplied { step: 1, reply, facts: Vec::new() }).unwrap();
    assert!(moves.iter().any(|one| matches!(one, Move::RunCall { .. })), "{moves:?}");
    session.resume_pending(&mut turn).unwrap();
    assert_eq!(scene.shell.received(), [""; 0]);
    let outcome = scene.recorded().into_iter().find_map(|entry| {
        if let Event::CallFinished { outcome, .. } = entry.event { Some(outcome) } else { None }
    });
    let outcome = outcome.expect("it has an outcome");
    assert_eq!(outcome.status, OutcomeStatus::Uncertain);
    insta::assert_snapshot!(outcome.text, @"The process stopped while this was under way. Nobody knows whether it took effect. Look before you make it again.");
}
