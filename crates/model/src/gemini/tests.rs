//! Streams of Gemini as its documentation shows them.

use agentry_protocol::message::{Image, Message, RawToolCall, SealedContent, Usage};
use serde_json::{Value, json};

use super::*;
use crate::ModelAnswer;
use crate::fixture::{
    SESSION, asking, body, call, check_cut_before_frame, check_prefix_share, outcome, read,
    read_in_all_pieces, request,
};

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../tests/it/fixtures/gemini/", $name, ".sse"))
    };
}

const MODEL: &str = "gemini-2.5-flash";

fn usage(input_tokens: u64, output_tokens: u64, cached_tokens: u64) -> Option<Usage> {
    Some(Usage { input_tokens, output_tokens, cached_tokens, ..Usage::default() })
}

fn asked(name: &str, input: Value) -> RawToolCall {
    RawToolCall { name: name.to_owned(), input }
}

fn said(answer: ModelAnswer) -> Message {
    let calls = answer.calls.into_iter().zip(1..);
    Message::Assistant {
        content: answer.text,
        thinking: answer.thinking,
        calls: calls.map(|(asked, number)| call(number, &asked.name, asked.input)).collect(),
        sealed: answer.sealed,
    }
}

fn stream(parts: &Value, finish: &str) -> String {
    let piece = json!({"candidates": [{"content": {"parts": parts}, "finishReason": finish}]});
    format!("data: {piece}\n\n")
}

#[test]
fn text_and_usage_are_the_same_in_all_pieces() {
    let answer = read_in_all_pieces(&Gemini, MODEL, fixture!("text"));
    let expected = ModelAnswer {
        text: "Grüße from a model.".to_owned(),
        usage: usage(2300, 6, 2048),
        ..ModelAnswer::default()
    };
    assert_eq!(answer, expected);
    check_cut_before_frame(&Gemini, MODEL, fixture!("text"), 3);
}

#[test]
fn thinking_is_heard_and_signatures_stay_with_their_parts() {
    let answer = read_in_all_pieces(&Gemini, MODEL, fixture!("thinking_and_calls"));
    let expected = ModelAnswer {
        text: "I look.".to_owned(),
        thinking: "**Looking**\n\nTwo files.".to_owned(),
        calls: vec![
            asked("read_file", json!({"path": "a.txt"})),
            asked("git/log", json!({"limit": 3})),
        ],
        sealed: Some(SealedContent {
            by: "gemini:gemini-2.5-flash".to_owned(),
            items: vec![json!({"thoughtSignature": "CpgCAdHtim9f", "part": 1})],
        }),
        usage: usage(61, 82, 0),
        ..ModelAnswer::default()
    };
    assert_eq!(answer, expected);
    check_cut_before_frame(&Gemini, MODEL, fixture!("thinking_and_calls"), 5);

    let request = request(vec![Message::user("go"), said(answer)]);
    let parts = json!([
        {"text": "I look."},
        {"functionCall": {"name": "read_file", "args": {"path": "a.txt"}}, "thoughtSignature": "CpgCAdHtim9f"},
        {"functionCall": {"name": "git__log", "args": {"limit": 3}}}]);
    assert_eq!(body(&Gemini, MODEL, &request)["contents"][1]["parts"], parts);
    // Another model's signatures are not sent to this one.
    let other = body(&Gemini, "gemini-2.5-pro", &request);
    assert_eq!(other["contents"][1]["parts"][1].get("thoughtSignature"), None);
}

#[test]
fn ids_of_gemini_3_go_back_with_calls_and_outcomes() {
    let model = "gemini-3-pro-preview";
    let answer = read_in_all_pieces(&Gemini, model, fixture!("gemini_3"));
    let messages = vec![
        Message::user("go"),
        said(answer),
        outcome(2, "two", true),
        outcome(1, "gone", false),
        asking("", vec![call(3, "git/log", json!({}))]),
    ];
    let expected = json!([
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [
            {"functionCall": {"id": "8f2b1a3c", "name": "read_file", "args": {"path": "a"}}, "thoughtSignature": "EuYBCu"},
            {"functionCall": {"id": "9c3d2b4e", "name": "read_file", "args": {"path": "b"}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "8f2b1a3c", "name": "read_file", "response": {"error": "gone"}}},
            {"functionResponse": {"id": "9c3d2b4e", "name": "read_file", "response": {"result": "two"}}}]},
        {"role": "model", "parts": [
            {"functionCall": {"name": "git__log", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "git__log", "response": {"error":
            "the call was interrupted before it had an outcome; nobody knows whether it happened"}}}]},
    ]);
    let written = body(&Gemini, model, &request(messages));
    assert_eq!(written["contents"].to_string(), expected.to_string());
}

#[test]
fn a_signature_without_words_goes_back_with_the_words_before_it() {
    let answer = read_in_all_pieces(&Gemini, MODEL, fixture!("text_signature"));
    let request = request(vec![Message::user("go"), said(answer)]);
    let part = json!({"text": "Done", "thoughtSignature": "EqcB"});
    assert_eq!(body(&Gemini, MODEL, &request)["contents"][1]["parts"], json!([part]));
}

#[track_caller]
fn check_failure(stream: &str, kind: FailureKind, word: &str) {
    let failure = read(&Gemini, MODEL, stream).answer.unwrap_err();
    assert_eq!(failure.kind, kind, "{}", failure.message);
    assert!(failure.message.contains(word), "{}", failure.message);
}

#[test]
fn the_length_limit_keeps_text_and_whole_calls() {
    let text =
        read(&Gemini, MODEL, &stream(&json!([{"text": "half of"}]), "MAX_TOKENS")).answer.unwrap();
    assert_eq!(text.text, "half of");
    let thought = json!([{"text": "hm", "thought": true}]);
    check_failure(&stream(&thought, "MAX_TOKENS"), FailureKind::Cut, "max_tokens");
}

#[test]
fn what_goes_wrong_in_a_stream_has_its_kind() {
    check_failure(fixture!("malformed_call"), FailureKind::Malformed, "default_api.read_file");
    check_failure(fixture!("blocked"), FailureKind::Refused, "PROHIBITED_CONTENT");
    let text = json!([{"text": "a"}]);
    for reason in
        ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "NEW"]
    {
        check_failure(&stream(&text, reason), FailureKind::Refused, reason);
    }
    check_failure(&stream(&text, "OTHER"), FailureKind::Overloaded, "OTHER");
    check_failure(
        &stream(&json!([{"functionCall": {}}]), "STOP"),
        FailureKind::Malformed,
        "no tool",
    );
    check_failure("data: {\n\n", FailureKind::Malformed, "cannot be read");
    check_failure("", FailureKind::Cut, "middle");
    let error = json!({"error": {"code": 503, "message": "boom", "status": "UNAVAILABLE"}});
    check_failure(&format!("data: {error}\n\n"), FailureKind::Overloaded, "boom");
}

#[test]
fn an_old_model_that_ends_with_each_piece_is_read_to_its_end() {
    let pieces = ["one ", "two"].map(|text| stream(&json!([{"text": text}]), "STOP")).concat();
    assert_eq!(read_in_all_pieces(&Gemini, "gemini-1.5-pro", &pieces).text, "one two");
}

#[test]
fn huge_arguments_are_read() {
    let parts =
        json!([{"functionCall": {"name": "read_file", "args": {"path": "x".repeat(8 << 20)}}}]);
    let answer = read(&Gemini, MODEL, &stream(&parts, "STOP")).answer.unwrap();
    assert_eq!(answer.calls[0].input["path"].as_str().unwrap().len(), 8 << 20);
}

#[test]
fn a_request_is_this() {
    let messages = vec![
        Message::User {
            content: "What is this?".to_owned(),
            images: vec![Image { media_type: "image/png".to_owned(), data: "aGk=".to_owned() }],
        },
        asking("Odd.", vec![call(1, "read_file", json!("{oh"))]),
        outcome(1, "text", true),
        Message::user("And"),
        Message::user("now?"),
    ];
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [
            {"name": "read_file", "description": "Does read_file.", "parametersJsonSchema":
                {"type": "object", "properties": {"path": {"type": "string"}}}},
            {"name": "git__log", "description": "Does git/log.",
                "parametersJsonSchema": {"type": "object", "properties": {}}}]}],
        "generationConfig": {"maxOutputTokens": 1000, "temperature": 0.5,
            "thinkingConfig": {"includeThoughts": true}},
        "contents": [
            {"role": "user", "parts": [{"text": "What is this?"},
                {"inlineData": {"mimeType": "image/png", "data": "aGk="}}]},
            {"role": "model", "parts": [{"text": "Odd."},
                {"functionCall": {"name": "read_file", "args": {"unreadable": "{oh"}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "read_file", "response": {"result": "text"}}}]},
            {"role": "user", "parts": [{"text": "And"}, {"text": "now?"}]},
        ],
    });
    let request = request(messages);
    // As text, because the order of the keys matters too.
    assert_eq!(body(&Gemini, MODEL, &request).to_string(), expected.to_string());
    let written =
        Gemini.write(CodecInput { request: &request, model: "models/a b?c", session: SESSION });
    assert_eq!(written.path, "/v1beta/models/a%20b%3Fc:streamGenerateContent?alt=sse");
}

#[test]
fn a_talk_that_begins_with_the_model_gets_a_user() {
    let written =
        body(&Gemini, MODEL, &request(vec![asking("Well.", Vec::new()), Message::user("x")]));
    let roles: Vec<&Value> =
        written["contents"].as_array().unwrap().iter().map(|c| &c["role"]).collect();
    assert_eq!(roles, ["user", "model", "user"]);
}

#[test]
fn only_models_that_show_their_thoughts_are_asked_for_them() {
    for (model, asked) in [
        ("gemini-2.5-pro", true),
        ("models/gemini-2.5-flash", true),
        ("gemini-3-pro-preview", true),
        ("gemini-2.5-flash-lite", false),
        ("gemini-2.0-flash", false),
        ("gemma-3-27b-it", false),
    ] {
        let body = body(&Gemini, model, &request(Vec::new()));
        assert_eq!(body["generationConfig"].get("thinkingConfig").is_some(), asked, "{model}");
    }
}

#[test]
fn each_request_begins_with_the_one_before() {
    check_prefix_share(&Gemini, "gemini-3-pro-preview");
}

#[test]
fn an_error_has_its_kind_by_status_and_words() {
    use FailureKind::{
        Authentication, ContextOverflow, InvalidRequest, Overloaded, RateLimited, Timeout,
        TooLarge, UnknownModel,
    };
    #[rustfmt::skip]
    let table = [
        (400, r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}"#, Authentication, "INVALID_ARGUMENT"),
        (400, r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#, ContextOverflow, "token count"),
        (400, r#"{"error":{"code":400,"message":"Invalid JSON payload received.","status":"INVALID_ARGUMENT"}}"#, InvalidRequest, "payload"),
        (400, r#"[{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}]"#, InvalidRequest, "location"),
        (400, r#"{"error":{"code":400,"message":"Request payload size exceeds the limit: 20971520 bytes.","status":"INVALID_ARGUMENT"}}"#, TooLarge, "payload size"),
        (401, r#"{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}"#, Authentication, "credentials"),
        (403, r#"{"error":{"code":403,"message":"Method doesn't allow unregistered callers","status":"PERMISSION_DENIED"}}"#, Authentication, "unregistered"),
        (404, r#"{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta","status":"NOT_FOUND"}}"#, UnknownModel, "gemini-9"),
        (404, "", InvalidRequest, "look at the base URL"),
        (408, "", Timeout, "408"),
        (413, "<html>", TooLarge, "<html>"),
        (500, r#"{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}"#, Overloaded, "internal"),
        (503, r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#, Overloaded, "overloaded"),
        (504, r#"{"error":{"code":504,"message":"Deadline expired","status":"DEADLINE_EXCEEDED"}}"#, Timeout, "Deadline"),
        (529, "", Overloaded, "529"),
        (429, r#"{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED"}}"#, RateLimited, "quota"),
    ];
    for (status, body, kind, words) in table {
        let failure = Gemini.failure(status, body);
        assert_eq!(failure.kind, kind, "{status} {body}: {}", failure.message);
        assert!(failure.message.contains(words), "{status} {body}: {}", failure.message);
        assert_eq!(failure.retry_after_ms, None);
    }
}

#[test]
fn how_long_to_wait_is_in_the_details() {
    let body = r#"{"error":{"code":429,"message":"Slow down.","status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.Help","links":[]},
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}"#;
    assert_eq!(Gemini.failure(429, body).retry_after_ms, Some(34_500));
}

#[test]
fn the_list_of_models_holds_those_that_answer() {
    let body = r#"{"models":[
        {"name":"models/gemini-2.5-pro","version":"2.5","supportedGenerationMethods":["generateContent","countTokens"]},
        {"name":"models/gemini-embedding-001","supportedGenerationMethods":["embedContent"]}],"nextPageToken":""}"#;
    assert_eq!(Gemini.models(body).unwrap(), ["gemini-2.5-pro"]);
    assert_eq!(Gemini.models("<html>").unwrap_err().kind, FailureKind::Malformed);
}
