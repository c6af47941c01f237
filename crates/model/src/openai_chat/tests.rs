//! Streams of OpenAI, DeepSeek, Ollama, OpenRouter and Mistral as their documentation shows them.

use std::time::{Duration, Instant};

use agentry_protocol::message::{FailureKind, Image, Message, RawToolCall, SealedContent, Usage};
use serde_json::{Value, json};

use super::*;
use crate::codec::AnswerFrame;
use crate::fixture::{
    asking, body, call, check_cut_before_frame, check_prefix_share, outcome, read, read_frames,
    read_in_all_pieces, request,
};
use crate::{Delta, ModelAnswer};

const OPENAI: OpenaiChat = OpenaiChat::new(ChatDialect::Openai);
const OTHERS: OpenaiChat = OpenaiChat::new(ChatDialect::Compatible);

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../tests/it/fixtures/openai_chat/", $name, ".sse"))
    };
}

fn asked(name: &str, input: Value) -> RawToolCall {
    RawToolCall { name: name.to_owned(), input }
}

fn usage(input_tokens: u64, output_tokens: u64, cached_tokens: u64) -> Option<Usage> {
    Some(Usage { input_tokens, output_tokens, cached_tokens, ..Usage::default() })
}

/// Returns a stream of these deltas, and its end.
fn stream(deltas: &[Value], finish: &str) -> String {
    let mut text = String::new();
    for delta in deltas {
        text += &format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]}));
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]});
    text + &format!("data: {end}\n\ndata: [DONE]\n\n")
}

fn call_piece(fields: &Value) -> Value {
    json!({"tool_calls": [fields]})
}

#[test]
fn text_and_usage_are_the_same_in_all_pieces() {
    let answer = read_in_all_pieces(&OPENAI, "gpt-4o-mini", fixture!("text"));
    let expected = ModelAnswer {
        text: "Grüße, world".to_owned(),
        usage: usage(2006, 300, 1920),
        ..ModelAnswer::default()
    };
    assert_eq!(answer, expected);
    check_cut_before_frame(&OPENAI, "gpt-4o-mini", fixture!("text"), 4);
}

#[test]
fn parallel_calls_come_in_pieces_and_are_none_when_cut() {
    let answer = read_in_all_pieces(&OPENAI, "gpt-4o", fixture!("parallel_calls"));
    let calls =
        [asked("read_file", json!({"path": "a.txt"})), asked("git/log", json!({"limit": 3}))];
    assert_eq!(answer.calls, calls);
    assert_eq!(answer.usage, usage(82, 37, 0));
    check_cut_before_frame(&OPENAI, "gpt-4o", fixture!("parallel_calls"), 8);
}

#[test]
fn thinking_of_deepseek_is_heard_and_wanted_back() {
    let answer = read_in_all_pieces(&OTHERS, "deepseek-reasoner", fixture!("deepseek_thinking"));
    let expected = ModelAnswer {
        text: "9.8".to_owned(),
        thinking: "Let me see.".to_owned(),
        sealed: Some(SealedContent {
            by: "openai-chat:deepseek-reasoner".to_owned(),
            items: vec![json!({"wants": "reasoning_content"})],
        }),
        usage: usage(17, 9, 16),
        ..ModelAnswer::default()
    };
    assert_eq!(answer, expected);
    check_cut_before_frame(&OTHERS, "deepseek-reasoner", fixture!("deepseek_thinking"), 5);
}

#[test]
fn whole_calls_of_ollama_that_all_count_as_the_first_are_two() {
    let answer = read_in_all_pieces(&OTHERS, "qwen3", fixture!("ollama_calls"));
    let calls =
        [asked("read_file", json!({"path": "a"})), asked("read_file", json!({"path": "b"}))];
    assert_eq!(answer.calls, calls);
    assert_eq!((answer.thinking.as_str(), answer.sealed), ("Both.", None));
    check_cut_before_frame(&OTHERS, "qwen3", fixture!("ollama_calls"), 4);
}

#[test]
fn signed_thinking_of_openrouter_is_put_together_and_sealed() {
    let answer = read_in_all_pieces(&OTHERS, "a/b", fixture!("openrouter_reasoning"));
    assert_eq!(answer.thinking, "Look first.");
    let details = json!([{"type": "reasoning.text", "text": "Look first.",
        "format": "anthropic-claude-v1", "index": 0, "signature": "c2ln"}]);
    let sealed = answer.sealed.unwrap();
    assert_eq!(sealed.items, [json!({"reasoning_details": details})]);
    let expected = Usage { cache_write_tokens: 50, ..usage(194, 2, 100).unwrap() };
    assert_eq!(answer.usage, Some(expected));

    let said = Message::Assistant {
        content: String::new(),
        thinking: "Look first.".to_owned(),
        calls: vec![call(1, "read_file", json!({}))],
        sealed: Some(sealed),
    };
    let request = request(vec![Message::user("x"), said, outcome(1, "y", true)]);
    assert_eq!(body(&OTHERS, "a/b", &request)["messages"][2]["reasoning_details"], details);
    assert_eq!(body(&OTHERS, "c/d", &request)["messages"][2].get("reasoning_details"), None);
}

#[test]
fn thinking_of_mistral_comes_as_a_list() {
    let answer = read_in_all_pieces(&OTHERS, "magistral", fixture!("mistral_thinking"));
    assert_eq!((answer.thinking.as_str(), answer.text.as_str()), ("So.", "Yes."));
}

#[test]
fn calls_are_put_together_however_they_are_counted() {
    let a = json!({"name": "read_file", "arguments": "{\"path\": \"a\"}"});
    let b = json!({"name": "read_file", "arguments": "{\"path\": \"b\"}"});
    let both = [asked("read_file", json!({"path": "a"})), asked("read_file", json!({"path": "b"}))];
    let whole_and_uncounted =
        [call_piece(&json!({"function": a})), call_piece(&json!({"function": b}))];
    let in_one_list =
        [json!({"tool_calls": [{"id": "x", "function": a}, {"id": "y", "function": b}]})];
    let repeated = [
        call_piece(
            &json!({"index": 0, "id": "x", "function": {"name": "read_file", "arguments": "{\"path\":"}}),
        ),
        call_piece(
            &json!({"index": 0, "id": "x", "function": {"name": "read_file", "arguments": " \"a\"}"}}),
        ),
        call_piece(
            &json!({"index": 1, "id": "y", "function": {"name": "read_file", "arguments": "{\"path\": \"b\"}"}}),
        ),
    ];
    let crossed = [
        call_piece(&json!({"index": 0, "function": {"name": "read_file"}})),
        call_piece(&json!({"index": 1, "function": {"name": "read_file"}})),
        call_piece(&json!({"index": 0, "function": {"arguments": "{\"path\": \"a"}})),
        call_piece(&json!({"index": 1, "function": {"arguments": "{\"path\": \"b"}})),
        call_piece(&json!({"index": 0, "function": {"arguments": "\"}"}})),
        call_piece(&json!({"index": 1, "function": {"arguments": "\"}"}})),
    ];
    let uncounted_in_pieces = [
        call_piece(&json!({"id": "x", "function": {"name": "read_file", "arguments": ""}})),
        call_piece(&json!({"function": {"arguments": "{\"path\": \"a\"}"}})),
        call_piece(&json!({"id": "y", "function": {"name": "read_file", "arguments": ""}})),
        call_piece(&json!({"id": "y", "function": {"arguments": "{\"path\": \"b\"}"}})),
    ];
    for deltas in
        [&whole_and_uncounted[..], &in_one_list, &repeated, &crossed, &uncounted_in_pieces]
    {
        for finish in ["tool_calls", "stop"] {
            let answer = read_in_all_pieces(&OTHERS, "m", &stream(deltas, finish));
            assert_eq!(answer.calls, both, "{deltas:?}");
        }
    }
}

#[test]
fn the_old_single_call_is_a_call() {
    let deltas = [
        json!({"function_call": {"name": "read_file", "arguments": "{\"path\":"}}),
        json!({"function_call": {"arguments": " \"a\"}"}}),
    ];
    let answer = read_in_all_pieces(&OTHERS, "m", &stream(&deltas, "function_call"));
    assert_eq!(answer.calls, [asked("read_file", json!({"path": "a"}))]);
}

#[test]
fn arguments_that_cannot_be_read_are_kept_as_text() {
    let piece =
        call_piece(&json!({"index": 0, "function": {"name": "read_file", "arguments": "{oh"}}));
    let answer = read_in_all_pieces(&OTHERS, "m", &stream(&[piece], "tool_calls"));
    assert_eq!(answer.calls, [asked("read_file", json!("{oh"))]);
}

#[track_caller]
fn check_failure(stream: &str, kind: FailureKind, word: &str) {
    let failure = read(&OTHERS, "m", stream).answer.unwrap_err();
    assert_eq!(failure.kind, kind, "{}", failure.message);
    assert!(failure.message.contains(word), "{}", failure.message);
}

#[test]
fn the_length_limit_drops_calls_and_keeps_text() {
    let begun =
        call_piece(&json!({"index": 0, "function": {"name": "read_file", "arguments": "{\"path"}}));
    let named =
        call_piece(&json!({"index": 0, "function": {"name": "read_file", "arguments": ""}}));
    let whole =
        call_piece(&json!({"index": 0, "function": {"name": "read_file", "arguments": "{}"}}));
    check_failure(&stream(&[begun], "length"), FailureKind::Cut, "max_tokens");
    check_failure(&stream(&[named], "length"), FailureKind::Cut, "max_tokens");
    check_failure(&stream(&[json!({"reasoning": "hm"})], "length"), FailureKind::Cut, "max_tokens");
    assert_eq!(read(&OTHERS, "m", &stream(&[whole], "length")).answer.unwrap().calls.len(), 1);
    let text = stream(&[json!({"content": "half of"})], "length");
    assert_eq!(read(&OTHERS, "m", &text).answer.unwrap().text, "half of");
}

#[test]
fn what_goes_wrong_in_a_stream_has_its_kind() {
    let text = json!({"content": "a"});
    let refusal = json!({"refusal": "I can't help with that."});
    let nameless = call_piece(&json!({"index": 0, "function": {"arguments": "{}"}}));
    check_failure(
        &stream(std::slice::from_ref(&text), "content_filter"),
        FailureKind::Refused,
        "filter",
    );
    check_failure(&stream(&[refusal], "stop"), FailureKind::Refused, "I can't help");
    check_failure(&stream(&[text], "insufficient_system_resource"), FailureKind::Overloaded, "");
    check_failure(&stream(&[nameless], "tool_calls"), FailureKind::Malformed, "names no tool");
    check_failure("data: {\"choices\": [{\n\n", FailureKind::Malformed, "cannot be read");
    check_failure("data: <html>\n\n", FailureKind::Malformed, "<html>");
    check_failure("data: [DONE]\n\n", FailureKind::Cut, "middle");
    check_failure("", FailureKind::Cut, "middle");
    for (error, kind) in [
        (
            r#"{"error":{"message":"boom","type":"server_error","code":null}}"#,
            FailureKind::Overloaded,
        ),
        (
            r#"{"error":{"message":"boom","code":502,"metadata":{"raw":"x"}},"choices":[]}"#,
            FailureKind::Overloaded,
        ),
        (r#"{"error":{"message":"boom","code":"rate_limit_exceeded"}}"#, FailureKind::RateLimited),
        (
            r#"{"error":{"message":"boom","code":"context_length_exceeded"}}"#,
            FailureKind::ContextOverflow,
        ),
        (r#"{"error":"boom"}"#, FailureKind::Overloaded),
        (
            r#"{"object":"error","message":"boom","type":"BadRequestError","code":400}"#,
            FailureKind::InvalidRequest,
        ),
    ] {
        check_failure(&format!("data: {error}\n\n"), kind, "boom");
    }
}

#[test]
fn done_alone_ends_a_whole_answer_but_not_half_a_call() {
    let chunk = |delta: Value| {
        format!("data: {}\n\ndata: [DONE]\n\n", json!({"choices": [{"delta": delta}]}))
    };
    let text = read(&OTHERS, "m", &chunk(json!({"content": "hi"}))).answer.unwrap();
    assert_eq!(text.text, "hi");
    let half =
        call_piece(&json!({"function": {"name": "read_file", "arguments": "{\"path\": \"a"}}));
    check_failure(&chunk(half), FailureKind::Cut, "middle");
}

#[test]
fn huge_arguments_in_small_pieces_take_linear_time() {
    let frame = |fields: Value| AnswerFrame {
        event: None,
        data: json!({"choices": [{"index": 0, "delta": {"tool_calls": [fields]}}]}).to_string(),
    };
    let mut frames = vec![frame(
        json!({"index": 0, "id": "x", "function": {"name": "read_file", "arguments": "{\"path\": \""}}),
    )];
    let piece = frame(json!({"index": 0, "function": {"arguments": "x".repeat(40)}}));
    frames.extend(std::iter::repeat_n(piece, 8 * 1024 * 1024 / 40));
    frames.push(frame(json!({"index": 0, "function": {"arguments": "\"}"}})));
    frames.push(AnswerFrame {
        event: None,
        data: r#"{"choices":[{"finish_reason":"tool_calls"}]}"#.to_owned(),
    });
    let begin = Instant::now();
    let answer = read_frames(&OPENAI, "m", &frames).answer.unwrap();
    assert_eq!(answer.calls[0].input["path"].as_str().unwrap().len(), 8 * 1024 * 1024 / 40 * 40);
    // Quadratic work would take hours, linear work takes seconds; a busy machine is given minutes.
    assert!(begin.elapsed() < Duration::from_secs(600), "{:?}", begin.elapsed());
}

#[test]
fn the_first_piece_of_a_call_tells_its_name() {
    let heard = read(&OPENAI, "m", fixture!("parallel_calls")).heard;
    let first = Delta::Call { index: 0, name: "read_file".to_owned(), piece: String::new() };
    assert_eq!(heard[0], first);
}

fn talk() -> Vec<Message> {
    vec![
        Message::User {
            content: "What is this?".to_owned(),
            images: vec![Image { media_type: "image/png".to_owned(), data: "aGk=".to_owned() }],
        },
        asking(
            "",
            vec![call(1, "read_file", json!({"path": "a"})), call(2, "git/log", json!("{oh"))],
        ),
        outcome(1, "no such file", false),
        asking("Odd.", vec![call(3, "read_file", json!({}))]),
        outcome(3, "", true),
        Message::user("And"),
        Message::user("now?"),
    ]
}

#[test]
fn a_request_for_other_servers_is_this() {
    let expected = json!({
        "model": "qwen3", "stream": true, "stream_options": {"include_usage": true},
        "max_tokens": 1000, "temperature": 0.5,
        "tools": [
            {"type": "function", "function": {"name": "read_file", "description": "Does read_file.",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}},
            {"type": "function", "function": {"name": "git__log", "description": "Does git/log.",
                "parameters": {"type": "object", "properties": {}}}},
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "c00000000", "type": "function",
                    "function": {"name": "read_file", "arguments": "{\"path\":\"a\"}"}},
                {"id": "c00000001", "type": "function",
                    "function": {"name": "git__log", "arguments": "{\"unreadable\":\"{oh\"}"}}]},
            {"role": "tool", "tool_call_id": "c00000000", "content": "Error: no such file"},
            {"role": "tool", "tool_call_id": "c00000001", "content":
                "Error: the call was interrupted before it had an outcome; nobody knows whether it happened"},
            {"role": "assistant", "content": "Odd.", "tool_calls": [
                {"id": "c00000002", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c00000002", "content": ""},
            {"role": "user", "content": "And\n\nnow?"},
        ],
    });
    let written = body(&OTHERS, "qwen3", &request(talk()));
    // As text, because the order of the keys matters too.
    assert_eq!(written.to_string(), expected.to_string());
}

#[test]
fn a_request_for_openai_differs_in_three_things() {
    let written = body(&OPENAI, "gpt-5", &request(talk()));
    assert_eq!(written["max_completion_tokens"], json!(1000));
    assert_eq!(written.get("max_tokens"), None);
    assert_eq!(written["prompt_cache_key"], json!("ses_test"));
    assert_eq!(written["messages"][2]["content"], Value::Null);
    assert_eq!(written.as_object().unwrap().keys().next_back().unwrap(), "messages");
}

#[test]
fn thinking_goes_back_beside_calls_to_those_that_want_it() {
    let said = |calls| Message::Assistant {
        content: "so".to_owned(),
        thinking: "hm".to_owned(),
        calls,
        sealed: Some(SealedContent {
            by: "openai-chat:deepseek-reasoner".to_owned(),
            items: vec![json!({"wants": "reasoning_content"})],
        }),
    };
    let calls = vec![call(1, "read_file", json!({}))];
    let request =
        request(vec![Message::user("x"), said(calls), Message::user("y"), said(Vec::new())]);
    let messages = &body(&OTHERS, "deepseek-reasoner", &request)["messages"];
    assert_eq!(messages[2]["reasoning_content"], json!("hm"));
    assert_eq!(messages[5].get("reasoning_content"), None);
    assert_eq!(body(&OTHERS, "gpt-4o", &request)["messages"][2].get("reasoning_content"), None);
}

#[test]
fn what_gemini_wants_back_with_a_call_goes_back_with_it() {
    let extra = json!({"google": {"thought_signature": "c2ln"}});
    let piece = call_piece(&json!({"index": 0, "id": "f", "extra_content": extra,
        "function": {"name": "read_file", "arguments": "{}"}}));
    let answer = read_in_all_pieces(&OTHERS, "gemini-3", &stream(&[piece], "tool_calls"));
    let said = Message::Assistant {
        content: String::new(),
        thinking: String::new(),
        calls: vec![call(1, "read_file", json!({}))],
        sealed: answer.sealed,
    };
    let written = body(&OTHERS, "gemini-3", &request(vec![Message::user("x"), said]));
    assert_eq!(written["messages"][2]["tool_calls"][0]["extra_content"], extra);
}

#[test]
fn each_request_begins_with_the_one_before() {
    for wire in [OPENAI, OTHERS] {
        check_prefix_share(&wire, "gpt-4o");
    }
}

#[test]
fn an_error_has_its_kind_by_status_and_words() {
    use FailureKind::{
        Authentication, ContextOverflow, InvalidRequest, Other, Overloaded, RateLimited, Refused,
        Timeout, TooLarge, UnknownModel,
    };
    #[rustfmt::skip]
    let table = [
        (400, r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#, ContextOverflow, "maximum context"),
        (400, r#"{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}"#, ContextOverflow, "available context"),
        (400, r#"{"error":{"message":"Unsupported value: 'temperature'","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}"#, InvalidRequest, "unsupported_value"),
        (400, r#"{"object":"error","message":"Invalid model: x","type":"invalid_model","param":null,"code":"1500"}"#, UnknownModel, "Invalid model"),
        (400, r#"{"error":{"message":"The response was filtered","code":"content_filter"}}"#, Refused, "filtered"),
        (400, r#"{"error":{"message":"Incorrect API key provided: sk-a***b."}}"#, Authentication, "Incorrect"),
        (401, r#"{"error":{"message":"Incorrect API key provided: sk-a***b.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#, Authentication, "invalid_api_key"),
        (402, r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#, Other, "the account has no credit: Insufficient"),
        (403, "Forbidden", Authentication, "status 403: Forbidden"),
        (403, r#"{"error":{"code":403,"message":"Your input was flagged","metadata":{"reasons":["violence"]}}}"#, Refused, "flagged"),
        (404, r#"{"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#, UnknownModel, "gpt-9"),
        (404, r#"{"error":{"message":"model 'x' not found","type":"api_error","param":null,"code":null}}"#, UnknownModel, "'x' not found"),
        (404, "<html>\n<h1>nginx</h1>", InvalidRequest, "status 404: <html>\\n<h1>nginx</h1>"),
        (404, "", InvalidRequest, "look at the base URL"),
        (404, r#"{"detail":"Not Found"}"#, InvalidRequest, "Not Found (status 404); look at the base URL"),
        (400, r#"{"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}"#, ContextOverflow, "prompt length"),
        (400, r#"{"error":{"message":"'max_tokens' is too large: 40000. This model's maximum context length is 32768 tokens","code":400}}"#, InvalidRequest, "too large"),
        (408, "", Timeout, "status 408"),
        (413, "<html>413 Request Entity Too Large</html>", TooLarge, "413"),
        (422, r#"{"detail":[{"loc":["body","tools"],"msg":"field required"}]}"#, InvalidRequest, "field required"),
        (429, r#"{"error":{"message":"Rate limit reached for gpt-4o","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#, RateLimited, "Rate limit"),
        (429, r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#, Other, "the account has no credit"),
        (500, r#"{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}"#, Overloaded, "server_error"),
        (500, r#"{"error":"llama runner process has terminated"}"#, Overloaded, "llama runner"),
        (502, "", Overloaded, "502"),
        (503, r#"{"error":{"message":"Provider returned error","code":503,"metadata":{"raw":"no capacity"}}}"#, Overloaded, "no capacity (status 503)"),
        (504, "upstream timed out", Overloaded, "upstream"),
        (529, "{}", Overloaded, "529"),
    ];
    for (status, body, kind, words) in table {
        let failure = OTHERS.failure(status, body);
        assert_eq!(failure.kind, kind, "{status} {body}: {}", failure.message);
        assert!(failure.message.contains(words), "{status} {body}: {}", failure.message);
    }
    let long = OTHERS.failure(500, &"\n\u{1b}".repeat(5000)).message;
    assert!(long.chars().count() < 400 && !long.contains('\u{1b}'), "{long}");
}

#[test]
fn the_list_of_models_is_read() {
    let body = r#"{"object":"list","data":[{"id":"gpt-4o","object":"model","created":1,"owned_by":"openai"},{"id":"o3","object":"model"}]}"#;
    assert_eq!(OPENAI.models(body).unwrap(), ["gpt-4o", "o3"]);
    assert_eq!(OPENAI.models("<html>").unwrap_err().kind, FailureKind::Malformed);
    assert_eq!(OPENAI.models_path(), "/models");
}
