//! Effects without a session: their results as messages, and what keeps one from running.

use std::sync::mpsc::{self, Receiver};

use agentry_agentfile::manifest::config::SpendingToml;
use agentry_protocol::call_facts::{CallFacts, DependencyKind};
use agentry_protocol::message::FailureKind;
use agentry_protocol::tool_call::OutcomeStatus;
use agentry_protocol::{AgentId, ApprovalId, RunId, SessionId, TurnId};
use serde_json::json;

use super::*;
use crate::host::spending::SpendingLimiter;
use crate::tests::{HELPER, PATIENCE, SECRET, TestHost, TestModel, new_number};

/// The effects of a turn, and the inbox that they report to.
struct EffectScene {
    scene: TestHost,
    effects: TurnEffects,
    inbox: Receiver<SessionMessage>,
}

fn effects(scene: TestHost, model: Arc<dyn Model>) -> EffectScene {
    let workspace = Arc::new(Workspace::open(scene.path("")).expect("the project is there"));
    let agent = AgentId::new("helper");
    let resolver =
        CallFactResolver::new(scene.host.clone(), workspace.clone(), &scene.definitions, &agent);
    let own = AgentExtensions {
        caller: TurnAgent::new(scene.definitions.clone(), agent, None),
        tools: scene.host.tools.fixed_toolset(),
        programs: None,
        asked_to_end: BTreeSet::new(),
        binding: Arc::new(resolver),
    };
    let (sender, inbox) = mpsc::channel();
    let about = EntrySubject {
        session: Some(SessionId::from_number(new_number())),
        run: Some(RunId::from_number(new_number())),
        turn: Some(TurnId::from_number(new_number())),
    };
    let effects = TurnEffects::new(TurnServices {
        host: scene.host.clone(),
        model,
        fallbacks: Vec::new(),
        workspace,
        own,
        observer: scene.entries.clone(),
        results: sender,
        about,
    });
    EffectScene { scene, effects, inbox }
}

fn scene() -> EffectScene {
    effects(TestHost::new(HELPER, &[]), TestModel::new([]))
}

impl EffectScene {
    /// The next result that a session would record.
    #[track_caller]
    fn result(&self) -> Event {
        match self.inbox.recv_timeout(PATIENCE).expect("a result comes") {
            SessionMessage::EffectResult(event) => *event,
            SessionMessage::Fatal(why) => panic!("the effect failed: {why}"),
            SessionMessage::RecordOnly(_)
            | SessionMessage::Input(_)
            | SessionMessage::Unattended => panic!("it is no result"),
        }
    }

    #[track_caller]
    fn outcome(&self) -> ToolOutcome {
        let event = self.result();
        if let Event::CallFinished { outcome, .. } | Event::CheckFinished { outcome, .. } = event {
            return outcome;
        }
        panic!("it has no outcome: {event:?}")
    }

    /// Runs a command that a rule allows.
    fn run(&mut self, command: &str) -> CallId {
        let call = bash(command);
        let id = call.id.clone();
        let by = Permit::Rule { rule: "AGENT.md:5".to_owned() };
        self.effects.run_call(call, permit(by, CallFacts::default()), ToolLimits::default());
        id
    }
}

fn bash(command: &str) -> ToolCall {
    ToolCall {
        id: CallId::from_number(new_number()),
        tool: ToolName::canonical("bash"),
        input: json!({ "command": command }),
    }
}

fn permit(by: Permit, expected: CallFacts) -> CallPermit {
    CallPermit { by, expected: Box::new(expected), by_edit: false }
}

fn approved() -> Permit {
    Permit::Approval { approval: ApprovalId::from_number(new_number()) }
}

fn step(model: &str, bytes: u64) -> StepRequest {
    let request = ModelRequest {
        model: model.to_owned(),
        temperature: None,
        max_tokens: Some(1_000),
        system: "You help.".into(),
        tools: Vec::new().into(),
        messages: vec![Arc::new(agentry_protocol::message::Message::user("Go."))],
    };
    StepRequest { step: 1, number: 1, seq: 1, request, bytes }
}

#[test]
fn a_tool_that_panics_is_a_failed_call_and_the_next_call_runs() {
    let mut scene = scene();
    let id = scene.run("t panic");
    let Event::CallFinished { call, outcome } = scene.result() else { panic!("it finishes") };
    assert_eq!((call, outcome.status), (id, OutcomeStatus::Failed));
    insta::assert_snapshot!(outcome.text, @"The tool `bash` broke down. This is a defect of the tool, not of the call.");
    scene.run("t say more");
    assert_eq!(scene.outcome().text, "more");
}

#[test]
fn a_call_whose_file_changed_since_the_yes_is_withheld() {
    let mut scene = scene();
    scene.scene.write("--- build.sh\necho one\n");
    let call = bash("sh build.sh");
    let facts = scene.effects.binding().facts(&call);
    scene.scene.write("--- build.sh\nrm everything\n");
    let expected = permit(approved(), facts.clone());
    scene.effects.run_call(call.clone(), expected, ToolLimits::default());
    let Event::CallWithheld { call: id, facts: now } = scene.result() else {
        panic!("it is withheld")
    };
    assert_eq!(id, call.id);
    let changed: Vec<(DependencyKind, &str)> =
        now.changes.iter().map(|one| (one.kind, one.name.as_str())).collect();
    assert_eq!(changed, [(DependencyKind::File, "build.sh")]);
    assert_ne!(now.bound, facts.bound);
    assert_eq!(scene.scene.shell.received(), [""; 0]);
}

#[test]
fn a_call_whose_files_are_as_they_were_runs() {
    let mut scene = scene();
    scene.scene.write("--- build.sh\necho one\n");
    let call = bash("sh build.sh");
    let facts = scene.effects.binding().facts(&call);
    scene.effects.run_call(call, permit(approved(), facts), ToolLimits::default());
    assert_eq!(scene.outcome().status, OutcomeStatus::Done);
    assert_eq!(scene.scene.shell.received(), ["sh build.sh"]);
}

#[test]
fn a_request_above_the_spending_limit_is_not_sent_and_fails_the_step() {
    let spending: SpendingToml = serde_json::from_value(json!({ "run": 0.000001 })).unwrap();
    let scene = TestHost::with(HELPER, &[], |host| {
        let families = [("claude".to_owned(), "anthropic".to_owned())].into();
        host.spending = SpendingLimiter::new(&spending, families);
    });
    let model = TestModel::new([TestModel::text("Never.")]);
    let mut scene = effects(scene, model.clone());
    scene.effects.ask_model(step("claude/claude-sonnet-4-5", 3_000));
    let Event::ModelFailed { step: 1, failure } = scene.result() else { panic!("it fails") };
    assert_eq!(failure.kind, FailureKind::SpendingLimit);
    assert!(failure.message.starts_with("asking claude/claude-sonnet-4-5 may cost up to"));
    assert!(model.requests().is_empty());
}

#[test]
fn a_reservation_is_held_until_its_result_is_recorded() {
    let spending: SpendingToml = serde_json::from_value(json!({ "run": 0.02 })).unwrap();
    let scene = TestHost::with(HELPER, &[], |host| {
        let families = [("claude".to_owned(), "anthropic".to_owned())].into();
        host.spending = SpendingLimiter::new(&spending, families);
    });
    let mut scene =
        effects(scene, TestModel::new([TestModel::text("One."), TestModel::text("Two.")]));
    let ask = |scene: &mut EffectScene, number| {
        let request = step("claude/claude-sonnet-4-5", 3_000);
        scene.effects.ask_model(StepRequest { step: number, ..request });
        scene.result()
    };
    assert!(matches!(ask(&mut scene, 1), Event::ModelReplied { .. }));
    // The reply is here and not recorded, so the amount is still reserved.
    assert!(matches!(ask(&mut scene, 2), Event::ModelFailed { .. }));
    scene.effects.release_reservation(&EffectKey::Step(1));
    assert!(matches!(ask(&mut scene, 3), Event::ModelReplied { .. }));
}

#[test]
fn a_stop_of_one_effect_does_not_stop_another() {
    let mut scene = scene();
    let one = scene.run("t hang");
    let other = scene.run("t gate open");
    scene.scene.shell.until("t hang", 1);
    scene.scene.shell.until("t gate open", 1);
    scene.effects.stop(&EffectKey::Call(one.clone()));
    let Event::CallFinished { call, outcome } = scene.result() else { panic!("it finishes") };
    assert_eq!((call, outcome.status), (one.clone(), OutcomeStatus::Stopped));
    scene.scene.shell.open_gate("open");
    let Event::CallFinished { call, outcome } = scene.result() else { panic!("it finishes") };
    assert_eq!((call, outcome.status), (other, OutcomeStatus::Done));
}

#[test]
fn all_effects_but_the_wanted_ones_are_stopped() {
    let mut scene = scene();
    let one = scene.run("t hang");
    let other = scene.run("t gate open");
    scene.scene.shell.until("t hang", 1);
    scene.effects.stop_all_but(&[EffectKey::Call(other)]);
    let Event::CallFinished { call, outcome } = scene.result() else { panic!("it finishes") };
    assert_eq!((call, outcome.status), (one, OutcomeStatus::Stopped));
    scene.scene.shell.open_gate("open");
    assert_eq!(scene.outcome().status, OutcomeStatus::Done);
}

#[test]
fn a_check_reports_the_outcome_of_its_command() {
    let mut scene = scene();
    for (iteration, command, expected) in
        [(1, "t say fine", OutcomeStatus::Done), (2, "t fail", OutcomeStatus::Failed)]
    {
        scene.effects.run_check(iteration, command.to_owned(), ToolLimits::default());
        let Event::CheckFinished { iteration: of, outcome } = scene.result() else {
            panic!("it finishes")
        };
        assert_eq!((of, outcome.status), (iteration, expected));
    }
}

#[test]
fn the_value_of_a_secret_is_in_no_outcome_and_in_no_piece_of_a_reply() {
    let model = TestModel::new([TestModel::text(&format!("It is {SECRET}, they say."))]);
    let mut scene = effects(TestHost::new(HELPER, &[]), model);
    scene.run("t secret");
    let outcome = scene.outcome();
    assert_eq!(outcome.text, "the password is [secret pass]");
    assert_eq!(outcome.measured.redacted, 1);
    scene.effects.run_check(1, "t secret".to_owned(), ToolLimits::default());
    assert_eq!(scene.outcome().text, "the password is [secret pass]");
    scene.effects.ask_model(step("scripted:x", 10));
    let Event::ModelReplied { reply, .. } = scene.result() else { panic!("it replies") };
    assert_eq!(reply.text, "It is [secret pass], they say.");
    assert!(!format!("{:?}", scene.scene.entries.deltas()).contains(SECRET));
}

#[test]
fn the_pieces_of_a_reply_are_shown_unless_the_effects_are_quiet() {
    for (quiet, shown) in [(false, true), (true, false)] {
        let model = TestModel::new([TestModel::text("Streamed.")]);
        let mut scene = effects(TestHost::new(HELPER, &[]), model);
        scene.effects.quiet = quiet;
        scene.effects.ask_model(step("scripted:x", 10));
        scene.result();
        assert_eq!(!scene.scene.entries.deltas().is_empty(), shown);
    }
}

#[test]
fn a_reply_without_usage_is_estimated_and_its_calls_get_ids() {
    let model = TestModel::new([TestModel::calls(&["t say one", "t say one"])]);
    let mut scene = effects(TestHost::new(HELPER, &[]), model);
    scene.effects.ask_model(step("scripted:x", 4_000));
    let Event::ModelReplied { reply, .. } = scene.result() else { panic!("it replies") };
    assert!(reply.usage.estimated && reply.usage.input_tokens > 0, "{:?}", reply.usage);
    assert_eq!(reply.calls.len(), 2);
    assert_ne!(reply.calls[0].id, reply.calls[1].id);
}

#[test]
fn an_effect_appends_nothing_itself() {
    let mut scene = scene();
    scene.run("t say one");
    scene.outcome();
    assert!(scene.scene.entries.received().is_empty() && scene.scene.recorded().is_empty());
}
