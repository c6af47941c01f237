//! The events of the ledger as text: a line for each, without ids and hashes.

use std::collections::BTreeMap;

use agentry_protocol::envelope::Envelope;
use serde_json::Value;

/// Kinds of entries that say nothing about a test.
const LEFT_OUT: [&str; 1] = ["sandbox_missing"];

/// Returns a line for each entry.
pub(crate) fn dialogue(entries: &[Envelope]) -> String {
    let mut calls = BTreeMap::new();
    let mut kinds = BTreeMap::new();
    let mut lines = Vec::new();
    for entry in entries {
        let event = serde_json::to_value(&entry.event).expect("an event is plain JSON");
        let kind = text(&event, "/type");
        kinds.insert(entry.seq, kind.clone());
        if kind == "call_proposed" {
            calls.insert(text(&event, "/call/id"), command(&event["call"]));
        }
        if !LEFT_OUT.contains(&kind.as_str()) {
            let rest = rest(&kind, &event, &calls, &kinds);
            lines.push(format!("{kind} {rest}").trim_end().to_owned());
        }
    }
    lines.join("\n")
}

fn rest(
    kind: &str,
    event: &Value,
    calls: &BTreeMap<String, String>,
    kinds: &BTreeMap<u64, String>,
) -> String {
    let of = |pointer: &str| text(event, pointer);
    let called = || calls.get(&of("/call")).cloned().unwrap_or_default();
    let words = |all: &[String]| all.join(" ").trim_end().to_owned();
    match kind {
        "session_opened" => of("/agent"),
        "prompt_received" | "steer_received" => quoted(&of("/content")),
        "run_created" => words(&[of("/agent"), of("/task")]),
        "step_started" => of("/index"),
        "step_ended" => words(&[of("/index"), of("/status")]),
        "turn_started" if event.get("compaction").is_some() => "to compact".to_owned(),
        "turn_started" => quoted(&of("/prompt")),
        "input_taken" => {
            kinds.get(&event["input"].as_u64().unwrap_or_default()).cloned().unwrap_or_default()
        }
        "model_asked" if event.get("check").is_some() => format!("{} to check", of("/step")),
        "model_asked" => of("/step"),
        "model_replied" => {
            let calls = event.pointer("/reply/calls").and_then(Value::as_array);
            let calls = calls.into_iter().flatten().map(|call| format!("[{}]", command(call)));
            let text = Some(of("/reply/text")).filter(|text| !text.is_empty());
            let parts: Vec<String> =
                text.map(|text| quoted(&text)).into_iter().chain(calls).collect();
            words(&[of("/step"), parts.join(" ")])
        }
        "model_failed" => format!("{} {}", of("/step"), of("/failure/kind")),
        "call_proposed" => format!("[{}] {}", command(&event["call"]), of("/ruling/verdict")),
        "approval_asked" => format!("[{}]", command(&event["call"])),
        "approval_answered" => of("/answer/allow"),
        "call_started" => format!("[{}] by {}", called(), of("/by/kind")),
        "call_finished" => {
            format!("[{}] {} {}", called(), of("/outcome/status"), quoted(&of("/outcome/text")))
        }
        "call_refused" | "call_stopped" | "call_withheld" => format!("[{}]", called()),
        "check_started" => of("/command"),
        "check_finished" => of("/outcome/status"),
        "iteration_counted" => of("/count"),
        "turn_ended" => {
            let result = Some(of("/result")).filter(|text| !text.is_empty());
            words(&[of("/ending"), result.map(|text| quoted(&text)).unwrap_or_default()])
        }
        "run_ended" => words(&[of("/ending"), of("/message")]),
        "intake" => intake(event),
        "event_hook" | "access" => of("/change"),
        _ => String::new(),
    }
}

/// Returns the stage of an inbound, with its id.
fn intake(event: &Value) -> String {
    let of = |pointer: &str| text(event, pointer);
    let stage = of("/stage");
    let rest = match stage.as_str() {
        "received" => {
            format!("{} {}", of("/inbound/event_id"), quoted(&of("/inbound/content")))
        }
        "decided" => {
            format!("{} {}", of("/record/event_id"), of("/record/effect"))
        }
        "routed" => format!("{} to {}", of("/event"), of("/agent")),
        "unrun" => format!("{} {} {}", of("/event"), of("/why"), of("/detail")),
        "chunk_sent" => format!("{} {}", of("/event"), of("/chunk")),
        "delivered" => {
            let error = of("/error/type");
            format!("{} {}/{} {error}", of("/event"), of("/chunks_sent"), of("/chunks"))
        }
        _ => String::new(),
    };
    format!("{stage} {rest}").trim_end().to_owned()
}

/// Returns the command of a call of the shell, or the name of another tool.
fn command(call: &Value) -> String {
    call.pointer("/input/command").map_or_else(|| text(call, "/tool"), plain)
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).map(plain).unwrap_or_default()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Quotes a text, up to a length that fits a line.
fn quoted(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    if text.chars().count() <= CHARS_MAX {
        return format!("{text:?}");
    }
    let beginning: String = text.chars().take(CHARS_MAX).collect();
    format!("{beginning:?}…")
}
