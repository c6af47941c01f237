//! Anthropic's Messages over a real connection: what the documentation shows, in every awkward way.
//!
//! Must never: reach a real provider.

use std::time::{Duration, Instant};

use agentry_model::{Delta, ModelAnswer, Protocol, list};
use agentry_protocol::message::{FailureKind, Usage};
use serde_json::json;

use crate::http_asking::{KEY, Told, ask, hello, http, model, provider};
use crate::server::{Reply, Server};

const BASIC: &str = include_str!("fixtures/anthropic/basic.sse");
const TOOL_USE: &str = include_str!("fixtures/anthropic/tool_use.sse");
const THINKING: &str = include_str!("fixtures/anthropic/thinking.sse");
const PARALLEL: &str = include_str!("fixtures/anthropic/parallel_calls.sse");
const ERROR: &str = include_str!("fixtures/anthropic/error.sse");

fn answered(reply: Reply) -> Told {
    let server = Server::start(vec![reply]);
    ask(&*model(&http(), Protocol::Anthropic, &server), &hello())
}

fn answer(reply: Reply) -> ModelAnswer {
    answered(reply).answer.expect("an answer")
}

fn text_of(heard: &[Delta]) -> String {
    heard
        .iter()
        .filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            Delta::Thinking(_) | Delta::Call { .. } | Delta::Restart => None,
        })
        .collect()
}

#[test]
fn a_text_streams_and_says_who_answered() {
    let told = answered(Reply::sse(BASIC));
    assert_eq!(text_of(&told.heard), "Hello!");
    assert_eq!(told.heard.len(), 2);
    let answer = told.answer.unwrap();
    assert_eq!(answer.text, "Hello!");
    assert_eq!(answer.model.as_deref(), Some("test/the-model"));
    let usage = Usage { input_tokens: 25, output_tokens: 15, ..Usage::default() };
    assert_eq!(answer.usage, Some(usage));
}

#[test]
fn the_request_has_key_version_and_nothing_else_of_note() {
    let server = Server::start(vec![Reply::sse(BASIC)]);
    ask(&*model(&http(), Protocol::Anthropic, &server), &hello()).answer.unwrap();
    let received = server.requests().remove(0);
    assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(received.header("x-api-key"), Some(KEY));
    assert_eq!(received.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(received.header("authorization"), None);
    assert_eq!(received.json()["model"], "the-model");
    assert_eq!(received.json()["stream"], true);
}

#[test]
fn a_call_comes_in_pieces_and_is_whole_at_the_end() {
    let told = answered(Reply::sse(TOOL_USE));
    let pieces: String = told
        .heard
        .iter()
        .filter_map(|delta| match delta {
            Delta::Call { index: 0, name, piece } if name == "get_weather" => Some(piece.as_str()),
            Delta::Call { .. } => panic!("another call: {delta:?}"),
            Delta::Text(_) | Delta::Thinking(_) | Delta::Restart => None,
        })
        .collect();
    let arguments = json!({"location": "San Francisco, CA", "unit": "fahrenheit"});
    assert_eq!(serde_json::from_str::<serde_json::Value>(&pieces).unwrap(), arguments);
    let answer = told.answer.unwrap();
    assert_eq!(answer.text, "Okay, let's check the weather for San Francisco, CA:");
    assert_eq!(answer.calls.len(), 1);
    assert_eq!(answer.calls[0].input, arguments);
}

#[test]
fn several_calls_come_in_one_answer() {
    let answer = answer(Reply::sse(PARALLEL));
    let calls: Vec<_> = answer.calls.iter().map(|call| (call.name.as_str(), &call.input)).collect();
    assert_eq!(
        calls,
        [
            ("get_weather", &json!({"location": "San Francisco, CA"})),
            ("get_time", &json!({"timezone": "Asia/東京"})),
            ("list_all", &json!({})),
        ]
    );
    assert_eq!(answer.text, "I'll look at both — straße and 東京.");
    let usage = answer.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (900, 400, 130));
}

#[test]
fn thinking_is_heard_and_sealed_with_its_signature() {
    let told = answered(Reply::sse(THINKING));
    assert!(matches!(&told.heard[0], Delta::Thinking(text) if text.starts_with("I need to find")));
    let answer = told.answer.unwrap();
    assert!(answer.thinking.ends_with("so the GCD is 21."));
    assert_eq!(answer.text, "The greatest common divisor of 1071 and 462 is **21**.");
    let sealed = answer.sealed.unwrap();
    assert_eq!(sealed.by, "anthropic:the-model");
    assert_eq!(sealed.items.len(), 2);
    assert_eq!(sealed.items[0]["thinking"], answer.thinking);
    assert!(sealed.items[0]["signature"].as_str().unwrap().starts_with("EqQBCgIYAhIM"));
    assert_eq!(sealed.items[1]["type"], "redacted_thinking");
    let usage = answer.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.cached_tokens), (2110, 2000));
    assert_eq!((usage.cache_write_tokens, usage.output_tokens), (100, 120));
}

#[test]
fn the_answer_is_the_same_at_every_byte_boundary() {
    for fixture in [THINKING, PARALLEL] {
        let whole = answer(Reply::sse(fixture));
        let splits = fixture.len();
        let server = Server::with(move |number, _| match number {
            0 => Reply::sse(fixture).pieces_of(1),
            number => Reply::sse(fixture).split_at(&[number]),
        });
        let model = model(&http(), Protocol::Anthropic, &server);
        for at in 0..splits {
            let told = ask(&*model, &hello());
            assert_eq!(told.answer.unwrap(), whole, "split at {at}");
        }
        assert_eq!(server.connections(), 1);
    }
}

#[test]
fn all_line_endings_comments_and_odd_fields_are_read() {
    let whole = answer(Reply::sse(BASIC));
    let crlf = BASIC.replace('\n', "\r\n");
    let cr = BASIC.replace('\n', "\r");
    let bom = format!("\u{feff}{BASIC}");
    let comments = BASIC.replace("event: ", ": comment\n:\nevent: ");
    let tight = BASIC.replace("data: ", "data:");
    let lines = BASIC.replace("{\"type\": \"content", "{\ndata: \"type\": \"content");
    let ids = BASIC.replace("event: ", "id: 7\nretry: 10\nevent: ");
    for text in [crlf, cr, bom, comments, tight, lines, ids] {
        assert_eq!(answer(Reply::sse(text.clone())), whole, "{text}");
        assert_eq!(answer(Reply::sse(text.clone()).pieces_of(1)), whole, "{text}");
    }
}

#[test]
fn a_stream_that_ends_anywhere_is_a_cut_and_no_call() {
    for fixture in [THINKING, PARALLEL] {
        let server = Server::with(move |number, _| Reply::sse(fixture).end_at(number));
        let model = model(&http(), Protocol::Anthropic, &server);
        // The last frame needs its blank line.
        for at in 0..fixture.len() - 1 {
            let told = ask(&*model, &hello());
            assert_eq!(told.kind(), FailureKind::Cut, "{at}: {}", told.failure().message);
        }
        assert!(ask(&*model, &hello()).answer.is_err());
        assert!(ask(&*model, &hello()).answer.is_ok());
    }
}

#[test]
fn a_connection_that_closes_anywhere_is_a_cut() {
    let server = Server::with(move |number, _| Reply::sse(BASIC).cut_at(number));
    let model = model(&http(), Protocol::Anthropic, &server);
    for at in 0..BASIC.len() - 1 {
        let told = ask(&*model, &hello());
        assert_eq!(told.kind(), FailureKind::Cut, "{at}: {}", told.failure().message);
    }
}

#[test]
fn a_reset_connection_is_a_failure_that_passes() {
    let told = answered(Reply::sse(BASIC).reset_at(300));
    assert!(told.kind().is_transient(), "{:?}", told.failure());
    let told = answered(Reply::sse(BASIC).reset_before_head());
    assert_eq!(told.kind(), FailureKind::Connection, "{:?}", told.failure());
}

#[test]
fn a_slow_stream_that_never_stalls_is_waited_for() {
    let reply = Reply::sse(TOOL_USE).pieces_of(64).pace(Duration::from_millis(2));
    assert_eq!(answer(reply).calls.len(), 1);
}

#[test]
fn each_error_status_has_its_kind() {
    use FailureKind::{
        Authentication, ContextOverflow, InvalidRequest, Other, Overloaded, RateLimited, Timeout,
        TooLarge, UnknownModel,
    };
    for (status, name, message, kind) in [
        (400, "invalid_request_error", "max_tokens: must be positive", InvalidRequest),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 204800 tokens > 200000 maximum",
            ContextOverflow,
        ),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 1 + 2",
            ContextOverflow,
        ),
        (400, "invalid_request_error", "Your credit balance is too low to access the API", Other),
        (401, "authentication_error", "invalid x-api-key", Authentication),
        (402, "billing_error", "There is an issue with your billing", Other),
        (403, "permission_error", "Your key may not do this", Authentication),
        (404, "not_found_error", "model: claude-9", UnknownModel),
        (404, "not_found_error", "Not found", InvalidRequest),
        (413, "request_too_large", "Request exceeds the maximum size", TooLarge),
        (429, "rate_limit_error", "This request would exceed your rate limit", RateLimited),
        (500, "api_error", "Internal server error", Overloaded),
        (504, "timeout_error", "Request timed out", Timeout),
        (529, "overloaded_error", "Overloaded", Overloaded),
    ] {
        let body = json!({"type": "error", "error": {"type": name, "message": message}, "request_id": "req_1"});
        let reply = Reply::json(status, body.to_string()).header("request-id", "req_1");
        let told = answered(reply);
        let failure = told.failure();
        assert_eq!(failure.kind, kind, "{status} {name}: {message}");
        assert_eq!(
            failure.message,
            format!("test: {message} (status {status}, {name}) (request req_1)")
        );
    }
}

#[test]
fn an_error_without_the_providers_words_is_named_by_its_status() {
    use FailureKind::{Authentication, InvalidRequest, Overloaded, RateLimited, TooLarge};
    for (status, kind) in [
        (400, InvalidRequest),
        (401, Authentication),
        (404, InvalidRequest),
        (413, TooLarge),
        (429, RateLimited),
        (500, Overloaded),
        (502, Overloaded),
        (529, Overloaded),
    ] {
        let told = answered(Reply::of(status, "text/html", "<html><b>nginx</b></html>"));
        assert_eq!(told.kind(), kind, "{status}");
        assert!(told.failure().message.contains("<html><b>nginx"), "{:?}", told.failure());
        assert_eq!(answered(Reply::of(status, "text/html", "")).kind(), kind, "{status}");
    }
}

#[test]
fn an_account_that_has_spent_all_is_not_asked_again() {
    let body = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "limit",
        "details": {"error_code": "enforced_spend_limit_reached"}}});
    assert!(!answered(Reply::json(429, body.to_string())).kind().is_transient());
}

#[test]
fn an_error_in_the_stream_has_the_kind_of_its_name() {
    let told = answered(Reply::sse(ERROR));
    assert_eq!(told.kind(), FailureKind::Overloaded);
    assert!(
        told.failure().message.contains("Overloaded (overloaded_error"),
        "{:?}",
        told.failure()
    );
    let limited = ERROR.replace("overloaded_error", "rate_limit_error");
    assert_eq!(answered(Reply::sse(limited)).kind(), FailureKind::RateLimited);
    let bare = "event: error\ndata: {\"error\": {\"type\": \"overloaded_error\"}}\n\n";
    assert_eq!(answered(Reply::sse(bare)).kind(), FailureKind::Overloaded);
    let unknown = ERROR.replace("overloaded_error", "new_error");
    assert_eq!(answered(Reply::sse(unknown)).kind(), FailureKind::Overloaded);
}

fn stopped(reason: &str) -> Told {
    answered(Reply::sse(BASIC.replace("end_turn", reason)))
}

#[test]
fn stop_reasons_that_are_no_answers_have_their_kinds() {
    assert_eq!(stopped("refusal").kind(), FailureKind::Refused);
    assert_eq!(stopped("model_context_window_exceeded").kind(), FailureKind::ContextOverflow);
    for answer in ["max_tokens", "stop_sequence", "pause_turn", "something_new"] {
        assert_eq!(stopped(answer).answer.unwrap().text, "Hello!", "{answer}");
    }
}

#[test]
fn a_call_that_reached_the_longest_length_is_no_call() {
    let cut =
        TOOL_USE.replace("\"tool_use\", \"stop_sequence\"", "\"max_tokens\", \"stop_sequence\"");
    assert_eq!(answer(Reply::sse(cut.clone())).calls.len(), 1, "its arguments are whole");
    let half = cut.replace("renheit\\\"}", "renheit\\\"");
    assert_eq!(answered(Reply::sse(half)).kind(), FailureKind::Cut);
    let none: String =
        cut.split_inclusive("\n\n").filter(|frame| !frame.contains("input_json_delta")).collect();
    assert_eq!(answered(Reply::sse(none)).kind(), FailureKind::Cut);
    let open: String = cut
        .split_inclusive("\n\n")
        .filter(|frame| !frame.contains("content_block_stop\", \"index\": 1"))
        .collect();
    assert_eq!(answered(Reply::sse(open)).kind(), FailureKind::Cut);
}

#[test]
fn arguments_that_cannot_be_read_are_handed_on_as_text() {
    let broken = TOOL_USE.replace("renheit\\\"}", "renheit\\\"");
    let answer = answer(Reply::sse(broken));
    assert!(answer.calls[0].input.is_string(), "{:?}", answer.calls);
}

#[test]
fn what_the_protocol_may_add_later_is_passed_over() {
    let more = format!(
        "event: new_thing\ndata: not even JSON\n\nevent: ping\ndata: {{}}\n\n{}",
        BASIC.replace(
            "event: message_delta",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"new\"}}\n\n\
             event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\nevent: message_delta"
        )
    );
    assert_eq!(answer(Reply::sse(more)).text, "Hello!");
}

#[test]
fn a_tool_is_called_by_our_name() {
    let text = TOOL_USE.replace("get_weather", "github__list_issues");
    assert_eq!(answer(Reply::sse(text)).calls[0].name, "github/list_issues");
}

#[test]
fn an_answer_that_is_no_stream_is_malformed_and_shown() {
    for (media_type, body) in [
        ("text/html", "<html>\n<title>Log in to the network</title>\u{1b}[2J</html>"),
        ("text/html", "<html>Log in to the network"),
        ("application/json", "{\"error\": \"Log in to the network\"}"),
        ("text/event-stream", "{\n \"error\": \"Log in to the network\"\n}\n"),
        ("text/event-stream", "data: Log in to the network\n\n"),
    ] {
        let told = answered(Reply::of(200, media_type, body));
        assert_eq!(told.kind(), FailureKind::Malformed, "{body}: {:?}", told.failure());
        let message = &told.failure().message;
        assert!(message.contains("Log in to the network"), "{message}");
        assert!(!message.contains('\u{1b}'), "{message}");
    }
}

/// Arguments of so many bytes in pieces, as a stream.
fn huge(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes * 2);
    let (before, after) = TOOL_USE
        .split_once(
            "event: content_block_delta\ndata: {\"type\": \"content_block_delta\", \"index\": 1",
        )
        .expect("the fixture has it");
    text.push_str(before);
    let mut piece = |json: &str| {
        let data = json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": json}});
        text.push_str(&format!("event: content_block_delta\ndata: {data}\n\n"));
    };
    piece("{\"content\": \"");
    for _ in 0..bytes / 1024 {
        piece(&"x".repeat(1024));
    }
    piece("\"}");
    let at = after.find("event: content_block_stop").expect("the fixture has it");
    text.push_str(&after[at..]);
    text
}

#[test]
fn huge_arguments_take_time_in_proportion() {
    let took = |bytes: usize| {
        let reply = Reply::sse(huge(bytes)).pieces_of(16 * 1024);
        let began = Instant::now();
        let answer = answer(reply);
        let length = answer.calls[0].input["content"].as_str().unwrap().len();
        assert_eq!(length, bytes);
        began.elapsed()
    };
    let small = (0..3).map(|_| took(1 << 20)).min().unwrap();
    let large = took(8 << 20);
    // Eight times the bytes: a quadratic reader would take 64 times as long.
    assert!(large < small * 32 + Duration::from_millis(200), "{small:?} and {large:?}");
}

#[test]
fn models_are_listed() {
    let body = json!({"data": [{"type": "model", "id": "claude-a", "display_name": "A"},
        {"type": "model", "id": "claude-b"}], "has_more": false});
    let server = Server::start(vec![
        Reply::json(200, body.to_string()),
        Reply::json(
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"no"}}"#,
        ),
        Reply::json(200, "[]"),
    ]);
    let (http, provider) = (http(), provider(Protocol::Anthropic, server.url()));
    assert_eq!(list(&http, &provider, &|_| true).unwrap(), ["claude-a", "claude-b"]);
    let received = server.requests().remove(0);
    assert_eq!(
        (received.method.as_str(), received.path.as_str()),
        ("GET", "/v1/models?limit=1000")
    );
    assert_eq!(received.header("x-api-key"), Some(KEY));
    assert_eq!(received.header("anthropic-version"), Some("2023-06-01"));
    let kind = |_| list(&http, &provider, &|_| true).unwrap_err().kind;
    assert_eq!(kind(()), FailureKind::Authentication);
    assert_eq!(kind(()), FailureKind::Malformed);
}
