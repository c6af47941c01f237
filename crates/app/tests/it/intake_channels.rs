//! A channel's program with the real server: events come in once, and answers go out in pieces.

use std::fs;

use serde_json::{Value, json};

use crate::record::{line, script};
use crate::story::{Story, Talk};

/// A program that hands in what stands in a file, sends what it is told, and notes every line it reads.
const ADAPTER: &str = r#"
import json, sys
for line in open("in.jsonl"):
    print(line.strip(), flush=True)
notes = open("notes.jsonl", "a")
for line in sys.stdin:
    told = json.loads(line)
    notes.write(line)
    notes.flush()
    if told["type"] == "send":
        if told["content"].startswith("lost"):
            error = {"type": "not_found", "target": "nobody"}
            print(json.dumps({"type": "failed", "id": told["id"], "error": error}), flush=True)
        else:
            print(json.dumps({"type": "sent", "id": told["id"], "message_id": "m-" + told["id"]}), flush=True)
"#;

fn story(answer: &str, events: &[Value]) -> Story {
    let story = Story::new(
        "
        --- .agentry/agents/host/AGENT.md
        ---
        name: Host
        ---
        You answer.
        --- .agentry/access/open.yml
        policies:
          - name: open
            match: {principal: {unknown: true}}
            effect: allow
            permissions: {tools: []}
            session: {key: '{channel}:{peer_id}'}
            priority: 50
        ",
    );
    script(&story, "s.jsonl", &[line(answer, &[])]);
    story.file("adapter.py", ADAPTER.as_bytes());
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    story.file("in.jsonl", lines.join("\n").as_bytes());
    let settings = story.home(".config/agentry/agentry.toml");
    fs::create_dir_all(settings.parent().expect("it lies below")).expect("it can be made");
    let text = "[channels.tg]\ncommand = [\"python3\", \"adapter.py\"]\ntext_limit = 40\n";
    fs::write(settings, text).expect("it can be written");
    story
}

fn event(id: &str, content: &str) -> Value {
    json!({
        "type": "event", "source_id": id, "sender_id": "ann", "peer_id": "ann",
        "peer_kind": "dm", "content": content,
    })
}

fn served(story: &Story) -> Talk {
    let mut server = story.talk("serve --model scripted:s.jsonl");
    server.hear_line("ready");
    server
}

fn until(story: &Story, event: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    for _ in 0..2_000 {
        let ran = story.ran_in("", &format!("trace {event} --json"));
        last = serde_json::from_str(&ran.out).unwrap_or(Value::Null);
        if wanted(&last) {
            return last;
        }
    }
    panic!("{event} does not get there: {last:#}");
}

fn delivery(trace: &Value) -> &Value {
    let stages = trace["pipeline"].as_array().map(Vec::as_slice).unwrap_or_default();
    stages.iter().find(|stage| stage["stage"] == "delivery").unwrap_or(&Value::Null)
}

fn is_sent(trace: &Value) -> bool {
    delivery(trace)["data"]["chunks"].is_number()
}

/// What the program was told, of one kind.
fn told(story: &Story, kind: &str) -> Vec<Value> {
    let lines = fs::read_to_string(story.path("notes.jsonl")).unwrap_or_default();
    let all = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
    all.filter(|line| line["type"] == kind).collect()
}

fn stop(server: Talk) {
    server.interrupt();
    let ran = server.end();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn an_event_of_a_channel_is_acknowledged_and_answered_in_pieces() {
    let answer = "This is the first sentence of it. This is the second, and this is the last.";
    let story = story(answer, &[event("1", "Hello")]);
    let server = served(&story);
    let trace = until(&story, "tg:1", is_sent);
    stop(server);
    let acks = told(&story, "ack");
    assert_eq!(acks.len(), 1);
    assert_eq!(acks[0]["event_id"], "tg:1");
    let sent = told(&story, "send");
    let pieces: Vec<&str> = sent.iter().filter_map(|one| one["content"].as_str()).collect();
    assert_eq!(pieces.join(" "), answer);
    assert!(
        pieces.len() > 1 && pieces.iter().all(|piece| piece.chars().count() <= 40),
        "{pieces:?}"
    );
    assert_eq!(sent[0]["to"]["peer_id"], "ann");
    assert_eq!(sent[0]["to"]["reply_to_id"], "1");
    assert_eq!(sent[1]["to"]["reply_to_id"], Value::Null);
    let ids = delivery(&trace)["data"]["message_ids"].as_array().expect("ids").len();
    assert_eq!(ids, pieces.len(), "{trace:#}");
}

#[test]
fn what_is_from_the_past_is_kept_and_starts_nothing() {
    let mut old = event("1", "Long ago");
    old["backfill"] = json!(true);
    let story = story("Hello.", &[old, event("2", "Now")]);
    let server = served(&story);
    until(&story, "tg:2", is_sent);
    stop(server);
    let trace = story.json("trace tg:1 --json");
    assert_eq!(trace["status"], "stored");
    assert_eq!(told(&story, "ack").len(), 2);
    assert_eq!(told(&story, "send").len(), 1);
}

#[test]
fn the_same_message_after_a_restart_is_one_event_with_one_answer() {
    let story = story("Hello.", &[event("1", "Hi")]);
    let server = served(&story);
    until(&story, "tg:1", is_sent);
    server.kill();
    let server = served(&story);
    // The program hands the same in again; it is acknowledged, and that is all.
    for _ in 0..2_000 {
        if told(&story, "ack").len() == 2 {
            break;
        }
        story.out("trace");
    }
    assert_eq!(told(&story, "ack").len(), 2);
    stop(server);
    assert_eq!(told(&story, "send").len(), 1);
    let runs = story.json("show --format json");
    assert_eq!(runs.as_array().expect("runs are a list").len(), 1);
}

#[test]
fn an_answer_that_cannot_go_out_is_shown_as_such() {
    let story = story("lost", &[event("1", "Hi")]);
    let server = served(&story);
    let trace = until(&story, "tg:1", is_sent);
    stop(server);
    assert_eq!(trace["status"], "answered");
    assert_eq!(delivery(&trace)["error"], "the channel does not know `nobody`");
    assert_eq!(delivery(&trace)["data"]["chunks_sent"], 0);
}

#[test]
fn what_is_attached_is_told_to_the_agent() {
    let mut with = event("1", "What is this?");
    with["attachments"] = json!([{
        "id": "a1", "filename": "cat.png", "content_type": "image/png", "size_bytes": 7,
        "path": "in/cat.png",
    }]);
    let story = story("A cat.", &[with]);
    let server = served(&story);
    until(&story, "tg:1", is_sent);
    stop(server);
    let run = crate::record::latest(&story);
    let record = story.out(&format!("show {run} --format json"));
    let line = "What is this?\\n[Attached: cat.png (image/png, 7 bytes) at in/cat.png]";
    assert!(record.contains(line), "{record}");
}
