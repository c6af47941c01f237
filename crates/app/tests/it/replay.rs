//! `agentry replay`: recorded runs, played to the files of today.

use crate::record::{BUILDER, all_is_recorded, latest, line, script, story};
use crate::story::{Story, ids};

fn ran() -> (Story, String) {
    let story = story();
    script(&story, "s.jsonl", &[line("", &["echo hi"]), line("Said.", &[])]);
    story.out("run --model scripted:s.jsonl hello");
    let run = latest(&story);
    (story, run)
}

#[test]
fn a_run_plays_the_same_on_the_same_files() {
    let (story, run) = ran();
    insta::assert_snapshot!(story.run(&format!("replay {run}")), @"
    exit 0
    --- stdout
    identical: 5 moves; current code and files make the same decisions
    ");
    // Nothing is done or asked again: the script may go.
    std::fs::remove_file(story.path("s.jsonl")).expect("the script can go");
    all_is_recorded(&story);
}

#[test]
fn another_text_of_the_agent_is_another_request() {
    let (story, run) = ran();
    story.write(&BUILDER.replace("You build.", "You destroy."));
    let replayed = story.ran_in("", &format!("replay {run}"));
    assert_eq!(replayed.code, Some(1));
    let lines: Vec<&str> = replayed.out.lines().collect();
    let [first, recorded, today] = lines.as_slice() else { panic!("{}", replayed.out) };
    assert_eq!(*first, "different after 0 moves");
    assert!(recorded.starts_with(r#"  recorded: {"type":"model_asked","step":1"#), "{recorded}");
    assert!(today.starts_with(r#"  today:    {"type":"model_asked","step":1"#), "{today}");
    assert_ne!(recorded.split_once(": "), today.split_once(": "));
}

#[test]
fn another_rule_is_another_verdict() {
    let (story, run) = ran();
    story.write(&BUILDER.replace("startsWith: 'echo '", "startsWith: 'print '"));
    let replayed = story.ran_in("", &format!("replay {run}"));
    assert_eq!(replayed.code, Some(1));
    let verdict = |side: usize| {
        let line = replayed.out.lines().nth(side).expect("both sides are shown");
        let (_, json) = line.split_once(": ").expect("a side has a name");
        let event: serde_json::Value = serde_json::from_str(json.trim()).expect("a move is JSON");
        event["ruling"]["verdict"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!((verdict(1).as_str(), verdict(2).as_str()), ("allow", "ask"), "{}", replayed.out);
}

#[test]
fn a_rule_that_only_moved_is_the_same_rule() {
    let (story, run) = ran();
    let moved = "rules:\n        - {tool: Write, allow: false}";
    story.write(&BUILDER.replace("rules:", moved));
    let replayed = story.run(&format!("replay {run}"));
    assert!(replayed.starts_with("exit 0"), "{replayed}");
}

#[test]
fn an_agent_that_is_gone_is_said_to_be() {
    let (story, run) = ran();
    std::fs::remove_dir_all(story.path(".agentry/agents/builder")).expect("the agent can go");
    insta::assert_snapshot!(ids(&story.run(&format!("replay {run}"))), @"
    exit 2
    --- stderr
    error: there is no agent `builder`; there are:
    ");
}
