//! Recording exchanges and playing them back.
//!
//! Must never: keep a key, or answer what was not asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentry_model::{HttpError, HttpSettings, Protocol, ProviderClient, RecordingMode, list, open};
use agentry_protocol::CallId;
use agentry_protocol::message::{FailureKind, Message, ModelRequest};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolCall;
use serde_json::{Value, json};

use crate::http_asking::{KEY, Told, ask, ask_while, hello, model, provider, request, with};
use crate::server::{Reply, Server};

const PARALLEL: &str = include_str!("fixtures/anthropic/parallel_calls.sse");
const BASIC: &str = include_str!("fixtures/anthropic/basic.sse");

fn taped(tape: RecordingMode) -> Arc<ProviderClient> {
    let redact = Arc::new(|text: &str| text.replace("hunter2", "[secret]"));
    with(HttpSettings { tape: Some(tape), redact, ..HttpSettings::default() })
}

fn play(file: &Path, request: &ModelRequest) -> Told {
    let http = taped(RecordingMode::Play(file.to_owned()));
    let model = open(&http, &provider(Protocol::Anthropic, "https://other.example"), "the-model");
    ask(&*model.expect("a good provider"), request)
}

fn record(file: &Path, replies: Vec<Reply>, request: &ModelRequest) -> Vec<Told> {
    let count = replies.len();
    let server = Server::start(replies);
    let http = taped(RecordingMode::Record(file.to_owned()));
    let model = model(&http, Protocol::Anthropic, &server);
    (0..count).map(|_| ask(&*model, request)).collect()
}

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).expect("the tape");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("tape.jsonl");
    (directory, file)
}

#[test]
fn what_was_recorded_is_played_without_a_network() {
    let (_directory, file) = place();
    let mut told = record(&file, vec![Reply::sse(PARALLEL).pieces_of(13)], &hello());
    let recorded = told.remove(0).answer.unwrap();
    let line = lines(&file).remove(0);
    assert!(line["response"]["chunks"].as_array().unwrap().len() > 100);
    assert_eq!(line["request"]["body"]["messages"][0]["content"][0]["text"], "Hello");
    let played = play(&file, &hello());
    assert_eq!(played.answer.unwrap(), recorded);
}

#[test]
fn the_file_is_private_and_never_overwritten() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, file) = place();
    record(&file, vec![Reply::sse(BASIC)], &hello());
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let before = std::fs::read(&file).unwrap();
    let tape = Some(RecordingMode::Record(file.clone()));
    let error = ProviderClient::new(HttpSettings { tape, ..HttpSettings::default() }).unwrap_err();
    assert!(matches!(error, HttpError::Tape(_)));
    let name = file.display();
    assert_eq!(
        error.to_string(),
        format!("{name} is there already; name a new file for the recording")
    );
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn keys_and_secrets_are_not_written() {
    let (_directory, file) = place();
    let said = BASIC.replace("Hello", "the password is hunter2");
    let asked = request(vec![Message::user("My password is hunter2, \"remember\" it.")]);
    let told = record(
        &file,
        vec![Reply::sse(said).pieces_of(3).header("x-request-id", "hunter2")],
        &asked,
    );
    assert_eq!(told[0].answer.as_ref().unwrap().text, "the password is hunter2!");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains(KEY) && !text.contains("x-api-key"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    assert!(text.contains("My password is [secret], \\\"remember\\\" it."), "{text}");
    assert_eq!(play(&file, &asked).answer.unwrap().text, "the password is [secret]!");
}

#[test]
fn another_request_is_refused_and_its_first_difference_named() {
    let (_directory, file) = place();
    record(&file, vec![Reply::sse(BASIC)], &hello());
    let told = play(&file, &request(vec![Message::user("Good bye")]));
    assert_eq!(told.kind(), FailureKind::ScriptBroken);
    let message = &told.failure().message;
    assert!(
        message.ends_with("/messages/0/content/0/text was `\"Hello\"` and is `\"Good bye\"`"),
        "{message}"
    );
    let http = taped(RecordingMode::Play(file));
    let failure = list(&http, &provider(Protocol::Anthropic, "https://x.example"), &|_| true);
    assert!(failure.unwrap_err().message.ends_with("the method was `POST` and is `GET`"));
}

#[test]
fn a_tape_that_is_over_says_so() {
    let (_directory, file) = place();
    record(&file, vec![Reply::sse(BASIC)], &hello());
    let http = taped(RecordingMode::Play(file));
    let provider = provider(Protocol::Anthropic, "https://x.example");
    let model = open(&http, &provider, "the-model").unwrap();
    assert!(ask(&*model, &hello()).answer.is_ok());
    let told = ask(&*model, &hello());
    assert_eq!(told.kind(), FailureKind::ScriptEnded);
    assert!(told.failure().message.ends_with("has 1 exchanges, and this is request 2"));
}

#[test]
fn failures_are_played_as_they_were() {
    let (_directory, file) = place();
    let limited = Reply::json(429, "{}").header("retry-after", "7").header("request-id", "req_9");
    let told = record(&file, vec![limited, Reply::sse(BASIC).cut_at(300)], &hello());
    assert_eq!(told[1].kind(), FailureKind::Cut);
    let http = taped(RecordingMode::Play(file.clone()));
    let model =
        open(&http, &provider(Protocol::Anthropic, "https://x.example"), "the-model").unwrap();
    for recorded in &told {
        assert_eq!(ask(&*model, &hello()).failure(), recorded.failure());
    }
}

#[test]
fn a_connection_that_failed_and_an_interrupt_are_recorded_too() {
    let (_directory, file) = place();
    let http = taped(RecordingMode::Record(file.clone()));
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let gone = provider(Protocol::Anthropic, format!("http://127.0.0.1:{port}"));
    let told = ask(&*open(&http, &gone, "the-model").unwrap(), &hello());
    assert_eq!(told.kind(), FailureKind::Connection);
    let server = Server::start(vec![Reply::sse(BASIC).stall_before_head()]);
    let stopped = ask_while(&*model(&http, Protocol::Anthropic, &server), &hello(), &|_| false);
    assert_eq!(stopped.kind(), FailureKind::Interrupted);
    let lines = lines(&file);
    assert_eq!(lines[0]["response"]["failure"]["kind"], "connection");
    assert_eq!(lines[1]["response"]["failure"]["kind"], "interrupted");
    assert_eq!(play(&file, &hello()).failure(), told.failure());
}

#[test]
fn ids_of_another_run_count_as_the_same() {
    let with_id = |number: u128| {
        let id = CallId::from_number(number);
        let call =
            ToolCall { id: id.clone(), tool: ToolName::canonical("get_weather"), input: json!({}) };
        request(vec![
            Message::user("Look"),
            Message::Assistant {
                content: String::new(),
                thinking: String::new(),
                calls: vec![call],
                sealed: None,
            },
            Message::Tool { call: id, content: "rain".to_owned(), ok: true },
        ])
    };
    let (_directory, file) = place();
    record(&file, vec![Reply::sse(BASIC)], &with_id(1));
    assert!(play(&file, &with_id(u128::MAX / 3)).answer.is_ok());
}

#[test]
fn a_letter_that_was_cut_in_two_is_recorded_whole() {
    let (_directory, file) = place();
    let told = record(&file, vec![Reply::sse(PARALLEL).pieces_of(1)], &hello());
    let played = play(&file, &hello());
    assert_eq!(played.answer.unwrap().text, told[0].answer.as_ref().unwrap().text);
}

#[test]
fn a_tape_that_is_none_is_named_with_its_line() {
    let (_directory, file) = place();
    let opened = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let tape = Some(RecordingMode::Play(file.clone()));
        ProviderClient::new(HttpSettings { tape, ..HttpSettings::default() })
            .err()
            .map(|e| e.to_string())
    };
    assert_eq!(opened("\n"), None);
    let error = opened("\n{\"request\": 1}\n").unwrap();
    assert!(error.starts_with(&format!("{}:2: ", file.display())), "{error}");
    std::fs::remove_file(&file).unwrap();
    let tape = Some(RecordingMode::Play(file.clone()));
    let error = ProviderClient::new(HttpSettings { tape, ..HttpSettings::default() }).unwrap_err();
    assert!(error.to_string().contains("cannot use the recording"), "{error}");
}
