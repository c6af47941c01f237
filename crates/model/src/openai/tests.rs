//! Streams of Responses as its documentation shows them.

use std::time::{Duration, Instant};

use agentry_protocol::message::{FailureKind, Image, Message, RawToolCall, SealedContent, Usage};
use serde_json::{Value, json};

use super::*;
use crate::ModelAnswer;
use crate::codec::AnswerFrame;
use crate::fixture::{
    asking, body, call, check_cut_before_frame, check_prefix_share, outcome, read, read_frames,
    read_in_all_pieces, request,
};

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../tests/it/fixtures/openai/", $name, ".sse"))
    };
}

fn usage(input_tokens: u64, output_tokens: u64, cached_tokens: u64) -> Option<Usage> {
    Some(Usage { input_tokens, output_tokens, cached_tokens, ..Usage::default() })
}

/// Returns the thinking of the fixture, sealed.
fn sealed() -> SealedContent {
    SealedContent {
        by: "openai:o4-mini".to_owned(),
        items: vec![json!({"place": 0, "item": {
            "type": "reasoning",
            "id": "rs_6820f383d7c08191846711c5df8233bc0ac5ba57aafcbac7",
            "summary": [
                {"type": "summary_text", "text": "**Looking**"},
                {"type": "summary_text", "text": "Then the log."}],
            "encrypted_content": "gAAAAABoISQ24OyVRYbk",
        }})],
    }
}

fn stream(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

#[test]
fn text_and_usage_are_the_same_in_all_pieces() {
    let answer = read_in_all_pieces(&Openai, "gpt-4.1", fixture!("text"));
    let expected = ModelAnswer {
        text: "Hi there! Grüße.".to_owned(),
        usage: usage(2037, 11, 1920),
        ..ModelAnswer::default()
    };
    assert_eq!(answer, expected);
    check_cut_before_frame(&Openai, "gpt-4.1", fixture!("text"), 10);
}

#[test]
fn thinking_is_heard_and_sealed_and_parallel_calls_are_none_when_cut() {
    let answer = read_in_all_pieces(&Openai, "o4-mini", fixture!("thinking_and_calls"));
    let asked = |name: &str, input| RawToolCall { name: name.to_owned(), input };
    let expected = ModelAnswer {
        thinking: "**Looking**\n\nThen the log.".to_owned(),
        calls: vec![
            asked("read_file", json!({"path": "a.txt"})),
            asked("git/log", json!({"limit": 3})),
        ],
        sealed: Some(sealed()),
        usage: usage(84, 134, 0),
        ..ModelAnswer::default()
    };
    assert_eq!(answer, expected);
    check_cut_before_frame(&Openai, "o4-mini", fixture!("thinking_and_calls"), 22);
}

#[track_caller]
fn check_failure(stream: &str, kind: FailureKind, word: &str) {
    let failure = read(&Openai, "m", stream).answer.unwrap_err();
    assert_eq!(failure.kind, kind, "{}", failure.message);
    assert!(failure.message.contains(word), "{}", failure.message);
}

#[test]
fn the_length_limit_drops_calls_and_keeps_text() {
    check_failure(fixture!("cut_by_length"), FailureKind::Cut, "max_tokens");
    let end = json!({"type": "response.incomplete", "response": {
        "incomplete_details": {"reason": "max_output_tokens"},
        "usage": {"input_tokens": 1, "output_tokens": 2}}});
    let delta = json!({"type": "response.output_text.delta", "output_index": 0,
        "content_index": 0, "delta": "half of"});
    let answer = read(&Openai, "m", &stream(&[delta, end.clone()])).answer.unwrap();
    assert_eq!((answer.text.as_str(), answer.usage), ("half of", usage(1, 2, 0)));
    check_failure(&stream(&[end]), FailureKind::Cut, "max_tokens");
}

#[test]
fn what_goes_wrong_in_a_stream_has_its_kind() {
    check_failure(fixture!("refusal"), FailureKind::Refused, "I can't help with that.");
    check_failure(fixture!("failed"), FailureKind::Overloaded, "failed to generate");
    check_failure("data: {\"type\":\n\n", FailureKind::Malformed, "cannot be read");
    check_failure("", FailureKind::Cut, "middle");
    for (event, kind) in [
        (
            json!({"type": "error", "code": "rate_limit_exceeded", "message": "boom", "param": null}),
            FailureKind::RateLimited,
        ),
        (
            json!({"type": "error", "code": "context_length_exceeded", "message": "boom"}),
            FailureKind::ContextOverflow,
        ),
        (
            json!({"type": "error", "error": {"type": "server_error", "code": null, "message": "boom"}}),
            FailureKind::Overloaded,
        ),
        (
            json!({"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": "boom"}}}),
            FailureKind::Refused,
        ),
        (
            json!({"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "boom"}}}),
            FailureKind::RateLimited,
        ),
        (json!({"error": {"message": "boom"}}), FailureKind::Overloaded),
    ] {
        check_failure(&stream(&[event]), kind, "boom");
    }
    let filtered = json!({"type": "response.incomplete",
        "response": {"incomplete_details": {"reason": "content_filter"}}});
    check_failure(&stream(&[filtered]), FailureKind::Refused, "filter");
}

#[test]
fn a_server_that_sends_no_pieces_is_understood() {
    let events = [
        json!({"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Hi."}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call",
            "name": "read_file", "arguments": "{\"path\":\"a\"}", "call_id": "c"}}),
        json!({"type": "response.something_new", "delta": {"x": 1}}),
        json!({"type": "response.completed", "response": {}}),
    ];
    let answer = read_in_all_pieces(&Openai, "m", &stream(&events));
    assert_eq!(answer.text, "Hi.");
    assert_eq!(answer.calls[0].input, json!({"path": "a"}));
    assert_eq!(answer.usage, None);
}

#[test]
fn huge_arguments_in_small_pieces_take_linear_time() {
    let frame = |event: Value| AnswerFrame { event: None, data: event.to_string() };
    let delta = |text: &str| {
        frame(
            json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": text}),
        )
    };
    let mut frames = vec![
        frame(json!({"type": "response.output_item.added", "output_index": 0,
            "item": {"type": "function_call", "name": "read_file", "arguments": ""}})),
        delta("{\"path\": \""),
    ];
    frames.extend(std::iter::repeat_n(delta(&"x".repeat(40)), 8 * 1024 * 1024 / 40));
    frames.push(delta("\"}"));
    frames.push(frame(json!({"type": "response.completed", "response": {}})));
    let begin = Instant::now();
    let answer = read_frames(&Openai, "m", &frames).answer.unwrap();
    assert_eq!(answer.calls[0].input["path"].as_str().unwrap().len(), 8 * 1024 * 1024 / 40 * 40);
    // Quadratic work would take hours, linear work takes seconds; a busy machine is given minutes.
    assert!(begin.elapsed() < Duration::from_secs(600), "{:?}", begin.elapsed());
}

#[test]
fn a_request_is_this() {
    let said = Message::Assistant {
        content: String::new(),
        thinking: "**Looking**".to_owned(),
        calls: vec![call(1, "read_file", json!({"path": "a"})), call(2, "git/log", json!({}))],
        sealed: Some(sealed()),
    };
    let messages = vec![
        Message::User {
            content: "What is this?".to_owned(),
            images: vec![Image { media_type: "image/png".to_owned(), data: "aGk=".to_owned() }],
        },
        said,
        outcome(1, "no such file", false),
        asking("Odd.", Vec::new()),
        Message::user("And now?"),
    ];
    let id = |number| call(number, "x", json!({})).id.to_string();
    let thinking = sealed().items[0]["item"].clone();
    let mut expected = json!({
        "model": "o4-mini", "stream": true, "store": false,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 1000, "temperature": 0.5, "prompt_cache_key": "ses_test",
        "instructions": "Be brief.",
        "tools": [
            {"type": "function", "name": "read_file", "description": "Does read_file.",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}, "strict": false},
            {"type": "function", "name": "git__log", "description": "Does git/log.",
                "parameters": {"type": "object", "properties": {}}, "strict": false},
        ],
        "input": [
            {"role": "user", "content": [
                {"type": "input_text", "text": "What is this?"},
                {"type": "input_image", "image_url": "data:image/png;base64,aGk="}]},
            thinking,
            {"type": "function_call", "call_id": id(1), "name": "read_file", "arguments": "{\"path\":\"a\"}"},
            {"type": "function_call", "call_id": id(2), "name": "git__log", "arguments": "{}"},
            {"type": "function_call_output", "call_id": id(1), "output": "Error: no such file"},
            {"type": "function_call_output", "call_id": id(2), "output":
                "Error: the call was interrupted before it had an outcome; nobody knows whether it happened"},
            {"role": "assistant", "content": "Odd."},
            {"role": "user", "content": "And now?"},
        ],
    });
    let request = request(messages);
    // As text, because the order of the keys matters too.
    assert_eq!(body(&Openai, "o4-mini", &request).to_string(), expected.to_string());

    // Another model is not sent what it cannot read, and not asked for what it does not have.
    let fields = expected.as_object_mut().unwrap();
    fields.shift_remove("include");
    fields["model"] = json!("gpt-4.1");
    fields["input"].as_array_mut().unwrap().remove(1);
    assert_eq!(body(&Openai, "gpt-4.1", &request).to_string(), expected.to_string());
}

#[test]
fn thinking_stands_before_what_it_led_to_and_never_at_the_end() {
    let item =
        |id: &str| json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "x"});
    let done = |at: u64, item: Value| json!({"type": "response.output_item.done", "output_index": at, "item": item});
    let called = json!({"type": "function_call", "name": "read_file", "arguments": "{}"});
    let events = [
        done(0, item("one")),
        json!({"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "Hm."}),
        done(2, item("two")),
        done(3, called),
        done(4, item("three")),
        done(5, json!({"type": "reasoning", "id": "four", "summary": []})),
        json!({"type": "response.completed", "response": {}}),
    ];
    let answer = read(&Openai, "o3", &stream(&events)).answer.unwrap();
    let said = Message::Assistant {
        content: answer.text,
        thinking: answer.thinking,
        calls: vec![call(1, "read_file", json!({}))],
        sealed: answer.sealed,
    };
    let input = body(&Openai, "o3", &request(vec![Message::user("x"), said]))["input"].clone();
    let kinds: Vec<&str> = input
        .as_array()
        .unwrap()
        .iter()
        .map(|item| ["id", "role", "type"].iter().find_map(|key| item[*key].as_str()).unwrap())
        .collect();
    assert_eq!(kinds, ["user", "one", "assistant", "two", "function_call", "function_call_output"]);
}

#[test]
fn only_models_that_seal_their_thinking_are_asked_for_it() {
    for (model, asked) in [
        ("o3", true),
        ("o4-mini", true),
        ("gpt-5", true),
        ("gpt-5.1-codex", true),
        ("openai/gpt-6", true),
        ("codex-mini-latest", true),
        ("gpt-4.1", false),
        ("gpt-4o", false),
        ("gpt-5-chat-latest", false),
        ("gpt-oss-20b", false),
        ("omni", false),
    ] {
        let body = body(&Openai, model, &request(Vec::new()));
        assert_eq!(body.get("include").is_some(), asked, "{model}");
    }
}

#[test]
fn each_request_begins_with_the_one_before() {
    check_prefix_share(&Openai, "gpt-5");
}

#[test]
fn errors_and_lists_are_those_of_chat() {
    let body = r#"{"error":{"message":"boom","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#;
    assert_eq!(Openai.failure(404, body).kind, FailureKind::UnknownModel);
    assert_eq!(Openai.models(r#"{"data":[{"id":"o3"}]}"#).unwrap(), ["o3"]);
}
