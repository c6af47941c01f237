//! What the stories of runs share: an agent, scripts, and a look at what was recorded.

use serde_json::Value;

use crate::story::Story;

/// Globs, reads, and some commands go ahead; all else is asked.
pub(crate) const BUILDER: &str = "
    --- .agentry/agents/builder/AGENT.md
    ---
    name: Builder
    tools: [Read, Glob, Bash, Write]
    tool_approvals:
      rules:
        - {tool: Glob, allow: true}
        - {tool: Bash, allow: true, when: {command: {startsWith: 'echo '}}}
        - {tool: Bash, allow: true, when: {command: {startsWith: 'cat '}}}
        - {tool: Bash, allow: true, when: {command: {startsWith: 'sleep '}}}
    ---
    You build.
    --- src/a.txt
    one
    ";

/// A project with the builder, where any command may be considered.
pub(crate) fn story() -> Story {
    Story::new(BUILDER).with("SHELL_TOOL_MODE", "full")
}

/// One line of a script: a text, and commands.
pub(crate) fn line(text: &str, commands: &[&str]) -> String {
    let calls = commands
        .iter()
        .map(|command| serde_json::json!({ "name": "Bash", "input": { "command": command } }));
    let calls: Vec<Value> = calls.collect();
    serde_json::json!({ "text": text, "tool_calls": calls }).to_string()
}

/// Writes a script.
pub(crate) fn script(story: &Story, name: &str, lines: &[String]) {
    story.file(name, lines.join("\n").as_bytes());
}

/// The id of the latest run.
pub(crate) fn latest(story: &Story) -> String {
    let runs = story.json("show --format json");
    runs[0]["run_id"].as_str().expect("there is a run").to_owned()
}

/// The ids of what waits for an answer.
pub(crate) fn waiting(story: &Story) -> Vec<String> {
    let waiting = story.json("approvals --format json");
    let waiting = waiting.as_array().expect("it is a list").iter();
    waiting.map(|one| one["id"].as_str().expect("it has an id").to_owned()).collect()
}

/// The entries of a run, a session or a turn.
pub(crate) fn entries(story: &Story, kind: &str, id: &str) -> Vec<Value> {
    let out = story.out(&format!("show {kind} {id} --format json"));
    match kind {
        // A run as JSON is its record; its entries are those of its session.
        "run" => panic!("ask for the session or the turn"),
        _ => out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(),
    }
}

/// The ledger is whole, and every run plays the same again.
pub(crate) fn all_is_recorded(story: &Story) {
    let whole = story.out("ledger verify");
    assert!(whole.starts_with("verified: "), "{whole}");
    for run in story.json("show --format json").as_array().expect("it is a list") {
        let id = run["run_id"].as_str().expect("it has an id");
        let played = story.out(&format!("replay {id}"));
        assert!(played.starts_with("identical: "), "{id}: {played}");
    }
}

#[test]
fn the_record_of_a_run_names_what_was_used_and_done() {
    let story = story();
    script(&story, "s.jsonl", &[line("", &["echo hi"]), line("Said hi.", &[])]);
    story.run("run --model scripted:s.jsonl hello");
    let record = story.json(&format!("show run {} --format json", latest(&story)));
    assert_eq!(record["agent"]["id"], "builder");
    assert_eq!(record["task"], Value::Null);
    assert_eq!(record["status"], "completed");
    assert!(record["created_at"].as_str().is_some_and(|time| time.ends_with('Z')), "{record}");
    let step = &record["steps"][0];
    assert_eq!((&step["step_id"], &step["uses"]), (&"s1".into(), &"prompt".into()));
    assert_eq!(step["output"], "Said hi.");
    let call = &step["tool_calls"][0];
    assert_eq!(call["tool"], "bash");
    assert_eq!(call["permit"]["rule"], ".agentry/agents/builder/AGENT.md:7");
    assert_eq!(call["outcome"]["text"], "hi\n");
    let files = record["files"].as_object().expect("files have hashes");
    assert!(files.values().all(|hash| hash.as_str().is_some_and(|one| one.starts_with("blake3:"))));
    all_is_recorded(&story);
}

#[test]
fn a_run_is_followed_from_another_process_until_it_ends() {
    let story = story();
    story.gate("gate");
    script(&story, "s.jsonl", &[line("", &["cat gate"]), line("Done.", &[])]);
    let mut running = story.talk("run --json --model scripted:s.jsonl hello");
    let run = running.hear("init")["runId"].as_str().expect("it has an id").to_owned();
    running.hear("tool_use");
    let mut follower = story.talk(&format!("show run {run} --follow"));
    follower.hear_line("prompt: hello");
    story.open_gate("gate", "open");
    running.hear("done");
    assert_eq!(running.end().code, Some(0));
    // It ends by itself: the run is over.
    let followed = follower.end();
    assert_eq!(followed.code, Some(0));
    assert!(followed.out.trim_end().ends_with("run ended: done"), "{}", followed.out);
}

#[test]
fn a_home_that_cannot_be_made_is_said_at_once() {
    let story = story();
    story.file("file", b"");
    let home = story.path("file/home").display().to_string();
    let story = story.with("AGENTRY_HOME", &home);
    script(&story, "s.jsonl", &[line("Hi.", &[])]);
    insta::assert_snapshot!(story.run("run --model scripted:s.jsonl hello"), @"
    exit 1
    --- stderr
    error: cannot make [tmp]/work/file/home: Not a directory (os error 20); check its permissions and the disk
    ");
    insta::assert_snapshot!(story.run("show"), @"
    exit 1
    --- stderr
    error: cannot make [tmp]/work/file/home: Not a directory (os error 20); check its permissions and the disk
    ");
}

#[test]
fn a_session_has_one_owner_at_a_time() {
    let story = story();
    story.gate("gate");
    script(&story, "s.jsonl", &[line("", &["cat gate"]), line("Done.", &[])]);
    let mut running = story.talk("run --json --session desk --model scripted:s.jsonl one");
    running.hear("tool_use");
    let second = story.run("run --session desk --model scripted:s.jsonl two");
    insta::assert_snapshot!(crate::story::ids(&second), @"
    exit 2
    --- stderr
    error: the session ses_1 is in use by process …
    ");
    story.open_gate("gate", "open");
    assert_eq!(running.end().code, Some(0));
    assert_eq!(story.json("show --format json").as_array().map(Vec::len), Some(1));
    all_is_recorded(&story);
}

#[test]
fn a_fork_leaves_the_session_it_came_from() {
    let story = story();
    script(&story, "s.jsonl", &[line("One.", &[])]);
    story.out("run --session desk --model scripted:s.jsonl first");
    story.out("run --session desk --model scripted:s.jsonl second");
    let sessions = story.json("show session --format json");
    let head = sessions[0]["head"].clone();
    let turns: Vec<Value> = entries(&story, "session", "desk")
        .into_iter()
        .filter(|entry| entry["event"]["type"] == "turn_started")
        .collect();
    let first = turns[0]["turnId"].as_str().expect("a turn has an id");
    story.out(&format!("fork {first} --session branch"));
    story.out("run --session branch --model scripted:s.jsonl other");
    let sessions = story.json("show session --format json");
    let named = |key: &str| {
        let found = sessions.as_array().expect("a list").iter().find(|one| one["key"] == key);
        found.expect("the session is there").clone()
    };
    assert_eq!(named("desk")["head"], head);
    assert_eq!(named("desk")["turns"], 2);
    let branch = entries(&story, "session", "branch");
    let started = branch.iter().find(|entry| entry["event"]["type"] == "turn_started");
    let started = &started.expect("a turn began")["event"];
    assert_eq!(started["parent"], first);
    all_is_recorded(&story);
}
