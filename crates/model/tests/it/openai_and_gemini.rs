//! OpenAI's two protocols and Gemini's over a real connection, in every awkward way.
//!
//! Must never: reach a real provider.

use std::sync::Arc;
use std::time::Duration;

use agentry_model::{ModelAnswer, Protocol, list};
use agentry_protocol::message::{FailureKind, Message, ModelRequest};
use serde_json::{Value, json};

use crate::http_asking::{KEY, Told, ask, http, model, provider, request, tool};
use crate::server::{Reply, Server};

const ALL: [Protocol; 3] = [Protocol::Openai, Protocol::OpenaiChat, Protocol::Gemini];

const RESPONSES: [&str; 2] = [
    include_str!("fixtures/openai/text.sse"),
    include_str!("fixtures/openai/thinking_and_calls.sse"),
];
const CHAT: [&str; 4] = [
    include_str!("fixtures/openai_chat/text.sse"),
    include_str!("fixtures/openai_chat/parallel_calls.sse"),
    include_str!("fixtures/openai_chat/deepseek_thinking.sse"),
    include_str!("fixtures/openai_chat/ollama_calls.sse"),
];
const GEMINI: [&str; 2] = [
    include_str!("fixtures/gemini/text.sse"),
    include_str!("fixtures/gemini/thinking_and_calls.sse"),
];

fn fixtures(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::Openai => &RESPONSES,
        Protocol::OpenaiChat => &CHAT,
        Protocol::Gemini => &GEMINI,
        Protocol::Anthropic => &[],
    }
}

/// Its last words: what comes before is no whole answer.
fn end(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Openai => "event: response.completed",
        Protocol::OpenaiChat => "\"finish_reason\":\"",
        Protocol::Gemini => "\"finishReason\"",
        Protocol::Anthropic => "message_stop",
    }
}

fn hello() -> ModelRequest {
    ModelRequest {
        tools: Arc::from([tool("read_file"), tool("git/log")]),
        ..request(vec![Message::user("Hello")])
    }
}

fn answered(protocol: Protocol, reply: Reply) -> Told {
    let server = Server::start(vec![reply]);
    ask(&*model(&http(), protocol, &server), &hello())
}

fn answer(protocol: Protocol, reply: Reply) -> ModelAnswer {
    answered(protocol, reply).answer.expect("a whole answer")
}

#[test]
fn the_request_goes_to_its_path_with_its_key() {
    for (protocol, path, header, key) in [
        (Protocol::Openai, "/v1/responses", "authorization", format!("Bearer {KEY}")),
        (Protocol::OpenaiChat, "/v1/chat/completions", "authorization", format!("Bearer {KEY}")),
        (
            Protocol::Gemini,
            "/v1beta/models/the-model:streamGenerateContent?alt=sse",
            "x-goog-api-key",
            KEY.to_owned(),
        ),
    ] {
        let server = Server::start(vec![Reply::sse(fixtures(protocol)[0])]);
        let answer = ask(&*model(&http(), protocol, &server), &hello()).answer.unwrap();
        assert_eq!(answer.model.as_deref(), Some("test/the-model"));
        let received = server.requests().remove(0);
        assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", path));
        assert_eq!(received.header(header), Some(key.as_str()));
        let others = ["authorization", "x-goog-api-key", "x-api-key"];
        let shown = others.iter().filter(|name| received.header(name).is_some()).count();
        assert_eq!(shown, 1, "the key is shown once");
    }
}

#[test]
fn calls_thinking_and_usage_come_through() {
    for protocol in ALL {
        let answer = answer(protocol, Reply::sse(fixtures(protocol)[1]));
        let calls: Vec<(&str, &Value)> =
            answer.calls.iter().map(|call| (call.name.as_str(), &call.input)).collect();
        let expected =
            [("read_file", &json!({"path": "a.txt"})), ("git/log", &json!({"limit": 3}))];
        assert_eq!(calls, expected, "{protocol:?}");
        assert!(answer.usage.unwrap().output_tokens > 0);
        let thinks = matches!(protocol, Protocol::Openai | Protocol::Gemini);
        assert_eq!(!answer.thinking.is_empty(), thinks);
        assert_eq!(answer.sealed.is_some(), thinks);
    }
}

#[test]
fn the_answer_is_the_same_at_every_byte_boundary() {
    for protocol in ALL {
        for fixture in fixtures(protocol).iter().copied() {
            let whole = answer(protocol, Reply::sse(fixture));
            assert_eq!(answer(protocol, Reply::sse(fixture).pieces_of(1)), whole);
            // Many places in one request, to be done sooner.
            let step = fixture.len().div_ceil(16);
            let server = Server::with(move |number, _| {
                let places: Vec<usize> = (0..16).map(|part| number + part * step).collect();
                Reply::sse(fixture).split_at(&places)
            });
            let model = model(&http(), protocol, &server);
            for at in 0..step {
                let told = ask(&*model, &hello());
                assert_eq!(
                    told.answer.unwrap(),
                    whole,
                    "{protocol:?}: split at {at} and {step} on"
                );
            }
        }
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_before_its_end_is_a_cut_and_no_call() {
    for protocol in ALL {
        let fixture = fixtures(protocol)[1];
        let end = fixture.find(end(protocol)).unwrap();
        // Each frame's end is tried where no connection is needed; here the connection counts.
        let server = Server::with(move |number, _| match number % 2 {
            0 => Reply::sse(fixture).cut_at(number * 5),
            _ => Reply::sse(fixture).end_at(number * 5),
        });
        let model = model(&http(), protocol, &server);
        for number in 0..end.div_ceil(5) {
            let told = ask(&*model, &hello());
            assert_eq!(
                told.kind(),
                FailureKind::Cut,
                "{protocol:?} {number}: {:?}",
                told.failure()
            );
        }
    }
}

#[test]
fn a_slow_stream_that_never_stalls_is_waited_for() {
    for protocol in ALL {
        let reply = Reply::sse(fixtures(protocol)[1]).pieces_of(100).pace(Duration::from_millis(2));
        assert_eq!(answer(protocol, reply).calls.len(), 2);
    }
}

#[test]
fn each_error_status_has_its_kind() {
    use FailureKind::{
        Authentication, InvalidRequest, Overloaded, RateLimited, TooLarge, UnknownModel,
    };
    for protocol in ALL {
        for (status, name, words, kind) in [
            (400, "INVALID_ARGUMENT", "no such field", InvalidRequest),
            (401, "UNAUTHENTICATED", "wrong key", Authentication),
            (404, "NOT_FOUND", "the model gpt-9 does not exist", UnknownModel),
            (413, "", "too many bytes", TooLarge),
            (429, "RESOURCE_EXHAUSTED", "slow down", RateLimited),
            (500, "INTERNAL", "oops", Overloaded),
            (529, "UNAVAILABLE", "busy", Overloaded),
        ] {
            let body = json!({"error": {"code": status, "message": words, "status": name}});
            let told = answered(protocol, Reply::json(status, body.to_string()));
            assert_eq!(told.kind(), kind, "{protocol:?} {status}: {:?}", told.failure());
            assert!(told.failure().message.contains(words), "{:?}", told.failure());
            let told = answered(protocol, Reply::of(status, "text/html", "<h1>nginx</h1>"));
            assert!(told.failure().message.contains("<h1>nginx</h1>"), "{:?}", told.failure());
        }
    }
}

#[test]
fn how_long_to_wait_comes_from_the_header_or_the_body() {
    let body = r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#;
    let told = answered(Protocol::OpenaiChat, Reply::json(429, body).header("retry-after", "7"));
    assert_eq!(told.failure().retry_after_ms, Some(7_000));
    let body = r#"{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"9s"}]}}"#;
    let told = answered(Protocol::Gemini, Reply::json(429, body));
    assert_eq!(told.failure().retry_after_ms, Some(9_000));
}

#[test]
fn huge_arguments_in_small_pieces_arrive_whole() {
    let pieces = 2 * 1024 * 1024 / 40;
    let piece = "x".repeat(40);
    let chat = |arguments: &str| json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}}]});
    let mut stream = format!(
        "data: {}\n\ndata: {}\n\n",
        json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "read_file"}}]}}]}),
        chat("{\"path\": \"")
    );
    stream += &format!("data: {}\n\n", chat(&piece)).repeat(pieces);
    stream += &format!("data: {}\n\n", chat("\"}"));
    stream += "data: {\"choices\":[{\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    let answer = answer(Protocol::OpenaiChat, Reply::sse(stream).pieces_of(4096));
    assert_eq!(answer.calls[0].input["path"].as_str().unwrap().len(), pieces * 40);
}

#[test]
fn the_models_are_listed() {
    let openai = r#"{"object":"list","data":[{"id":"one"},{"id":"two"}]}"#;
    let gemini = r#"{"models":[{"name":"models/one","supportedGenerationMethods":["generateContent"]},
        {"name":"models/two","supportedGenerationMethods":["generateContent"]}]}"#;
    for (protocol, body, path) in [
        (Protocol::Openai, openai, "/v1/models"),
        (Protocol::OpenaiChat, openai, "/v1/models"),
        (Protocol::Gemini, gemini, "/v1beta/models?pageSize=1000"),
    ] {
        let server = Server::start(vec![Reply::json(200, body)]);
        let names = list(&http(), &provider(protocol, server.url()), &|_| true).unwrap();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(server.requests()[0].path, path);
    }
}
