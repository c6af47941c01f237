//! `agentry stdio`: lines in, lines out, and what can be said to a run under way.

use serde_json::json;

use crate::record::{all_is_recorded, entries, line, script, story};
use crate::story::{Story, events, ids};

/// Says lines and hears what comes back, without waiting for anything in between.
fn fed(story: &Story, command: &str, lines: &[&str]) -> (Option<i32>, String) {
    let mut talk = story.talk(command);
    lines.iter().for_each(|line| talk.say(line));
    let ran = talk.end();
    assert_eq!(ran.err, "");
    (ran.code, events(&ran.out))
}

fn answer(gate: &serde_json::Value, allow: bool, reason: Option<&str>) -> String {
    let gate = &gate["gateId"];
    json!({ "type": "approval_response", "gateId": gate, "allow": allow, "reason": reason })
        .to_string()
}

#[test]
fn a_prompt_gives_the_documented_events_in_order() {
    let story = story();
    let look = r#"{"thinking":"Let me look.","text":"Looking.","tool_calls":[{"name":"Glob","input":{"pattern":"src/**"}}]}"#;
    script(&story, "s.jsonl", &[look.to_owned(), line("There is one file: a.txt.", &[])]);
    let prompt = r#"{"prompt":"List files in src/"}"#;
    let (code, events) = fed(&story, "stdio --model scripted:s.jsonl", &[prompt]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(events, @r#"
    init agent="builder" mode="structured" confinement="ns"
    thinking content="Let me look."
    text content="Looking."
    tool_use toolName="glob" input={"pattern":"src/**"}
    tool_result status="completed" output="src/a.txt" outcome="done"
    text content="There is one file: a.txt."
    done stopReason="end_turn" result="There is one file: a.txt."
    "#);
    all_is_recorded(&story);
}

#[test]
fn an_approval_is_answered_with_yes() {
    let story = story();
    script(&story, "s.jsonl", &[line("", &["touch made"]), line("Made.", &[])]);
    let mut talk = story.talk("stdio --model scripted:s.jsonl");
    talk.say(r#"{"prompt":"make it"}"#);
    let gate = talk.hear("approval_gate");
    assert!(!story.path("made").exists());
    talk.say(&answer(&gate, true, None));
    talk.hear("done");
    let ran = talk.end();
    assert_eq!(ran.code, Some(0));
    insta::assert_snapshot!(events(&ran.out), @r#"
    init agent="builder" mode="structured" confinement="ns"
    tool_use toolName="bash" input={"command":"touch made"}
    approval_gate gateId="apr_1" toolName="bash" input={"command":"touch made"} reason="no approval rule matches, so it needs approval"
    tool_result status="completed" output="[no output]" outcome="done" exitCode=0
    text content="Made."
    done stopReason="end_turn" result="Made."
    "#);
    assert!(story.path("made").exists());
    all_is_recorded(&story);
}

#[test]
fn an_approval_is_answered_with_no_and_the_agent_is_told_why() {
    let story = story();
    let lines = [line("", &["touch made"]), line("", &["echo then"]), line("As you wish.", &[])];
    script(&story, "s.jsonl", &lines);
    let mut talk = story.talk("stdio --model scripted:s.jsonl");
    talk.say(r#"{"prompt":"make it"}"#);
    let gate = talk.hear("approval_gate");
    talk.say(&answer(&gate, false, Some("not today")));
    talk.hear("done");
    // The same question is not open any more.
    talk.say(r#"{"prompt":"again"}"#);
    let second = talk.hear("approval_gate");
    talk.say(&answer(&gate, true, None));
    talk.hear("error");
    talk.say(&answer(&second, false, None));
    talk.hear("done");
    let ran = talk.end();
    assert_eq!(ran.code, Some(0));
    insta::assert_snapshot!(events(&ran.out), @r#"
    init agent="builder" mode="structured" confinement="ns"
    tool_use toolName="bash" input={"command":"touch made"}
    approval_gate gateId="apr_1" toolName="bash" input={"command":"touch made"} reason="no approval rule matches, so it needs approval"
    tool_result status="failed" output="A person said no: not today" outcome="refused"
    tool_use toolName="bash" input={"command":"echo then"}
    tool_result status="completed" output="then\n" outcome="done" exitCode=0
    text content="As you wish."
    done stopReason="end_turn" result="As you wish."
    init agent="builder" mode="structured" confinement="ns"
    tool_use toolName="bash" input={"command":"touch made"}
    approval_gate gateId="apr_2" toolName="bash" input={"command":"touch made"} reason="no approval rule matches, so it needs approval"
    error code="bad_line" message="line 4: apr_1 does not wait for an answer: it was answered with no" recoverable=true
    tool_result status="failed" output="A person said no." outcome="refused"
    tool_use toolName="bash" input={"command":"echo then"}
    tool_result status="completed" output="then\n" outcome="done" exitCode=0
    text content="As you wish."
    done stopReason="end_turn" result="As you wish."
    "#);
    assert!(!story.path("made").exists());
    all_is_recorded(&story);
}

#[test]
fn a_cancel_ends_a_command_that_would_run_for_ten_minutes() {
    let story = story();
    story.gate("gate");
    story.gate("written");
    script(&story, "s.jsonl", &[line("", &["cat gate && cat written && sleep 600"])]);
    let mut talk = story.talk("stdio --model scripted:s.jsonl");
    talk.say(r#"{"prompt":"wait"}"#);
    talk.hear("tool_use");
    story.open_gate("gate", "it runs");
    // Its reader starts only when the text of the first is written.
    story.open_gate("written", "");
    talk.say(r#"{"type":"cancel"}"#);
    let done = talk.hear("done");
    assert_eq!(done["stopReason"], "cancelled");
    let ran = talk.end();
    assert_eq!(ran.code, Some(7));
    insta::assert_snapshot!(events(&ran.out), @r#"
    init agent="builder" mode="structured" confinement="ns"
    tool_use toolName="bash" input={"command":"cat gate && cat written && sleep 600"}
    tool_result status="failed" output="it runs\n[stopped after … s, all its processes were ended]" outcome="stopped"
    done stopReason="cancelled"
    "#);
    all_is_recorded(&story);
}

#[test]
fn a_steer_is_in_the_next_request() {
    let story = story();
    story.gate("gate");
    script(&story, "s.jsonl", &[line("", &["cat gate"]), line("In French: oui.", &[])]);
    let mut talk = story.talk("stdio --session desk --model scripted:s.jsonl");
    talk.say(r#"{"prompt":"begin"}"#);
    talk.hear("tool_use");
    talk.say(r#"{"type":"steer","content":"answer in French"}"#);
    // A line that is answered shows that the one before it was taken.
    talk.say("?");
    talk.hear("error");
    story.open_gate("gate", "open");
    talk.hear("done");
    assert_eq!(talk.end().code, Some(0));
    let all = entries(&story, "session", "desk");
    let kinds: Vec<&str> = all.iter().filter_map(|one| one["event"]["type"].as_str()).collect();
    let at = |kind: &str| kinds.iter().rposition(|one| *one == kind).expect("it is there");
    assert!(at("steer_received") < at("model_asked"), "{kinds:?}");
    let ended = &all[at("turn_ended")]["event"]["messages"];
    let said: Vec<String> = ended
        .as_array()
        .expect("a turn has messages")
        .iter()
        .map(|one| format!("{}: {}", one["role"], one["content"]))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    "user": "begin"
    "assistant": null
    "tool": "open"
    "user": "answer in French"
    "assistant": "In French: oui."
    "#);
    all_is_recorded(&story);
}

#[test]
fn the_mode_is_switched_to_wiggum_and_the_waiting_call_goes_ahead() {
    let story = story();
    let done = line(r#"{"done": true}"#, &[]);
    script(&story, "s.jsonl", &[line("", &["touch made"]), done]);
    let mut talk = story.talk("stdio --model scripted:s.jsonl");
    talk.say(r#"{"prompt":"make it"}"#);
    talk.hear("approval_gate");
    talk.say(r#"{"type":"setMode","newMode":"wiggum","maxIterations":3}"#);
    talk.hear("done");
    let ran = talk.end();
    insta::assert_snapshot!(format!("{:?}\n{}", ran.code, events(&ran.out)), @r#"
    Some(0)
    init agent="builder" mode="structured" confinement="ns"
    tool_use toolName="bash" input={"command":"touch made"}
    approval_gate gateId="apr_1" toolName="bash" input={"command":"touch made"} reason="no approval rule matches, so it needs approval"
    tool_result status="completed" output="[no output]" outcome="done" exitCode=0
    text content="{\"done\": true}"
    done stopReason="end_turn"
    "#);
    all_is_recorded(&story);
}

#[test]
fn the_mode_is_switched_to_structured_and_the_next_call_is_asked() {
    let story = story();
    story.gate("gate");
    let lines = [line("", &["cat gate"]), line("", &["touch made"])];
    script(&story, "s.jsonl", &lines);
    let mut talk = story.talk("stdio --mode wiggum --model scripted:s.jsonl");
    talk.say(r#"{"prompt":"work"}"#);
    talk.hear("tool_use");
    talk.say(r#"{"type":"setMode","newMode":"structured"}"#);
    talk.say("?");
    talk.hear("error");
    story.open_gate("gate", "open");
    let ran = talk.end();
    insta::assert_snapshot!(format!("{:?}\n{}", ran.code, events(&ran.out)), @r#"
    Some(4)
    init agent="builder" mode="wiggum" confinement="ns"
    iteration count=1
    tool_use toolName="bash" input={"command":"cat gate"}
    error code="bad_line" message="line 3: it is not JSON: expected value at line 1 column 1" recoverable=true
    tool_result status="completed" output="open" outcome="done" exitCode=0
    tool_use toolName="bash" input={"command":"touch made"}
    approval_gate gateId="apr_1" toolName="bash" input={"command":"touch made"} reason="no approval rule matches, so it needs approval"
    error code="waiting_for_approval" message="waiting for approval: apr_1" recoverable=true
    "#);
    all_is_recorded(&story);
}

#[test]
fn a_bad_line_is_named_by_its_number_and_the_stream_goes_on() {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let (code, events) = fed(
        &story,
        "stdio --model scripted:s.jsonl",
        &[
            "nonsense",
            "[1]",
            r#"{"type":"dance"}"#,
            r#"{"prompt":3}"#,
            "",
            r#"{"type":"cancel"}"#,
            r#"{"type":"steer","content":"x"}"#,
            r#"{"type":"setMode","newMode":"wild"}"#,
            r#"{"type":"approval_response","gateId":"g1","allow":true}"#,
            r#"{"prompt":"hello"}"#,
        ],
    );
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(events, @r#"
    error code="bad_line" message="line 1: it is not JSON: expected ident at line 1 column 2" recoverable=true
    error code="bad_line" message="line 2: it is not a JSON object" recoverable=true
    error code="bad_line" message="line 3: unknown variant `dance`, expected one of `prompt`, `approval_response`, `cancel`, `setMode`, `set_mode`, `steer`; write {\"prompt\": …}, or a `type`: approval_response, cancel, setMode, steer" recoverable=true
    error code="bad_line" message="line 4: invalid type: integer `3`, expected a string; write {\"prompt\": …}, or a `type`: approval_response, cancel, setMode, steer" recoverable=true
    error code="bad_line" message="line 6: no run is active" recoverable=true
    error code="bad_line" message="line 7: no run is active" recoverable=true
    error code="bad_line" message="line 8: unknown variant `wild`, expected one of `structured`, `supervised`, `autonomous`, `wiggum`; write {\"prompt\": …}, or a `type`: approval_response, cancel, setMode, steer" recoverable=true
    error code="bad_line" message="line 9: gateId `g1` is not an id of the form apr_… with 26 letters and digits" recoverable=true
    init agent="builder" mode="structured" confinement="ns"
    text content="Hello."
    done stopReason="end_turn" result="Hello."
    "#);
}

#[test]
fn a_line_that_is_too_long_is_skipped_to_its_end() {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let long = format!(r#"{{"prompt":"{}"}}"#, "x".repeat(17 * 1024 * 1024));
    let (code, events) =
        fed(&story, "stdio --model scripted:s.jsonl", &[&long, "?", r#"{"prompt":"hello"}"#]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(events, @r#"
    error code="bad_line" message="line 1: it is longer than 16777216 bytes" recoverable=true
    error code="bad_line" message="line 2: it is not JSON: expected value at line 1 column 1" recoverable=true
    init agent="builder" mode="structured" confinement="ns"
    text content="Hello."
    done stopReason="end_turn" result="Hello."
    "#);
}

#[test]
fn an_answer_to_a_question_that_nobody_asked_is_an_error() {
    let story = story();
    script(&story, "s.jsonl", &[line("", &["touch made"]), line("No.", &[])]);
    let mut talk = story.talk("stdio --model scripted:s.jsonl");
    talk.say(r#"{"prompt":"make it"}"#);
    let gate = talk.hear("approval_gate");
    let unknown = json!({ "gateId": format!("apr_{}", "0".repeat(26)) });
    talk.say(&answer(&unknown, true, None));
    let error = talk.hear("error");
    insta::assert_snapshot!(ids(&error.to_string()), @r#"{"type":"error","code":"bad_line","message":"line 2: apr_1 does not wait for an answer: there is no such approval","recoverable":true}"#);
    assert!(!story.path("made").exists());
    talk.say(&answer(&gate, false, None));
    talk.hear("done");
    assert_eq!(talk.end().code, Some(3));
    all_is_recorded(&story);
}

#[test]
fn the_second_prompt_sees_what_was_said_before() {
    let story = story();
    script(&story, "s.jsonl", &[line("The code word is blue.", &[])]);
    let (code, _) = fed(
        &story,
        "stdio --session desk --model scripted:s.jsonl",
        &[r#"{"prompt":"first"}"#, r#"{"prompt":"second"}"#],
    );
    assert_eq!(code, Some(0));
    let all = entries(&story, "session", "desk");
    let of = |kind: &str| -> Vec<serde_json::Value> {
        all.iter().filter(|one| one["event"]["type"] == kind).cloned().collect()
    };
    let (turns, asked) = (of("turn_started"), of("model_asked"));
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[1]["event"]["parent"], turns[0]["turnId"]);
    assert!(asked[1]["event"]["bytes"].as_u64() > asked[0]["event"]["bytes"].as_u64());
    all_is_recorded(&story);
}

#[test]
fn a_run_that_waits_when_the_input_ends_lets_go() {
    let story = story();
    script(&story, "s.jsonl", &[line("", &["touch made"]), line("Made.", &[])]);
    let (code, events) =
        fed(&story, "stdio --model scripted:s.jsonl", &[r#"{"prompt":"make it"}"#]);
    assert_eq!(code, Some(4));
    insta::assert_snapshot!(events, @r#"
    init agent="builder" mode="structured" confinement="ns"
    tool_use toolName="bash" input={"command":"touch made"}
    approval_gate gateId="apr_1" toolName="bash" input={"command":"touch made"} reason="no approval rule matches, so it needs approval"
    error code="waiting_for_approval" message="waiting for approval: apr_1" recoverable=true
    "#);
    let waiting = crate::record::waiting(&story);
    story.out(&format!("answer {} yes", waiting[0]));
    assert_eq!(story.out("resume --last"), "Made.\n");
    all_is_recorded(&story);
}
