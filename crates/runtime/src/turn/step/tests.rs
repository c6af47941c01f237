//! The turn of a step: the prompt that the model gets, its limits, compaction and the one retry.

use std::sync::Arc;

use agentry_model::ModelAnswer;
use agentry_protocol::SessionKey;
use agentry_protocol::message::{FailureKind, ModelFailure, ModelRequest, Usage};

use super::*;
use crate::run_request::RunRequest;
use crate::tests::{HELPER, SECRET, TestHost, TestModel};
use crate::turn::session::TurnExit;

/// Performs the step of a run in the session `desk`, and returns its ending and explanation.
fn step_of(
    scene: &TestHost,
    model: &Arc<TestModel>,
    change: impl FnOnce(&mut RunRequest),
) -> (Ending, Option<String>) {
    let mut order = RunRequest { session: Some(SessionKey::new("desk")), ..scene.order("Go.") };
    change(&mut order);
    let runner = scene.runner();
    let mut active = scene.active_run(&runner, order, model.clone());
    let (exit, why) = runner.step(&mut active, 0).expect("the step is performed");
    let TurnExit::Ended(ending) = exit else { panic!("it waits for a person") };
    (ending, why)
}

fn prompted(scene: &TestHost, model: &Arc<TestModel>, prompt: &str) -> Ending {
    step_of(scene, model, |order| prompt.clone_into(&mut order.prompt)).0
}

/// The bytes that grow with a turn: those of its messages, without the end of the list.
fn message_bytes(request: &ModelRequest) -> String {
    let text = serde_json::to_string(&request.messages).expect("messages are plain JSON");
    text.trim_end_matches(']').to_owned()
}

/// True for each turn that is a compaction, in the order of their beginnings.
fn turns(scene: &TestHost) -> Vec<bool> {
    let started = scene.recorded().into_iter().filter_map(|entry| {
        let Event::TurnStarted(plan) = entry.event else { return None };
        Some(plan.compaction.is_some())
    });
    started.collect()
}

#[test]
fn each_request_of_a_turn_begins_with_the_bytes_of_the_one_before() {
    let scene = TestHost::new(HELPER, &[]);
    let calls = |text: &str| TestModel::calls(&[text]);
    let answers =
        [calls("t say one"), calls("t fail"), calls("t say two"), TestModel::text("Done.")];
    let model = TestModel::new(answers);
    assert_eq!(prompted(&scene, &model, "Go."), Ending::Done);
    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    for pair in requests.windows(2) {
        let [one, next] = pair else { panic!("a window has two") };
        assert!(message_bytes(next).starts_with(&message_bytes(one)), "{next:?}");
        assert_eq!((&one.system, &one.tools, &one.model), (&next.system, &next.tools, &next.model));
    }
}

#[test]
fn the_prompt_of_a_turn_holds_the_turns_before_it_on_its_branch() {
    let scene = TestHost::new(HELPER, &[]);
    let model = TestModel::new([
        TestModel::calls(&["t say one"]),
        TestModel::text("It is one."),
        TestModel::text("It was one."),
    ]);
    prompted(&scene, &model, "Which number?");
    prompted(&scene, &model, "And before?");
    let requests = model.requests();
    assert!(message_bytes(&requests[2]).starts_with(&message_bytes(&requests[1])));
    let roles = serde_json::to_value(&requests[2].messages).unwrap();
    let roles: Vec<&str> =
        roles.as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
}

#[test]
fn a_turn_that_failed_is_not_part_of_the_branch() {
    let scene = TestHost::new(HELPER, &[]);
    let model = TestModel::new([
        TestModel::failure(FailureKind::Authentication),
        TestModel::text("Hello."),
    ]);
    assert_eq!(prompted(&scene, &model, "Lost."), Ending::ModelFailed);
    assert_eq!(prompted(&scene, &model, "Again."), Ending::Done);
    let request = message_bytes(&model.requests()[1]);
    assert!(!request.contains("Lost.") && request.contains("Again."), "{request}");
}

#[test]
fn a_turn_asks_the_model_no_more_at_its_limit_of_tokens() {
    let scene = TestHost::new(HELPER, &[]);
    let usage = Some(Usage { input_tokens: 90, output_tokens: 10, ..Usage::default() });
    let calls = ModelAnswer { usage, ..TestModel::calls(&["t say one"]).unwrap() };
    for (tokens_max, expected, requests) in
        [(100_000, Ending::Done, 2), (100, Ending::LimitReached, 1)]
    {
        let model = TestModel::new([Ok(calls.clone()), TestModel::text("Done.")]);
        let limit = |order: &mut RunRequest| order.terms.limits.tokens_max = Some(tokens_max);
        let (ending, _) = step_of(&scene, &model, limit);
        assert_eq!(ending, expected, "{}", scene.dialogue());
        assert_eq!(model.requests().len(), requests, "with {tokens_max} tokens");
    }
}

#[test]
fn a_secret_in_a_prompt_is_not_sent() {
    let scene = TestHost::new(HELPER, &[]);
    let model = TestModel::new([TestModel::text("Hidden.")]);
    prompted(&scene, &model, &format!("My password is {SECRET}."));
    let request = message_bytes(&model.requests()[0]);
    assert!(request.contains("My password is [secret pass].") && !request.contains(SECRET));
}

/// About a thousand tokens.
fn long(mark: &str) -> String {
    format!("{mark}{}", " the".repeat(1_000))
}

#[test]
fn the_turns_before_are_compacted_when_the_window_is_nearly_full() {
    let scene = TestHost::with(HELPER, &[], |host| host.models.window = Some(8_000));
    let mut answers: Vec<_> = (1..=5).map(|n| TestModel::text(&format!("answer-{n}"))).collect();
    answers.extend([TestModel::text("SUMMARY"), TestModel::text("answer-6")]);
    let model = TestModel::new(answers);
    for number in 1..=6 {
        assert_eq!(prompted(&scene, &model, &long(&format!("mark-{number}"))), Ending::Done);
    }
    assert_eq!(turns(&scene), [false, false, false, false, false, true, false]);
    let requests = model.requests();
    let (summing, last) = (message_bytes(&requests[5]), message_bytes(&requests[6]));
    assert!(summing.contains("mark-1") && requests[5].tools.is_empty(), "{summing}");
    assert_eq!(last.matches("SUMMARY").count(), 1);
    assert!(!last.contains("mark-1") && last.contains("mark-5") && last.contains("mark-6"));
}

#[test]
fn a_compaction_that_fails_ends_the_step_and_the_turn_does_not_begin() {
    let scene = TestHost::with(HELPER, &[], |host| host.models.window = Some(8_000));
    let mut answers: Vec<_> = (1..=5).map(|n| TestModel::text(&format!("answer-{n}"))).collect();
    answers.push(TestModel::failure(FailureKind::Overloaded));
    let model = TestModel::new(answers);
    let all: Vec<Ending> =
        (1..=6).map(|number| prompted(&scene, &model, &long(&format!("mark-{number}")))).collect();
    assert_eq!(all[5], Ending::ModelFailed);
    assert_eq!(turns(&scene), [false, false, false, false, false, true]);
}

#[test]
fn a_turn_that_was_too_long_is_compacted_and_tried_once_more_with_its_calls_retold() {
    let scene = TestHost::new(HELPER, &[]);
    let too_long = || TestModel::failure(FailureKind::ContextOverflow);
    let model = TestModel::new([
        TestModel::text("answer-1"),
        TestModel::text("answer-2"),
        TestModel::calls(&["t say one"]),
        too_long(),
        TestModel::text("SUMMARY"),
        TestModel::text("Done in the second try."),
    ]);
    prompted(&scene, &model, "mark-1");
    prompted(&scene, &model, "mark-2");
    assert_eq!(prompted(&scene, &model, "mark-3"), Ending::Done, "{}", scene.dialogue());
    assert_eq!(scene.shell.received(), ["t say one"], "no call is made twice");
    assert_eq!(turns(&scene), [false, false, false, true, false]);
    let last = message_bytes(&model.requests()[5]);
    assert!(last.contains(r#"bash {\"command\":\"t say one\"}: done"#), "{last}");
}

#[test]
fn a_turn_that_is_too_long_again_is_not_tried_for_ever() {
    let scene = TestHost::new(HELPER, &[]);
    let too_long = || {
        let message = "the prompt is too long";
        Err::<ModelAnswer, _>(ModelFailure::new(FailureKind::ContextOverflow, message))
    };
    let model = TestModel::new((0..20).map(|_| too_long()));
    let (ending, why) = step_of(&scene, &model, |_| {});
    assert_eq!(ending, Ending::ModelFailed);
    assert!(why.as_deref().is_some_and(|why| why.contains("the prompt is too long")), "{why:?}");
    assert!(model.requests().len() <= 3, "{} requests", model.requests().len());
}

#[test]
fn a_turn_begins_only_at_the_head_that_it_was_planned_for() {
    let scene = TestHost::new(HELPER, &[]);
    let model = TestModel::new([TestModel::text("One."), TestModel::text("Two.")]);
    prompted(&scene, &model, "First.");
    prompted(&scene, &model, "Second.");
    let ended: Vec<_> = scene
        .recorded()
        .into_iter()
        .filter(|entry| matches!(entry.event, Event::TurnStarted(_) | Event::TurnEnded { .. }))
        .collect();
    let [_, first_end, second, second_end] = ended.as_slice() else { panic!("two turns") };
    let Event::TurnStarted(plan) = &second.event else { panic!("it begins") };
    assert_eq!(plan.parent, first_end.about.turn);
    let (Event::TurnEnded { hash: of_first, .. }, Event::TurnEnded { hash: of_second, .. }) =
        (&first_end.event, &second_end.event)
    else {
        panic!("both end")
    };
    assert_eq!(plan.parent_hash.as_ref(), Some(of_first));
    assert_ne!(of_first, of_second);
}
