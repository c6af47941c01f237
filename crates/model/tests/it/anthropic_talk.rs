//! A talk as Anthropic's Messages want it: alternating, each call with its outcome, and marked for the cache.
//!
//! Must never: reach a real provider.

use std::sync::Arc;

use agentry_model::Protocol;
use agentry_protocol::CallId;
use agentry_protocol::message::{Image, Message, ModelRequest, SealedContent};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolCall;
use serde_json::{Value, json};

use crate::http_asking::{ask, http, model, request};
use crate::server::{Reply, Server};

const BASIC: &str = include_str!("fixtures/anthropic/basic.sse");

/// The body of the request on the wire.
fn sent(request: &ModelRequest) -> Vec<u8> {
    let server = Server::start(vec![Reply::sse(BASIC)]);
    ask(&*model(&http(), Protocol::Anthropic, &server), request).answer.expect("an answer");
    server.requests().remove(0).body
}

/// The messages on the wire, without the marks for the cache.
fn talk(messages: Vec<Message>) -> Value {
    let mut body: Value = serde_json::from_slice(&sent(&request(messages))).expect("JSON");
    unmark(&mut body);
    body["messages"].take()
}

fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn call(number: u128, tool: &str, input: Value) -> ToolCall {
    ToolCall { id: CallId::from_number(number), tool: ToolName::canonical(tool), input }
}

fn assistant(content: &str, calls: Vec<ToolCall>) -> Message {
    Message::Assistant { content: content.to_owned(), thinking: String::new(), calls, sealed: None }
}

fn outcome(number: u128, content: &str, ok: bool) -> Message {
    Message::Tool { call: CallId::from_number(number), content: content.to_owned(), ok }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

#[test]
fn outcomes_stand_in_one_turn_in_the_order_of_their_calls() {
    let (one, two) = (CallId::from_number(1), CallId::from_number(2));
    let talk = talk(vec![
        Message::user("Look"),
        assistant(
            "I will.",
            vec![
                call(1, "get_weather", json!({"location": "Ulm"})),
                call(2, "github/list_issues", json!({})),
            ],
        ),
        outcome(2, "no such repository", false),
        Message::user("Hurry"),
        outcome(1, "rain", true),
    ]);
    let expected = json!([
        user("Look"),
        {"role": "assistant", "content": [
            {"type": "text", "text": "I will."},
            {"type": "tool_use", "id": one, "name": "get_weather", "input": {"location": "Ulm"}},
            {"type": "tool_use", "id": two, "name": "github__list_issues", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": one, "content": "rain"},
            {"type": "tool_result", "tool_use_id": two, "content": "no such repository", "is_error": true},
            {"type": "text", "text": "Hurry"},
        ]},
    ]);
    assert_eq!(talk, expected);
}

#[test]
fn a_call_without_an_outcome_gets_one_that_says_so() {
    let talk = talk(vec![
        Message::user("Look"),
        assistant("", vec![call(1, "get_weather", json!({}))]),
        Message::user("Stop"),
    ]);
    let result = &talk[2]["content"][0];
    assert_eq!(result["type"], "tool_result");
    assert_eq!(result["tool_use_id"], CallId::from_number(1).as_str());
    assert_eq!(result["is_error"], true);
    assert!(result["content"].as_str().unwrap().contains("interrupted"));
    assert_eq!(talk[2]["content"][1]["text"], "Stop");
}

#[test]
fn an_outcome_without_its_call_is_told_as_text() {
    let talk = talk(vec![
        outcome(9, "rain", true),
        Message::user("Go"),
        assistant("Yes", vec![]),
        Message::user("On"),
    ]);
    let first = json!({"role": "user", "content": [{"type": "text", "text": "rain"}, {"type": "text", "text": "Go"}]});
    assert_eq!(talk[0], first);
    assert_eq!(talk.as_array().unwrap().len(), 3);
}

#[test]
fn empty_and_repeated_turns_become_a_talk_that_alternates() {
    let talk = talk(vec![
        Message::user("One"),
        assistant("", vec![]),
        Message::user("  "),
        Message::user("Two"),
        assistant("Three", vec![]),
        assistant("Four", vec![]),
    ]);
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Three"}, {"type": "text", "text": "Four"}]},
        user("(Go on.)"),
    ]);
    assert_eq!(talk, expected);
}

#[test]
fn a_talk_never_begins_with_the_model_and_is_never_empty() {
    assert_eq!(talk(vec![]), json!([user("(The talk so far.)")]));
    let talk = talk(vec![assistant("I was here", vec![]), Message::user("So?")]);
    assert_eq!(talk[0], user("(The talk so far.)"));
    assert_eq!(talk[1]["role"], "assistant");
}

#[test]
fn pictures_stand_before_the_words() {
    let image = Image { media_type: "image/png".to_owned(), data: "iVBORw0=".to_owned() };
    let talk = talk(vec![Message::User { content: "What is it?".to_owned(), images: vec![image] }]);
    let expected = json!([{"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}},
        {"type": "text", "text": "What is it?"},
    ]}]);
    assert_eq!(talk, expected);
}

#[test]
fn sealed_thinking_goes_back_first_and_only_to_its_model() {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "abc"});
    let with = |by: &str| {
        talk(vec![
            Message::user("Look"),
            Message::Assistant {
                content: "Yes".to_owned(),
                thinking: "hm".to_owned(),
                calls: vec![call(1, "get_weather", json!({}))],
                sealed: Some(SealedContent { by: by.to_owned(), items: vec![thought.clone()] }),
            },
            outcome(1, "rain", true),
        ])[1]["content"]
            .take()
    };
    let own = with("anthropic:the-model");
    assert_eq!(own[0], thought);
    assert_eq!(own[1]["type"], "text");
    assert_eq!(own[2]["type"], "tool_use");
    for other in ["anthropic:another", "openai:the-model"] {
        assert_eq!(with(other)[0]["type"], "text", "{other}");
    }
}

#[test]
fn arguments_that_could_not_be_read_and_odd_ids_are_sent_in_a_form_that_is_taken() {
    let odd = CallId::new("call:with/odd#chars");
    let talk = talk(vec![
        Message::user("Look"),
        assistant(
            "",
            vec![ToolCall {
                id: odd.clone(),
                tool: ToolName::canonical("gone/tool.x"),
                input: Value::String("{\"a\": ".to_owned()),
            }],
        ),
        Message::Tool { call: odd, content: "not JSON".to_owned(), ok: false },
    ]);
    let used = &talk[1]["content"][0];
    assert_eq!(used["input"], json!({"unreadable": "{\"a\": "}));
    let taken =
        |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    assert!(taken(used["id"].as_str().unwrap()) && taken(used["name"].as_str().unwrap()), "{used}");
    assert_eq!(talk[2]["content"][0]["tool_use_id"], used["id"]);
}

#[test]
fn limits_of_the_request_are_passed_on() {
    let mut asked = request(vec![Message::user("Hi")]);
    let body: Value = serde_json::from_slice(&sent(&asked)).unwrap();
    assert_eq!(body["max_tokens"], 32_000);
    assert!(body.get("temperature").is_none());
    (asked.max_tokens, asked.temperature) = (Some(77), Some(0.5));
    (asked.system, asked.tools) = (Arc::from(" "), Arc::from([]));
    let body: Value = serde_json::from_slice(&sent(&asked)).unwrap();
    assert_eq!((&body["max_tokens"], &body["temperature"]), (&json!(77), &json!(0.5)));
    assert!(body.get("system").is_none() && body.get("tools").is_none(), "{body}");
}

fn marks(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            usize::from(fields.contains_key("cache_control"))
                + fields.values().map(marks).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(marks).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// A talk of so many steps: each a thought, a call or two, and outcomes of some kilobytes.
fn steps(count: u128) -> Vec<Message> {
    let mut messages = vec![Message::user("Find out why the build fails, and mend it.")];
    for step in 0..count {
        let id = step * 2;
        let mut calls =
            vec![call(id, "get_weather", json!({"location": format!("src/file_{step}.rs")}))];
        if step % 3 == 0 {
            calls.push(call(id + 1, "github/list_issues", json!({"location": "x".repeat(200)})));
        }
        let two = calls.len() == 2;
        messages.push(assistant("Let me look at the next file.", calls));
        let line = format!("error[E0{step:03}]: something does not fit here\n");
        messages.push(outcome(id, &line.repeat(20 + step as usize % 7 * 15), true));
        if two {
            messages.push(outcome(id + 1, "no such issue", false));
        }
    }
    messages
}

#[test]
fn what_was_marked_is_found_again_by_the_next_request() {
    let marker = "\"cache_control\":{\"type\":\"ephemeral\"}";
    let plain = |body: &str| body.replace(&format!(",{marker}"), "");
    let mut before = String::new();
    let mut smallest = 1.0_f64;
    for step in 1..=30 {
        let body = String::from_utf8(sent(&request(steps(step)))).unwrap();
        let value: Value = serde_json::from_str(&body).unwrap();
        assert!(marks(&value) <= 4, "step {step}");
        assert!(value["tools"][1]["cache_control"].is_object());
        assert!(value["system"][0]["cache_control"].is_object());
        if step > 1 {
            // All that the last request had written to the cache, by content.
            let marked = plain(&before[..before.rfind(marker).unwrap() - 1]);
            let now = plain(&body);
            let found = now.bytes().zip(marked.bytes()).take_while(|(a, b)| a == b).count();
            let share = found as f64 / plain(&before).len() as f64;
            smallest = smallest.min(share);
            assert!(share > 0.95, "step {step}: {share}");
            // The mark of the last turn of the request before is still there.
            let place = value["messages"].as_array().unwrap().len() - 3;
            let content = value["messages"][place]["content"].as_array().unwrap();
            assert!(content.last().unwrap()["cache_control"].is_object(), "step {step}");
        }
        before = body;
    }
    println!("anthropic: smallest cacheable share from step 2 to 30: {:.2} %", smallest * 100.0);
}

#[test]
fn the_same_request_is_the_same_bytes() {
    let asked = request(steps(5));
    assert_eq!(sent(&asked), sent(&asked));
    let body = String::from_utf8(sent(&asked)).unwrap();
    assert!(
        body.starts_with(
            "{\"model\":\"the-model\",\"max_tokens\":32000,\"stream\":true,\"tools\":["
        ),
        "{body}"
    );
}
