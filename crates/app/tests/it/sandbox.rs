//! The sandbox as a person and a model see it: what it refuses is named, and what it undid is told.

use serde_json::{Value, json};

use crate::record::{entries, latest, script};
use crate::story::Story;

/// An agent that may do everything that the sandbox lets it.
const FREE: &str = "
    --- .agentry/agents/free/AGENT.md
    ---
    name: Free
    tools: [Bash, Read, Write]
    tool_approvals: {rules: [{tool: Bash, allow: true}, {tool: Read, allow: true}, {tool: Write, allow: true}]}
    ---
    Work.
    --- notes.txt
    a note
    --- .env
    TOKEN=hidden-from-agents
    ";

fn free() -> Story {
    Story::new(FREE).with("SHELL_TOOL_MODE", "full")
}

/// Makes one call, and gives its outcome.
fn outcome(story: &Story, tool: &str, input: &Value) -> Value {
    let call = json!({"tool_calls": [{"name": tool, "input": input}]}).to_string();
    script(story, "one.jsonl", &[call, json!({"text": "Done."}).to_string()]);
    story.ran_in("", "run --model scripted:one.jsonl work");
    let all = entries(story, "session", &latest(story));
    let finished = all.iter().rev().find(|one| one["event"]["type"] == "call_finished");
    finished.unwrap_or_else(|| panic!("no outcome in {all:?}"))["event"]["outcome"].clone()
}

fn bash(story: &Story, command: &str) -> Value {
    outcome(story, "Bash", &json!({"command": command}))
}

fn text(outcome: &Value) -> &str {
    outcome["text"].as_str().expect("an outcome has a text")
}

#[test]
fn the_doctor_tries_every_level_and_says_which_is_used() {
    let doctor = free().json("doctor --format json");
    assert_eq!(doctor["used"], "ns", "{doctor}");
    let levels = doctor["levels"].as_array().expect("levels are listed");
    assert_eq!(levels.len(), 3);
    for level in levels.iter().filter(|level| level["works"] == true) {
        let escapes = level["attestation"]["escapes"].as_array().expect("escapes are listed");
        assert!(escapes.len() >= 20, "{level}");
        assert!(escapes.iter().all(|escape| escape["stopped"] == true), "{level}");
    }
}

#[test]
fn a_command_that_is_tried_ends_as_it_would_and_a_refusal_is_named() {
    let story = free();
    let ran = |command: &str| story.ran_in("", &format!("sandbox run {command}"));
    assert_eq!(ran("-- sh -c 'exit 7'").code, Some(7));
    assert_eq!(ran("-- there-is-no-such-program").code, Some(127));
    assert_eq!(ran("-- /etc/hostname").code, Some(126));
    assert_eq!(ran("--timeout 1 -- sleep 600").code, Some(124));
    let refused = ran("-- sh -c 'echo x > notes.txt'");
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("denied by sandbox: "), "{}", refused.err);
    assert!(refused.err.contains("notes.txt may not be written"), "{}", refused.err);
    assert_eq!(story.read("notes.txt"), "a note\n");
    let allowed = ran("--allow-write . -- sh -c 'echo x > notes.txt; cat notes.txt'");
    assert_eq!((allowed.code, &*allowed.out), (Some(0), "x\n"), "{}", allowed.err);
    assert_eq!(ran("--allow-write no/such/place -- true").code, Some(2));
}

#[test]
fn what_a_run_confines_by_is_recorded_with_the_run_and_with_each_call() {
    let story = free();
    bash(&story, "true");
    let all = entries(&story, "session", &latest(&story));
    let opened = all.iter().find(|one| one["event"]["type"] == "sandbox_opened");
    let attestation = &opened.expect("the sandbox was opened")["event"]["attestation"];
    assert_eq!(attestation["level"], "ns");
    let turn = all.iter().find(|one| one["event"]["type"] == "turn_started");
    let turn = &turn.expect("a turn began")["event"];
    let confinement = &turn["charter"]["authority"]["confinement"];
    assert!(confinement["allow_write"][0].as_str().is_some_and(|path| path.ends_with("/work")));
    let started = all.iter().find(|one| one["event"]["type"] == "call_started");
    let under = &started.expect("a call was made")["event"]["under"];
    assert_eq!(under["level"], "ns");
    assert!(under["hash"].as_str().is_some_and(|hash| hash.starts_with("blake3:")), "{under}");
}

#[test]
fn a_path_that_was_refused_is_named_to_the_model() {
    let story = free();
    let read = bash(&story, "cat /etc/shadow");
    assert_eq!(read["status"], "failed");
    assert!(text(&read).contains("[denied by sandbox: /etc/shadow may not be read]"), "{read}");
    story.file("plant.sh", b"echo x > /usr/planted");
    let written = bash(&story, "bash plant.sh");
    assert!(
        text(&written).contains("[denied by sandbox: /usr/planted may not be written]"),
        "{written}"
    );
    let hidden = bash(&story, "cat .env; cat /proc/1/environ");
    assert!(!text(&hidden).contains("hidden-from-agents"), "{hidden}");
    let state = story.home(".local/state/agentry").display().to_string();
    let own = bash(&story, &format!("ls {state}"));
    assert_eq!(own["status"], "failed", "{own}");
    assert!(text(&own).contains("denied by sandbox"), "{own}");
}

#[test]
fn a_host_that_was_refused_is_named_and_recorded() {
    let story = free();
    let ask = r"exec 3<>/dev/tcp/127.0.0.1/3128 &&
        printf 'CONNECT example.test:443 HTTP/1.1\r\nHost: example.test:443\r\n\r\n' >&3 && cat <&3";
    story.file("ask.sh", ask.as_bytes());
    let refused = bash(&story, "bash ask.sh");
    assert!(text(&refused).contains("403"), "{refused}");
    let line = "[denied by sandbox: example.test:443: the host is not among the allowed domains]";
    assert!(text(&refused).contains(line), "{refused}");
    let all = entries(&story, "session", &latest(&story));
    let ended: Vec<&Value> =
        all.iter().filter(|one| one["event"]["type"] == "connection_ended").collect();
    assert_eq!(ended.len(), 1, "{all:?}");
    let connection = &ended[0]["event"]["connection"];
    assert_eq!((&connection["host"], &connection["port"]), (&json!("example.test"), &json!(443)));
    assert_eq!(connection["refused"], "the host is not among the allowed domains");
}

#[test]
fn what_is_planted_is_taken_away_and_the_call_fails() {
    let story = free();
    let planted = bash(&story, "echo evil > .exrc; mkdir -p sub/.git/hooks; echo ok");
    assert_eq!(planted["status"], "failed", "{planted}");
    assert_eq!(text(&planted).matches("policy_violation").count(), 2, "{planted}");
    assert!(!story.path(".exrc").exists() && !story.path("sub/.git").exists());
    assert_eq!(bash(&story, "echo ok")["status"], "done");
}

#[test]
fn file_tools_keep_to_the_same_confinement() {
    let story = free();
    let write = |path: &str| outcome(&story, "Write", &json!({"path": path, "content": "x"}));
    for path in [".exrc", "sub/.envrc", "sub/.vscode/tasks.json"] {
        let refused = write(path);
        assert_eq!(refused["status"], "refused", "{path}: {refused}");
        assert!(text(&refused).contains("denied by sandbox"), "{path}: {refused}");
        assert!(!story.path(path).exists(), "{path}");
    }
    // What a program writes is refused like what the tool writes.
    story.file("define.sh", b"cp notes.txt .agentry/agents/free/AGENT.md");
    let defined = bash(&story, "bash define.sh");
    assert_eq!(defined["status"], "failed", "{defined}");
    assert_eq!(write("sub/new.txt")["status"], "done");
    let secret = outcome(&story, "Read", &json!({"path": ".env"}));
    assert_eq!(secret["status"], "refused", "{secret}");
    assert!(text(&secret).contains("denied by sandbox"), "{secret}");
}

#[test]
fn a_request_that_is_left_out_is_told() {
    let story = free();
    story.file("agentry.toml", b"[sandbox.security]\nallowedDomains = [\"example.com\"]\n");
    script(&story, "s.jsonl", &[json!({"text": "Done."}).to_string()]);
    let ran = story.ran_in("", "run --model scripted:s.jsonl work");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("warning: the project asks for `example.com`"), "{}", ran.err);
    let explained = story.out("sandbox explain");
    assert!(explained.contains("reaches    nothing"), "{explained}");
    assert!(explained.contains("left out: the project asks for `example.com`"), "{explained}");
}

#[test]
fn without_a_sandbox_that_is_good_enough_nothing_runs_and_it_says_why() {
    let story = free().with("AGENTRY_SANDBOX_LIMITS_STRICT", "true");
    let doctor = story.json("doctor --format json");
    let limits =
        doctor["levels"][0]["attestation"]["limits"].as_array().expect("limits are listed");
    if limits.iter().all(|limit| limit["hard"] == true) {
        println!("skipped: every limit is hard on this machine");
        return;
    }
    script(
        &story,
        "s.jsonl",
        &[
            json!({"tool_calls": [{"name": "Bash", "input": {"command": "touch made"}}]})
                .to_string(),
            json!({"text": "Done."}).to_string(),
        ],
    );
    let ran = story.ran_in("", "run --model scripted:s.jsonl work");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.err.contains("warning: no sandbox: sandbox.limits.strict is set"), "{}", ran.err);
    assert!(ran.err.contains("agentry doctor"), "{}", ran.err);
    assert!(!story.path("made").exists());
}

#[test]
fn a_key_that_interrupts_ends_the_command_and_not_its_sandbox() {
    let story = free();
    story.gate("gate");
    story.gate("written");
    let command = "cat gate; cat written; sleep 600";
    let call = json!({"tool_calls": [{"name": "Bash", "input": {"command": command}}]});
    script(&story, "s.jsonl", &[call.to_string(), json!({"text": "Never."}).to_string()]);
    let mut running = story.talk("run --json --model scripted:s.jsonl work");
    running.hear("tool_use");
    story.open_gate("gate", "the command runs");
    // Its reader starts only when the text of the first is written.
    story.open_gate("written", "");
    running.interrupt();
    let outcome = running.hear("tool_result");
    assert_eq!(outcome["outcome"], "stopped", "{outcome}");
    let output = outcome["output"].as_str().unwrap_or_default();
    assert!(output.starts_with("the command runs"), "{outcome}");
    assert!(output.contains("all its processes were ended"), "{outcome}");
    assert_eq!(running.end().code, Some(7));
}
