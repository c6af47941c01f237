//! Dialogues of a turn with its hooks: what they answer, and what comes of it.

use std::collections::BTreeMap;

use agentry_kernel::hook;
use agentry_kernel::moves::{EventRole, Move, role};
use agentry_kernel::turn::{PendingMove, Turn, TurnPhase};
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_protocol::event::{Ending, Event, Mode, TurnPlan};
use agentry_protocol::hook::{
    GateAnswer, GateVerdict, HookChange, HookErrorPolicy, HookMoment, HookReport, HookResult,
    HookSpec, ShapeAnswer,
};
use agentry_protocol::message::{Message, ModelReply};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome};
use agentry_protocol::{CallId, ContentHash};
use serde_json::{Value, json};

use crate::turn_prefix::charter;

fn spec(moment: HookMoment, program: &str) -> HookSpec {
    HookSpec {
        moment,
        program: program.to_owned(),
        args: Vec::new(),
        hash: ContentHash::of(b"its text"),
        matcher: Some("Bash|Write".to_owned()),
        on_error: HookErrorPolicy::Deny,
        timeout_ms: 1_000,
    }
}

fn gated(answer: GateAnswer) -> HookResult {
    HookResult::Gated { answer: Box::new(answer) }
}

fn says(say: GateVerdict, reason: &str) -> HookResult {
    gated(GateAnswer { say: Some(say), reason: Some(reason.to_owned()), ..GateAnswer::default() })
}

fn fine() -> HookResult {
    gated(GateAnswer::default())
}

fn changes(command: &str) -> HookResult {
    let updated_input = Some(json!({ "command": command }));
    gated(GateAnswer { updated_input, ..GateAnswer::default() })
}

fn halts(why: &str) -> HookResult {
    gated(GateAnswer { halt: Some(why.to_owned()), ..GateAnswer::default() })
}

fn failed(why: &str) -> HookResult {
    HookResult::Failed { why: why.to_owned() }
}

/// A turn, and the moves that it made last.
struct Dialogue {
    turn: Turn,
    moves: Vec<Move>,
    steps: u32,
    calls: u128,
}

fn dialogue(mode: Mode, hooks: &[HookSpec]) -> Dialogue {
    let mut charter = charter(mode);
    charter.hooks = hooks.to_vec();
    let plan = TurnPlan {
        parent: None,
        parent_hash: None,
        history_from: None,
        pruned: Default::default(),
        compaction: None,
        step: 0,
        prompt: "Work.".to_owned(),
        images: Vec::new(),
        charter: Value::Null,
        standing: BTreeMap::new(),
        shaping: Default::default(),
    };
    let (turn, moves) = Turn::begin(charter, &plan, Vec::new()).expect("the turn begins");
    Dialogue { turn, moves, steps: 0, calls: 0 }
}

impl Dialogue {
    fn tell(&mut self, event: &Event) -> &mut Self {
        self.moves = self.turn.tell(event).expect("the turn goes on");
        assert!(!matches!(self.turn.standing(), TurnPhase::Stuck(_)), "{:?}", self.turn.standing());
        self
    }

    /// The model answers with these commands.
    fn reply(&mut self, commands: &[&str]) -> &mut Self {
        self.steps += 1;
        let mut calls = Vec::new();
        for command in commands {
            self.calls += 1;
            let id = CallId::from_number(self.calls);
            let input = json!({ "command": command });
            calls.push(ToolCall { id, tool: ToolName::canonical("bash"), input });
        }
        let reply = ModelReply { text: "So.".to_owned(), calls, ..ModelReply::default() };
        self.tell(&Event::ModelReplied { step: self.steps, reply, facts: Vec::new() })
    }

    /// The model answers a check.
    fn done(&mut self) -> &mut Self {
        self.steps += 1;
        let reply = ModelReply { text: r#"{"done": true}"#.to_owned(), ..ModelReply::default() };
        self.tell(&Event::ModelReplied { step: self.steps, reply, facts: Vec::new() })
    }

    /// The hook under way answers.
    fn hook(&mut self, result: HookResult) -> &mut Self {
        let undone = self.turn.undone();
        let mut hooks = undone.into_iter().filter_map(|one| match one {
            PendingMove::Hook { number, moment, program } => Some((number, moment, program)),
            PendingMove::Model { .. } | PendingMove::Call(_) | PendingMove::Check { .. } => None,
        });
        let (number, moment, program) = hooks.next().expect("a hook is under way");
        let report = Box::new(HookReport { job: None, result, notes: Vec::new(), facts: None });
        let finished = HookChange::Finished { number, moment, program, report };
        self.tell(&Event::Hook(finished))
    }

    fn answer(&mut self, answer: ApprovalAnswer) -> &mut Self {
        let TurnPhase::Waiting(waiting) = self.turn.standing() else { panic!("nobody is asked") };
        self.tell(&Event::ApprovalAnswered { approval: waiting[0].clone(), answer })
    }

    fn finish_call(&mut self, call: u128) -> &mut Self {
        let outcome = ToolOutcome::done("out");
        self.tell(&Event::CallFinished { call: CallId::from_number(call), outcome })
    }

    #[track_caller]
    fn made(&mut self, expected: &[&str]) -> &mut Self {
        let made: Vec<String> = self.moves.iter().filter_map(words).collect();
        assert_eq!(made, expected);
        self
    }

    /// The last messages of the talk, as the model sees them.
    #[track_caller]
    fn told(&mut self, expected: &[&str]) -> &mut Self {
        let messages = self.turn.request().messages;
        let texts = messages.iter().map(|message| match &**message {
            Message::User { content, .. }
            | Message::Assistant { content, .. }
            | Message::Tool { content, .. } => content.clone(),
        });
        let texts: Vec<String> = texts.collect();
        assert_eq!(texts[texts.len() - expected.len()..], *expected);
        self
    }
}

fn words(one: &Move) -> Option<String> {
    let command = |call: &ToolCall| call.input["command"].as_str().unwrap_or("?").to_owned();
    Some(match one {
        Move::AskModel { check, .. } => if *check { "check" } else { "model" }.to_owned(),
        Move::Propose { .. } | Move::CountIteration { .. } => return None,
        Move::AskApproval(approval) => {
            let why = approval.ruling.deciding().map_or("", |one| one.why.as_str());
            format!("ask {}: {why}", command(&approval.call))
        }
        Move::RunCall { call, edited, .. } => {
            let by = edited.as_ref().and_then(|one| one.by.as_deref());
            let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
            format!("run {}{by}", command(call))
        }
        Move::Refuse { why, .. } => format!("refuse: {why}"),
        Move::StopCall { .. } => "stop".to_owned(),
        Move::RunCheck { .. } => "check command".to_owned(),
        Move::RunHook { number, hook, call, outcome } => {
            let about = call.as_ref().map(|call| format!(" on {}", command(call)));
            let outcome = outcome.as_ref().map(|one| format!(" = {}", one.text));
            let (about, outcome) = (about.unwrap_or_default(), outcome.unwrap_or_default());
            format!("hook {number} {}{about}{outcome}", hook.program)
        }
        Move::EndTurn { ending, .. } => format!("end {ending:?}"),
    })
}

fn one_gate(mode: Mode) -> Dialogue {
    dialogue(mode, &[spec(HookMoment::PreToolUse, "gate")])
}

const NOBODY: &str = "no approval rule matches, so it needs approval";

#[test]
fn a_call_waits_for_its_hooks_and_a_yes_opens_nothing() {
    let mut one = one_gate(Mode::Supervised);
    one.reply(&["echo a"]).made(&["hook 1 gate on echo a"]);
    assert_eq!(one.turn.standing(), TurnPhase::Working);
    one.hook(says(GateVerdict::Allow, "")).made(&["run echo a"]);
    one.finish_call(1).made(&["model"]).told(&["out"]);
    // A hook that does not mind does not answer for the person.
    one.reply(&["touch a"]).made(&["hook 2 gate on touch a"]);
    one.hook(says(GateVerdict::Allow, "")).made(&[&format!("ask touch a: {NOBODY}")]);
    one.answer(ApprovalAnswer::approved(ApprovalScope::Once)).made(&["run touch a"]);
}

#[test]
fn nobody_is_heard_about_what_is_refused_anyway() {
    let mut one = one_gate(Mode::Autonomous);
    one.reply(&["rm -rf /"]);
    assert!(one.moves.iter().all(|one| !matches!(one, Move::RunHook { .. })), "{:?}", one.moves);
    assert!(one.moves.iter().any(|one| matches!(one, Move::Refuse { .. })));
}

#[test]
fn the_first_no_ends_it_and_the_model_is_told_why() {
    let hooks = [spec(HookMoment::PreToolUse, "one"), spec(HookMoment::PreToolUse, "two")];
    let mut one = dialogue(Mode::Autonomous, &hooks);
    one.reply(&["touch a"]).made(&["hook 1 one on touch a"]);
    one.hook(says(GateVerdict::Deny, "not today"));
    one.made(&["refuse: Refused by the hook one: not today", "check"]);
    let mut other = dialogue(Mode::Autonomous, &hooks);
    other.reply(&["touch a"]).hook(changes("touch b")).made(&["hook 2 two on touch b"]);
    other.hook(fine()).made(&["run touch b by one"]);
    other.finish_call(1).made(&["check"]);
    let note =
        "[The hook one changed the arguments of this call to {\"command\":\"touch b\"}]\nout";
    other.told(&[note, agentry_kernel::turn::CHECK_QUESTION]);
}

#[test]
fn a_hook_that_wants_a_person_asked_is_not_waived() {
    for mode in [Mode::Supervised, Mode::Autonomous] {
        let mut one = one_gate(mode);
        let ask = "ask echo a: the hook gate wants a person to be asked: odd";
        one.reply(&["echo a"]).hook(says(GateVerdict::Ask, "odd")).made(&[ask]);
        one.tell(&Event::ModeReceived { mode: Mode::Autonomous, max_iterations: None }).made(&[]);
        one.answer(ApprovalAnswer::approved(ApprovalScope::Session)).made(&["run echo a"]);
        let last = one.moves.last().expect("it is made").event();
        let text = serde_json::to_string(&last).expect("an event is JSON");
        assert!(text.contains("approval"), "{text}");
        // An answer for the session does not stand for the hook.
        one.finish_call(1);
        if mode == Mode::Autonomous {
            one.done();
        }
        let mut two = one_gate(mode);
        two.reply(&["touch a"])
            .hook(says(GateVerdict::Ask, "odd"))
            .answer(ApprovalAnswer::approved(ApprovalScope::Session));
        two.finish_call(1);
        two.tell(&Event::SteerReceived { content: "more".to_owned(), event: None });
        if mode == Mode::Supervised {
            two.reply(&["touch a"]).hook(says(GateVerdict::Ask, "odd"));
            assert!(matches!(two.turn.standing(), TurnPhase::Waiting(_)));
        }
    }
}

#[test]
fn changed_arguments_are_judged_again() {
    let mut asked = one_gate(Mode::Supervised);
    asked.reply(&["echo a"]).hook(changes("touch b")).made(&[&format!("ask touch b: {NOBODY}")]);
    asked.answer(ApprovalAnswer::approved(ApprovalScope::Once)).made(&["run touch b by gate"]);
    // What was to be asked about still is.
    let mut still = one_gate(Mode::Supervised);
    still.reply(&["touch a"]).hook(changes("echo b"));
    assert!(matches!(still.turn.standing(), TurnPhase::Waiting(_)));
    let mut refused = one_gate(Mode::Autonomous);
    refused.reply(&["echo a"]).hook(changes("rm -rf /"));
    let Some(Move::Refuse { why, .. }) = refused.moves.first() else { panic!("it is made") };
    assert!(why.starts_with("[The hook gate changed the arguments"), "{why}");
    let mut wrong = one_gate(Mode::Autonomous);
    let updated_input = Some(json!({ "command": 7 }));
    wrong.reply(&["echo a"]).hook(gated(GateAnswer { updated_input, ..GateAnswer::default() }));
    assert!(matches!(wrong.moves.first(), Some(Move::Refuse { .. })));
}

#[test]
fn a_gate_that_cannot_run_means_what_it_says() {
    let gate = |on_error| [HookSpec { on_error, ..spec(HookMoment::PreToolUse, "gate") }];
    let no = "refuse: Refused: the hook gate failed (timeout), and a gate that cannot run means no";
    dialogue(Mode::Supervised, &gate(HookErrorPolicy::Deny))
        .reply(&["echo a"])
        .hook(failed("timeout"))
        .made(&[no, "model"]);
    let ask = "ask echo a: the hook gate wants a person to be asked: the hook failed (timeout)";
    dialogue(Mode::Autonomous, &gate(HookErrorPolicy::Ask))
        .reply(&["echo a"])
        .hook(failed("timeout"))
        .made(&[ask]);
    dialogue(Mode::Supervised, &gate(HookErrorPolicy::Allow))
        .reply(&["echo a"])
        .hook(failed("timeout"))
        .made(&["run echo a"]);
    // An answer of the wrong sort is none.
    let shape = Box::new(ShapeAnswer::default());
    let mut wrong = dialogue(Mode::Supervised, &gate(HookErrorPolicy::Deny));
    wrong.reply(&["echo a"]).hook(HookResult::Shaped { shape });
    assert!(matches!(wrong.moves.first(), Some(Move::Refuse { .. })));
}

#[test]
fn a_halt_stops_the_turn() {
    let mut before = one_gate(Mode::Supervised);
    before.reply(&["echo a", "echo b"]).hook(halts("enough"));
    assert_eq!(before.turn.standing(), TurnPhase::Over(Ending::Denied));
    let refusals = before.moves.iter().filter(|one| matches!(one, Move::Refuse { .. })).count();
    assert_eq!((refusals, before.turn.undone()), (2, Vec::new()));
    assert_eq!(
        before.turn.failure_text().as_deref(),
        Some("the hook gate stopped the turn: enough")
    );
    let mut after = dialogue(Mode::Supervised, &[spec(HookMoment::PostToolUse, "look")]);
    after.reply(&["echo a"]).finish_call(1).hook(halts("enough")).made(&["end Denied"]);
    let mut end = dialogue(Mode::Supervised, &[spec(HookMoment::Stop, "stay")]);
    end.reply(&[]).hook(halts("enough")).made(&["end Denied"]);
}

#[test]
fn what_a_hook_adds_is_told_beside_the_outcome() {
    let hooks = [
        spec(HookMoment::PostToolUse, "look"),
        spec(HookMoment::AfterToolCall, "shape"),
        spec(HookMoment::PreToolUse, "gate"),
    ];
    let mut one = dialogue(Mode::Supervised, &hooks);
    let context = |text: &str| Some(text.to_owned());
    let adds = GateAnswer { context: context("be quick"), ..GateAnswer::default() };
    one.reply(&["echo a"]).hook(gated(adds)).made(&["run echo a"]);
    one.finish_call(1).made(&["hook 2 shape on echo a = out"]);
    let shape = ShapeAnswer { system_prompt_append: context("Be kind."), ..ShapeAnswer::default() };
    one.hook(HookResult::Shaped { shape: Box::new(shape) });
    one.made(&["hook 3 look on echo a = out"]);
    let objects = GateAnswer {
        say: Some(GateVerdict::Deny),
        reason: context("untidy"),
        context: context("run fmt"),
        ..GateAnswer::default()
    };
    one.hook(gated(objects)).made(&["model"]);
    let outcome = "out\n[The hook gate adds: be quick]\n[The hook look objects: untidy]\n\
                   [The hook look adds: run fmt]";
    one.told(&[outcome, "[The agent's hook after_tool_call adds: Be kind.]"]);
    let mut broken = dialogue(Mode::Supervised, &[spec(HookMoment::PostToolUse, "look")]);
    broken.reply(&["echo a"]).finish_call(1).hook(failed("no such file")).made(&["model"]);
    broken.told(&["out\n[The hook look failed: no such file]"]);
}

#[test]
fn a_tool_that_a_hook_took_away_is_gone_for_the_turn() {
    let mut one = dialogue(Mode::Autonomous, &[spec(HookMoment::AfterToolCall, "shape")]);
    let before = one.turn.request().tools;
    one.reply(&["echo a", "echo b"]).finish_call(1);
    one.made(&["hook 1 shape on echo a = out", "run echo b"]);
    let shape = ShapeAnswer { tool_removals: vec!["Bash".to_owned()], ..ShapeAnswer::default() };
    one.hook(HookResult::Shaped { shape: Box::new(shape) }).finish_call(2);
    one.hook(HookResult::Shaped { shape: Box::default() }).made(&["check"]);
    one.tell(&Event::SteerReceived { content: "more".to_owned(), event: None });
    one.steps += 1;
    one.reply(&["echo c"]);
    assert_eq!(
        words(one.moves.iter().find(|one| matches!(one, Move::Refuse { .. })).expect("refused")),
        Some("refuse: Refused: the hook shape took `bash` away for this turn".to_owned())
    );
    assert_eq!(one.turn.request().tools, before);
}

#[test]
fn a_stop_hook_keeps_the_turn_so_often_and_no_more() {
    let mut one = dialogue(Mode::Supervised, &[spec(HookMoment::Stop, "stay")]);
    for _ in 0..8 {
        one.reply(&[]);
        assert!(matches!(one.moves[..], [Move::RunHook { .. }]), "{:?}", one.moves);
        one.hook(says(GateVerdict::Deny, "tests fail")).made(&["model"]);
        one.told(&["So.", "[The hook stay does not let you stop: tests fail]"]);
    }
    one.reply(&[]).made(&["end Done"]);
    let mut two =
        dialogue(Mode::Supervised, &[spec(HookMoment::Stop, "a"), spec(HookMoment::Stop, "b")]);
    two.reply(&[]).made(&["hook 1 a"]).hook(fine()).made(&["hook 2 b"]);
    two.hook(fine()).made(&["end Done"]);
}

#[test]
fn a_stop_hook_that_fails_keeps_the_turn_once() {
    let mut one = dialogue(Mode::Supervised, &[spec(HookMoment::Stop, "stay")]);
    one.reply(&[]).hook(failed("timeout")).made(&["model"]);
    one.told(&["[The hook stay does not let you stop: the hook failed (timeout)]"]);
    one.reply(&[]).hook(failed("timeout")).made(&["end Done"]);
    for on_error in [HookErrorPolicy::Ask, HookErrorPolicy::Allow] {
        let hook = HookSpec { on_error, ..spec(HookMoment::Stop, "stay") };
        dialogue(Mode::Supervised, &[hook]).reply(&[]).hook(failed("x")).made(&["end Done"]);
    }
}

#[test]
fn a_stop_hook_is_heard_after_the_check_and_its_no_outweighs_it() {
    let mut one = dialogue(Mode::Autonomous, &[spec(HookMoment::Stop, "stay")]);
    one.reply(&["echo a"]).finish_call(1).made(&["check"]).done().made(&["hook 1 stay"]);
    one.hook(says(GateVerdict::Deny, "no")).made(&["model"]);
    one.reply(&[]).made(&["check"]).done().made(&["hook 2 stay"]);
    // What is said meanwhile is read first, and the answer is worth nothing.
    one.tell(&Event::SteerReceived { content: "wait".to_owned(), event: None }).made(&["model"]);
    assert!(one.turn.undone().iter().all(|one| !matches!(one, PendingMove::Hook { .. })));
    one.reply(&[]).done().hook(fine()).made(&["end Done"]);
}

#[test]
fn a_cancel_wins_over_every_hook() {
    for (moment, commands) in [(HookMoment::PreToolUse, &["echo a"][..]), (HookMoment::Stop, &[])] {
        let mut one = dialogue(Mode::Supervised, &[spec(moment, "gate")]);
        one.reply(commands);
        assert_eq!(one.turn.undone().len(), 1);
        one.tell(&Event::CancelReceived {});
        assert_eq!(one.turn.standing(), TurnPhase::Over(Ending::Cancelled));
        assert_eq!(one.turn.undone(), Vec::new());
    }
    let mut after = dialogue(Mode::Supervised, &[spec(HookMoment::PostToolUse, "look")]);
    after.reply(&["echo a"]).finish_call(1).tell(&Event::CancelReceived {});
    after.made(&["end Cancelled"]);
    // A call that was stopped is not looked at.
    let mut stopped = dialogue(Mode::Supervised, &[spec(HookMoment::PostToolUse, "look")]);
    stopped.reply(&["echo a"]).tell(&Event::CancelReceived {}).made(&["stop"]);
    stopped.finish_call(1).made(&["end Cancelled"]);
}

#[test]
fn a_matcher_means_the_whole_name_by_any_of_its_names() {
    let bash = ToolName::canonical("bash");
    for (matcher, expected) in [
        (None, true),
        (Some(""), true),
        (Some("*"), true),
        (Some("Bash"), true),
        (Some("bash"), true),
        (Some("Write|Bash"), true),
        (Some("ba.*"), true),
        (Some("ba"), false),
        (Some("Write"), false),
        (Some("write_file|edit_file"), false),
        // Not understood: for all.
        (Some("("), true),
        (Some("a)|(b"), true),
    ] {
        let matcher = matcher.map(str::to_owned);
        let hook = HookSpec { matcher, ..spec(HookMoment::PreToolUse, "gate") };
        assert_eq!(hook::matches(&hook, &bash), expected, "{:?}", hook.matcher);
    }
    let other =
        HookSpec { matcher: Some("Write".to_owned()), ..spec(HookMoment::PreToolUse, "gate") };
    dialogue(Mode::Supervised, &[other]).reply(&["echo a"]).made(&["run echo a"]);
    // Hooks of other moments are not the turn's.
    dialogue(Mode::Supervised, &[spec(HookMoment::UserPromptSubmit, "gate")])
        .reply(&["echo a"])
        .made(&["run echo a"]);
}

#[test]
fn only_hooks_with_a_number_are_the_turns_own() {
    let change = |number| HookChange::Started {
        number,
        moment: HookMoment::Stop,
        program: "stay".to_owned(),
        call: None,
    };
    let finished = |number| HookChange::Finished {
        number,
        moment: HookMoment::Stop,
        program: "stay".to_owned(),
        report: Box::new(HookReport { job: None, result: fine(), notes: Vec::new(), facts: None }),
    };
    for (change, expected) in [
        (change(0), EventRole::Other),
        (change(1), EventRole::Chosen),
        (finished(0), EventRole::Other),
        (finished(1), EventRole::Told),
        (HookChange::StateSet { state: Default::default() }, EventRole::Other),
    ] {
        assert_eq!(role(&Event::Hook(change)), expected);
    }
    let mut one = one_gate(Mode::Supervised);
    one.reply(&["echo a"]);
    let event = one.moves.last().expect("a hook runs").event();
    let started = HookChange::Started {
        number: 1,
        moment: HookMoment::PreToolUse,
        program: "gate".to_owned(),
        call: Some(CallId::from_number(1)),
    };
    assert_eq!(event, Event::Hook(started));
}
