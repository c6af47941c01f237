//! Holes of the attack review: approvals.
//!
//! X11: an approval is for the content that will be executed. X20: only so many questions wait at once.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use super::{bash, project, run, script};
use crate::story::Story;

const ASKS: &str = "    - { tool: Read, allow: true }\n";

/// A project whose agent asked about a command and got a yes that was not used yet: the run.
fn approved(story: &Story, call: Value, answer: &str) -> String {
    script(story, &[call]);
    let ran = run(story, "n", "");
    assert_eq!(ran.code, Some(4), "{}\n{}", ran.out, ran.err);
    let waiting = only_waiting(story);
    story.out(&format!("answer {} {answer}", waiting["id"].as_str().expect("it has an id")));
    waiting["runId"].as_str().expect("it has a run").to_owned()
}

fn only_waiting(story: &Story) -> Value {
    let waiting = story.json("approvals --format json");
    let waiting = waiting.as_array().expect("a list").clone();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    waiting[0].clone()
}

/// Resumes a run that must ask again, and say what changed.
fn asks_again(story: &Story, run: &str, kind: &str, name: &str) -> Value {
    let ran = story.ran_in("", &format!("resume {run}"));
    assert_eq!(ran.code, Some(4), "{}\n{}", ran.out, ran.err);
    let waiting = only_waiting(story);
    let change = waiting["changes"].as_array().into_iter().flatten();
    let mut change = change.filter(|one| one["kind"] == kind && one["name"] == name);
    let change = change.next().unwrap_or_else(|| panic!("no change of {name}: {waiting}"));
    assert_ne!(change["was"], change["is"], "{change}");
    let why = story.out("approvals");
    assert!(why.contains(name), "{why}");
    waiting
}

#[test]
fn x11_a_script_that_changed_after_the_yes_is_asked_about_again_with_the_difference() {
    let story = Story::new("");
    project(&story, "n", ASKS);
    story.file("n/b.sh", b"echo ok\n");
    let run = approved(&story, bash("sh ./b.sh"), "yes");
    story.file("n/b.sh", b"touch CHANGED\n");
    let waiting = asks_again(&story, &run, "file", "b.sh");
    assert!(waiting["changes"].to_string().contains("+touch CHANGED"), "{waiting}");
    assert!(!story.path("n/CHANGED").exists());
    story.out(&format!("answer {} yes", waiting["id"].as_str().expect("it has an id")));
    story.out(&format!("resume {run}"));
    assert!(story.path("n/CHANGED").exists());
    assert!(story.out(&format!("replay {run}")).contains("identical"));
}

#[test]
fn x11_an_unchanged_call_runs_after_the_yes() {
    let story = Story::new("");
    project(&story, "n", ASKS);
    story.file("n/b.sh", b"touch RAN\n");
    let run = approved(&story, bash("sh ./b.sh"), "yes");
    story.out(&format!("resume {run}"));
    assert!(story.path("n/RAN").exists());
}

#[test]
fn x11_a_makefile_an_executable_and_a_package_are_part_of_the_question() {
    for (command, name, first, then) in [
        ("make", "Makefile", "all:\n\t@true\n", "all:\n\ttouch CHANGED\n"),
        ("./tool", "tool", "#!/bin/sh\n", "#!/bin/sh\ntouch CHANGED\n"),
        ("timeout 5 ./tool", "tool", "#!/bin/sh\n", "#!/bin/sh\ntouch CHANGED\n"),
        ("npm run x", "package.json", "{}", "{\"scripts\":{\"x\":\"touch CHANGED\"}}"),
        ("cd sub && sh a.sh", "sub/a.sh", "true\n", "touch ../CHANGED\n"),
        ("python3 a.py", "a.py", "1\n", "open('CHANGED','w')\n"),
    ] {
        let story = Story::new("");
        project(&story, "n", ASKS);
        let put = |text: &str| {
            story.file(&format!("n/{name}"), text.as_bytes());
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(story.path(&format!("n/{name}")), mode).unwrap();
        };
        put(first);
        let run = approved(&story, bash(command), "yes");
        put(then);
        asks_again(&story, &run, "file", name);
        assert!(!story.path("n/CHANGED").exists(), "{command}");
    }
}

#[test]
fn x11_a_file_of_instructions_that_came_after_the_yes_is_asked_about() {
    let story = Story::new("");
    project(&story, "n", ASKS);
    let run = approved(&story, bash("make"), "yes");
    story.file("n/Makefile", b"all:\n\ttouch CHANGED\n");
    let ran = story.ran_in("", &format!("resume {run}"));
    assert_eq!(ran.code, Some(4), "{}\n{}", ran.out, ran.err);
    assert!(!story.path("n/CHANGED").exists());
}

#[test]
fn x11_a_working_directory_that_was_exchanged_is_asked_about_again() {
    let story = Story::new("");
    project(&story, "n", ASKS);
    story.file("n/d/f", b"");
    story.file("n/other/f", b"");
    let call = json!({ "name": "Bash", "input": { "command": "touch RAN", "cwd": "d" } });
    let run = approved(&story, call, "yes");
    fs::rename(story.path("n/d"), story.path("n/old")).unwrap();
    symlink("other", story.path("n/d")).unwrap();
    asks_again(&story, &run, "directory", "d");
    assert!(!story.path("n/other/RAN").exists());
}

#[test]
fn x11_a_definition_without_the_tool_does_not_run_it() {
    let story = Story::new("");
    project(&story, "n", ASKS);
    let run = approved(&story, bash("touch RAN"), "yes");
    let file = "n/.agentry/agents/b/AGENT.md";
    let text = story.read(file).replace(", Bash]", "]");
    story.file(file, text.as_bytes());
    let ran = story.ran_in("", &format!("resume {run}"));
    assert!(!story.path("n/RAN").exists(), "{}\n{}", ran.out, ran.err);
    assert!(format!("{}{}", ran.out, ran.err).contains("does not have the tool"), "{}", ran.err);
}

#[test]
fn x11_a_definition_that_changed_is_asked_about_again() {
    let story = Story::new("");
    project(&story, "n", ASKS);
    let run = approved(&story, bash("touch RAN"), "yes");
    let file = "n/.agentry/agents/b/AGENT.md";
    let text = story.read(file).replace("\nx\n", "\nOther instructions.\n");
    story.file(file, text.as_bytes());
    asks_again(&story, &run, "definition", "AGENT.md");
    assert!(!story.path("n/RAN").exists());
}

#[test]
fn x11_a_yes_for_the_session_is_for_the_same_content() {
    let story = Story::new("");
    project(&story, "n", ASKS);
    story.file("n/b.sh", b"echo ok\n");
    script(&story, &[bash("sh ./b.sh")]);
    assert_eq!(run(&story, "n", "--session s").code, Some(4));
    let waiting = only_waiting(&story);
    story.out(&format!("answer {} yes --session", waiting["id"].as_str().expect("it has an id")));
    story.out(&format!("resume {}", waiting["runId"].as_str().expect("it has a run")));
    // The same content is not asked about again.
    assert_eq!(run(&story, "n", "--session s").code, Some(0));
    story.file("n/b.sh", b"touch CHANGED\n");
    assert_eq!(run(&story, "n", "--session s").code, Some(4));
    let again = only_waiting(&story);
    assert!(again["changes"].to_string().contains("b.sh"), "{again}");
    assert!(!story.path("n/CHANGED").exists());
}

#[test]
fn x11_the_agent_cannot_change_what_it_asks_about_while_the_question_waits() {
    let story = Story::new("");
    project(&story, "n", "    - { tool: Write, allow: true }\n");
    story.file("n/b.sh", b"echo ok\n");
    let calls = json!([
        bash("sh ./b.sh"),
        { "name": "Write", "input": { "path": "b.sh", "content": "touch CHANGED\n" } },
    ]);
    let lines = [json!({ "text": "t", "tool_calls": calls }), json!({ "text": "done" })];
    story.file("x.jsonl", lines.map(|line| line.to_string()).join("\n").as_bytes());
    assert_eq!(run(&story, "n", "").code, Some(4));
    let waiting = only_waiting(&story);
    story.out(&format!("answer {} yes", waiting["id"].as_str().expect("it has an id")));
    asks_again(&story, waiting["runId"].as_str().expect("it has a run"), "file", "b.sh");
    assert!(!story.path("n/CHANGED").exists());
}

#[test]
fn x20_only_twenty_questions_wait_at_once() {
    let story = Story::new("");
    project(&story, "n", ASKS);
    let calls: Vec<Value> = (0..200).map(|number| bash(&format!("touch f{number}"))).collect();
    let lines = [json!({ "text": "t", "tool_calls": calls }), json!({ "text": "done" })];
    story.file("x.jsonl", lines.map(|line| line.to_string()).join("\n").as_bytes());
    let ran = run(&story, "n", "--json");
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    let waiting = story.json("approvals --format json");
    assert_eq!(waiting.as_array().map(Vec::len), Some(20));
    assert!(ran.out.contains("20 questions wait for an answer already"), "{}", ran.out);
}
