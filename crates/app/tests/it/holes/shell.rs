//! Holes of the attack review: rules for the beginning of a command (X8).

use serde_json::json;

use super::{bash, project, run, script};
use crate::story::Story;

const RULES: &str = "    - { tool: Bash, allow: true, when: { command: { startsWith: \"ls\" } } }
    - { tool: Bash, allow: true, when: { command: { startsWith: \"echo\" } } }
    - { tool: Bash, allow: true, when: { command: { startsWith: \"git rebase\" } } }
    - { tool: Bash, allow: true, when: { command: { startsWith: \"sort\" } } }
    - { tool: Bash, allow: true, when: { command: { startsWith: \"curl\" } } }
";

/// A repository with two commits, a folder `ls` and a script that leaves a mark.
fn scene(more: &str) -> Story {
    let story = Story::new(
        "--- al/run.sh +x\n#!/bin/sh\ntouch PWN1\n--- al/ls/evil.sh +x\n#!/bin/sh\ntouch PWN1\n",
    );
    project(&story, "al", RULES);
    let access = "al/.agentry/agents/b/context/tool-access.json";
    if more.is_empty() {
        std::fs::remove_file(story.path(access)).expect("the file is there")
    } else {
        story.file(access, more.as_bytes())
    }
    story.git("al", &["init", "-q"]);
    for message in ["one", "two"] {
        story.git("al", &["commit", "-q", "--allow-empty", "-m", message]);
    }
    story
}

/// The attacks of the review, and other spellings of them.
const ATTACKS: [&str; 7] = [
    "ls/../run.sh",
    "ls/evil.sh",
    "echo x > /dev/fd/../../self/cwd/PWN2",
    "git rebase -x'touch PWN3' HEAD~1",
    "git rebase -qx 'touch PWN3' HEAD~1",
    "sort --o=PWN4 run.sh",
    "curl --dump-h PWN5 http://127.0.0.1:1/",
];

#[track_caller]
fn check_asked(story: &Story, command: &str) {
    script(story, &[bash(command)]);
    let ran = run(story, "al", "-c sandbox.git=write");
    assert_eq!(ran.code, Some(4), "{command}: {}{}", ran.out, ran.err);
    assert!(!story.tree("al").contains("PWN"), "{command}: {}", story.tree("al"));
    let args = json!({ "command": command.replace('\'', "\"") }).to_string();
    let told = story.ran_in("", &format!("policy explain al --tool Bash --args '{args}'"));
    assert_eq!(told.code, Some(4), "{command}: {}", told.out);
}

#[test]
fn a_rule_for_a_beginning_covers_neither_another_program_nor_options_that_act() {
    let story = scene("");
    for command in ATTACKS {
        check_asked(&story, command);
    }
    script(&story, &[bash("ls -la"), bash("echo x 2>&1"), bash("git rebase HEAD~1")]);
    let ran = run(&story, "al", "-c sandbox.git=write");
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
}

#[test]
fn a_list_of_prefixes_covers_no_more_than_rules_do() {
    let story = scene(
        r#"{"tools":{"shell":{"enabled":true,"mode":"allowlist","allowedPrefixes":["ls","sort","git rebase"]}}}"#,
    );
    for command in ["sort --o=PWN4 run.sh", "git rebase -qx 'touch PWN3' HEAD~1"] {
        script(&story, &[bash(command)]);
        let ran = run(&story, "al", "-c sandbox.git=write");
        assert_ne!(ran.code, Some(0), "{command}: {}{}", ran.out, ran.err);
        assert!(!story.tree("al").contains("PWN"), "{command}: {}", story.tree("al"));
    }
}
