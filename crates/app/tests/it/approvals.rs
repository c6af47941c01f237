//! Approvals without a terminal: a run stops, a person answers, the run goes on.

use crate::record::{all_is_recorded, latest, line, script, story, waiting};
use crate::story::{Story, ids};

/// A run that waits for one answer.
fn waits() -> (Story, String) {
    let story = story();
    script(&story, "s.jsonl", &[line("Trying.", &["touch made", "echo hi"]), line("Over.", &[])]);
    let ran = story.ran_in("", "run --model scripted:s.jsonl hello");
    assert_eq!(ran.code, Some(4));
    let approval = waiting(&story).remove(0);
    (story, approval)
}

#[test]
fn a_call_that_asks_stops_the_run_and_the_other_goes_on() {
    let story = story();
    script(&story, "s.jsonl", &[line("Trying.", &["touch made", "echo hi"]), line("Over.", &[])]);
    insta::assert_snapshot!(ids(&story.run("run --model scripted:s.jsonl hello")), @"
    exit 4
    --- stdout
    Trying.
    --- stderr
    run_1: builder with scripted:[tmp]/work/s.jsonl, structured
    ● bash touch made
    ● bash echo hi
      ✓ bash echo hi: hi
    waiting for approval: apr_1
      agentry answer apr_1 yes|no
      agentry resume run_1
    ");
    insta::assert_snapshot!(ids(&story.run("approvals")), @r#"
    exit 0
    --- stdout
    apr_1  waiting  bash  run_1
      {"command":"touch made"}
      10 characters, 10 bytes; hash 37fe082a5756
      why: no approval rule matches, so it needs approval (built-in)
    "#);
    assert!(!story.path("made").exists());
    let id = waiting(&story).remove(0);
    insta::assert_snapshot!(ids(&story.run(&format!("answer {id} yes"))), @"
    exit 0
    --- stdout
    apr_1: yes
      agentry resume run_1
    ");
    insta::assert_snapshot!(ids(&story.run("resume --last")), @"
    exit 0
    --- stdout
    Over.
    --- stderr
    run_1: resumed
      ✓ bash touch made: [no output]
    ");
    assert!(story.path("made").exists());
    insta::assert_snapshot!(story.run("approvals"), @"
    exit 0
    --- stdout
    no approvals wait for an answer
    ");
    all_is_recorded(&story);
}

#[test]
fn a_no_is_told_to_the_agent_with_its_reason() {
    let (story, approval) = waits();
    story.out(&format!("answer {approval} no --reason 'use the other file'"));
    insta::assert_snapshot!(ids(&story.run("resume --last")), @"
    exit 0
    --- stdout
    Over.
    --- stderr
    run_1: resumed
      ✗ bash touch made: A person said no: use the other file
    ");
    assert!(!story.path("made").exists());
    all_is_recorded(&story);
}

#[test]
fn an_answer_is_given_once() {
    let (story, approval) = waits();
    story.out(&format!("answer {approval} no"));
    let all: Vec<String> = [
        format!("answer {approval} yes"),
        "answer apr_nope yes".to_owned(),
        format!("answer {approval} no --session"),
    ]
    .iter()
    .map(|command| story.run(command))
    .collect();
    insta::assert_snapshot!(ids(&all.join("\n")), @"
    exit 2
    --- stderr
    error: apr_1 does not wait for an answer: it was answered with no

    exit 2
    --- stderr
    error: there is no approval `apr_nope`

    exit 2
    --- stderr
    error: --session can only be used with `yes`
    ");
}

#[test]
fn a_yes_for_the_session_holds_for_the_same_call_only() {
    let story = story();
    let lines = [line("", &["touch made"]), line("Over.", &[])];
    script(&story, "s.jsonl", &lines);
    script(&story, "other.jsonl", &[line("", &["touch other"]), line("Over.", &[])]);
    let run = |script: &str| {
        story.ran_in("", &format!("run --session desk --model scripted:{script}.jsonl hello")).code
    };
    assert_eq!(run("s"), Some(4));
    story.out(&format!("answer {} yes --session", waiting(&story)[0]));
    story.out("resume --last");
    assert_eq!(run("s"), Some(0));
    assert_eq!(run("other"), Some(4));
    story.out(&format!("cancel {}", latest(&story)));
    // Another session knows nothing of it.
    assert_eq!(story.ran_in("", "run --model scripted:s.jsonl hello").code, Some(4));
    all_is_recorded(&story);
}

#[test]
fn a_yes_once_holds_once() {
    let story = story();
    let again = line("", &["touch made"]);
    script(&story, "s.jsonl", &[again.clone(), again, line("Over.", &[])]);
    let code = |command: &str| story.ran_in("", command).code;
    assert_eq!(code("run --model scripted:s.jsonl hello"), Some(4));
    story.out(&format!("answer {} yes", waiting(&story)[0]));
    assert_eq!(code("resume --last"), Some(4));
    story.out(&format!("answer {} yes", waiting(&story)[0]));
    assert_eq!(code("resume --last"), Some(0));
    all_is_recorded(&story);
}

#[test]
fn what_tool_access_switched_off_meanwhile_is_refused_after_a_yes() {
    let (story, approval) = waits();
    story.out(&format!("answer {approval} yes"));
    story.file(
        ".agentry/agents/builder/context/tool-access.json",
        br#"{"tools": {"bash": {"enabled": false}}}"#,
    );
    insta::assert_snapshot!(ids(&story.run("resume --last")), @"
    exit 0
    --- stdout
    Over.
    --- stderr
    run_1: resumed
      ✗ bash touch made: Refused: tool-access does not let `bash`: it is switched off
    ");
    assert!(!story.path("made").exists());
}

#[test]
fn a_tool_access_file_that_is_broken_meanwhile_refuses_too() {
    let (story, approval) = waits();
    story.out(&format!("answer {approval} yes"));
    story.file(".agentry/agents/builder/context/tool-access.json", b"{");
    insta::assert_snapshot!(ids(&story.run("resume --last")), @"
    exit 0
    --- stdout
    Over.
    --- stderr
    run_1: resumed
      ✗ bash touch made: Refused: tool-access does not let `bash`: tool-access.json cannot be used, so nothing is on
    ");
    assert!(!story.path("made").exists());
}

#[test]
fn a_question_shows_control_characters_as_escapes() {
    let story = story();
    script(&story, "s.jsonl", &[line("", &["touch made\u{1b}[2K\u{202e}"])]);
    story.run("run --model scripted:s.jsonl hello");
    let shown = story.out("approvals");
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown:?}");
}

#[test]
fn a_person_may_change_the_arguments_and_the_record_has_both() {
    let (story, approval) = waits();
    story.out(&format!("answer {approval} yes --edit '{{\"command\": \"touch other\"}}'"));
    insta::assert_snapshot!(ids(&story.run("resume --last")), @"
    exit 0
    --- stdout
    Over.
    --- stderr
    run_1: resumed
      ✓ bash touch made: [no output]
    ");
    assert!(story.path("other").exists() && !story.path("made").exists());
    let record = story.json(&format!("show run {} --format json", latest(&story)));
    let call = &record["steps"][0]["tool_calls"][0];
    assert_eq!(call["input"]["command"], "touch made");
    assert_eq!(call["edited"]["input"]["command"], "touch other");
    assert_eq!(call["permit"]["approval"], approval.as_str());
    all_is_recorded(&story);
}

#[test]
fn changed_arguments_that_are_dangerous_are_refused() {
    let (story, approval) = waits();
    story.out(&format!("answer {approval} yes --edit '{{\"command\": \"rm -rf /\"}}'"));
    insta::assert_snapshot!(ids(&story.run("resume --last")), @r#"
    exit 0
    --- stdout
    Over.
    --- stderr
    run_1: resumed
      ✗ bash touch made: [A person changed the arguments of this call to {"command":"rm -rf /"}]
        Refused: it reaches everything on the machine
    "#);
    all_is_recorded(&story);
}

#[test]
fn changed_arguments_go_with_a_plain_yes() {
    let (story, approval) = waits();
    let all: Vec<String> = [
        format!("answer {approval} no --edit '{{}}'"),
        format!("answer {approval} yes --session --edit '{{}}'"),
        format!("answer {approval} yes --edit '[1]'"),
        format!("answer {approval} yes --edit '{{'"),
        format!("requests approve {approval}"),
    ]
    .iter()
    .map(|command| story.run(command))
    .collect();
    insta::assert_snapshot!(ids(&all.join("\n")), @r#"
    exit 2
    --- stderr
    error: changed arguments go with a yes

    exit 2
    --- stderr
    error: changed arguments go with a yes for this call only

    exit 2
    --- stderr
    error: --edit is not a JSON object: `[1]` is not an object
     help: write --edit '{"command": "ls"}'

    exit 2
    --- stderr
    error: --edit is not a JSON object: EOF while parsing an object at line 1 column 1
     help: write --edit '{"command": "ls"}'

    exit 2
    --- stderr
    error: `apr_1` is about the agent's own call, not a request for permission
     help: agentry answer apr_1 yes|no
    "#);
    assert_eq!(waiting(&story), [approval]);
}
