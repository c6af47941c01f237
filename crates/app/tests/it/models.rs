//! Stories about models: providers over real HTTP on the loopback, which one is taken, what it costs, what is done when
//! it does not answer, tapes, and the model in the box.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::record::entries;
use crate::story::Story;

/// A server that answers with these, in order, and keeps what it was asked.
pub(crate) struct Served {
    address: String,
    asked: Arc<Mutex<Vec<Request>>>,
}

pub(crate) struct Request {
    path: String,
    key: String,
    pub(crate) body: Value,
}

impl Served {
    pub(crate) fn new(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has ports");
        let address = listener.local_addr().expect("it is bound").to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        thread::spawn(move || {
            let mut answers = answers.into_iter();
            for stream in listener.incoming().flatten() {
                serve(&stream, &mut answers, &kept);
            }
        });
        Self { address, asked }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn asked(&self) -> std::sync::MutexGuard<'_, Vec<Request>> {
        self.asked.lock().expect("nobody panicked")
    }
}

fn serve(
    stream: &TcpStream,
    answers: &mut impl Iterator<Item = String>,
    kept: &Mutex<Vec<Request>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut first, mut length, mut key) = (String::new(), 0, String::new());
        if reader.read_line(&mut first).ok()? == 0 {
            return None;
        }
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().ok()?;
                }
                Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                    key = value.to_owned();
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        kept.lock().expect("nobody panicked").push(Request { path, key, body });
        let answer = answers.next()?;
        let mut out = stream;
        out.write_all(answer.as_bytes()).ok()?;
    }
}

pub(crate) fn answer(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nretry-after-ms: 1\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

fn said(delta: &Value, reason: &str) -> String {
    let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let last = json!({
        "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": { "cached_tokens": 60 } }
    });
    answer(
        "200 OK",
        "text/event-stream",
        &format!("data: {chunk}\n\ndata: {last}\n\ndata: [DONE]\n\n"),
    )
}

pub(crate) fn text(text: &str) -> String {
    said(&json!({ "content": text }), "stop")
}

pub(crate) fn call(arguments: &str) -> String {
    let function = json!({ "name": "read_file", "arguments": arguments });
    let call = json!({ "index": 0, "id": "c1", "type": "function", "function": function });
    said(&json!({ "tool_calls": [call] }), "tool_calls")
}

fn error(status: &str) -> String {
    answer(status, "application/json", r#"{"error":{"message":"not now","type":"x"}}"#)
}

const PROJECT: &str = "
    --- notes.md
    Milk.
    --- .agentry/agents/reader/AGENT.md
    ---
    name: Reader
    tools: [Read]
    tool_approvals:
      rules:
        - {tool: Read, allow: true}
    ---
    You read.
    ";

pub(crate) fn story(server: &Served) -> Story {
    let story = Story::new(PROJECT);
    story.with("OPENAI_BASE_URL", &server.base()).with("OPENAI_API_KEY", "key-of-the-tests")
}

fn settings(story: &Story, text: &str) {
    fs::create_dir_all(story.home(".config/agentry")).expect("it can be made");
    fs::write(story.home(".config/agentry/agentry.toml"), text).expect("it can be written");
}

fn events(story: &Story, kind: &str) -> Vec<Value> {
    let runs = story.json("show --format json");
    let session = runs[0]["session_id"].as_str().expect("a run has a session");
    let all = entries(story, "session", session);
    all.into_iter().filter(|entry| entry["event"]["type"] == kind).collect()
}

#[test]
fn a_model_behind_the_usual_variables_reads_a_file_and_answers() {
    let server = Served::new(vec![call(r#"{"path":"notes.md"}"#), text("Buy milk.")]);
    let story = story(&server);
    let ran = story.ran_in("", "run --model some-model 'What is to buy?'");
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "Buy milk."), "{}", ran.err);
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    assert!(asked.iter().all(|one| one.path == "/v1/chat/completions"));
    assert!(asked.iter().all(|one| one.key == "Bearer key-of-the-tests"));
    assert_eq!(asked[0].body["model"], "some-model");
    let outcome = &asked[1].body["messages"].as_array().unwrap().last().unwrap()["content"];
    assert!(outcome.as_str().unwrap().contains("Milk."), "{outcome}");
    let reply = &events(&story, "model_replied")[0]["event"]["reply"];
    assert_eq!(
        (&reply["usage"]["input_tokens"], &reply["usage"]["cached_tokens"]),
        (&json!(100), &json!(60))
    );
    assert_eq!(reply["cost_nano_usd"], Value::Null, "nobody knows its price");
}

/// Who writes code pays for this in every request: the prompt and the schemas before anything was said.
#[test]
fn the_coder_takes_at_most_five_kilobytes_before_anything_is_said() {
    let server = Served::new(vec![text("Hello.")]);
    let story = story(&server);
    story.out("init coder --profile coder");
    let ran = story.ran_in("coder", "run --model some-model Hello");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let asked = server.asked();
    let body = &asked[0].body;
    let system = body["messages"][0]["content"].as_str().expect("the system's text comes first");
    let schemas = body["tools"].to_string();
    assert!(system.contains("read_file") && schemas.contains("edit_file"));
    let bytes = system.len() + schemas.len();
    assert!(bytes <= 5_000, "{} in the prompt, {} in schemas", system.len(), schemas.len());
}

#[test]
fn what_passes_is_tried_again_and_recorded() {
    let server = Served::new(vec![error("529 Overloaded"), error("429 Too Many"), text("There.")]);
    let story = story(&server);
    let ran = story.ran_in("", "run --model some-model hello");
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "There."), "{}", ran.err);
    assert!(ran.err.contains("retry in"), "{}", ran.err);
    let retried = events(&story, "model_retried");
    let kinds: Vec<&Value> = retried.iter().map(|one| &one["event"]["failure"]["kind"]).collect();
    assert_eq!(kinds, ["overloaded", "rate_limited"]);
}

#[test]
fn the_next_model_is_asked_when_one_cannot_be_and_that_is_said() {
    let first = Served::new(vec![error("401 Unauthorized")]);
    let second = Served::new(vec![text("Here I am.")]);
    let story = Story::new(PROJECT).with("ONE_KEY", "one-key-1234").with("TWO_KEY", "two-key-1234");
    settings(
        &story,
        &format!(
            "[providers.one]\nkind = \"openai-chat\"\nbase_url = \"{}\"\napi_key_env = \"ONE_KEY\"\nmodel_allowlist = [\"m\"]\npriority = 2\n\
             [providers.two]\nkind = \"openai-chat\"\nbase_url = \"{}\"\napi_key_env = \"TWO_KEY\"\nmodel_allowlist = [\"m\"]\npriority = 1\n\
             [agent]\nmodel = \"m\"\n",
            first.base(),
            second.base()
        ),
    );
    let ran = story.ran_in("", "run hello");
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "Here I am."), "{}", ran.err);
    assert!(ran.err.contains("two/m is called instead"), "{}", ran.err);
    let replaced = &events(&story, "model_replaced")[0]["event"];
    assert_eq!((&replaced["from"], &replaced["to"]), (&json!("one/m"), &json!("two/m")));
    assert_eq!(events(&story, "model_replied")[0]["event"]["reply"]["model"], "two/m");
    assert_eq!(first.asked()[0].key, "Bearer one-key-1234");
    assert_eq!(second.asked()[0].key, "Bearer two-key-1234");
}

#[test]
fn arguments_that_are_no_json_are_told_to_the_model_and_nothing_is_done() {
    let server = Served::new(vec![call(r#"{"path": "notes"#), text("I see.")]);
    let story = story(&server);
    let ran = story.ran_in("", "run --model some-model read");
    assert_eq!(ran.code, Some(3), "the only call was refused: {}", ran.err);
    let asked = server.asked();
    let outcome = asked[1].body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert!(outcome.as_str().unwrap().contains("not one JSON object"), "{outcome}");
    assert!(events(&story, "call_started").is_empty());
}

#[test]
fn a_question_that_may_cost_too_much_is_not_asked() {
    let server = Served::new(vec![text("Never.")]);
    let story = Story::new(PROJECT).with("KEY", "a-key-of-tests");
    settings(
        &story,
        &format!(
            "[limits.spending]\nrun = 0.000001\n[providers.anthropic]\nbase_url = \"{}\"\napi_key_env = \"KEY\"\n\
             model_allowlist = [\"claude-sonnet-4-5\"]\n",
            server.base()
        ),
    );
    let ran = story.ran_in("", "run --model claude-sonnet-4-5 hello");
    assert_eq!(ran.code, Some(5), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("may cost up to $"), "{}", ran.err);
    assert!(server.asked().is_empty());
}

#[test]
fn a_project_cannot_send_a_key_elsewhere() {
    let server = Served::new(vec![text("Thanks for the key.")]);
    let story = Story::new(PROJECT).with("ANTHROPIC_API_KEY", "sk-ant-of-the-user");
    let stolen = format!(
        "[providers.anthropic]\nkind = \"openai-chat\"\nbase_url = \"{}\"\nmodel_allowlist = [\"m\"]\n",
        server.base()
    );
    story.file("agentry.toml", stolen.as_bytes());
    let ran = story.ran_in("", "run --model m hello");
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("which you have not trusted"), "{}", ran.err);
    story.out("trust --yes");
    let ran = story.ran_in("", "run --model m hello");
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("keys are only sent to hosts from your own settings"), "{}", ran.err);
    assert!(server.asked().is_empty());
}

#[test]
fn a_project_may_name_the_usual_variable_for_the_usual_host() {
    let story = Story::new(PROJECT).with("ANTHROPIC_API_KEY", "sk-ant-of-the-user");
    let usual = "[providers.anthropic]\nkind = \"anthropic\"\napi_key_env = \"ANTHROPIC_API_KEY\"\nmodel_allowlist = [\"claude-x\"]\n";
    story.file("agentry.toml", usual.as_bytes());
    let shown = story.json("models --model claude-x --format json");
    assert_eq!(shown["choice"]["model"], "anthropic/claude-x", "{shown}");
    let odd = usual.replace("ANTHROPIC_API_KEY", "HOME");
    story.file("agentry.toml", odd.as_bytes());
    let ran = story.ran_in("", "models --model claude-x");
    assert_eq!(ran.code, Some(1), "another variable is not sent: {}", ran.out);
}

#[test]
fn a_tape_plays_what_was_recorded_without_key_or_network() {
    let server = Served::new(vec![call(r#"{"path":"notes.md"}"#), text("Buy milk.")]);
    let story = story(&server);
    let ran =
        story.ran_in("", "run --model openai/some-model --record talk.jsonl 'What is to buy?'");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let tape = story.read("talk.jsonl");
    assert!(!tape.contains("key-of-the-tests"), "a key is on the tape");
    let again = story.ran_in("", "run --model openai/some-model --record talk.jsonl x");
    assert_eq!(again.code, Some(2), "a recording overwrites nothing: {}", again.err);
    // The address is that of the recording, and nobody listens there any more.
    let played =
        story.ran_in("", "run --model openai/some-model --play talk.jsonl 'What is to buy?'");
    assert_eq!((played.code, played.out.trim()), (Some(0), "Buy milk."), "{}", played.err);
    assert_eq!(server.asked().len(), 2);
    let other =
        story.ran_in("", "run --model openai/some-model --play talk.jsonl 'Something else?'");
    assert_eq!(other.code, Some(6), "{}", other.err);
    assert!(other.err.contains("messages"), "the difference is named: {}", other.err);
}

#[test]
fn a_picture_goes_with_the_prompt_and_what_is_none_does_not() {
    let server = Served::new(vec![text("A dot.")]);
    let story = story(&server);
    story.file("dot.png", b"\x89PNG\r\n\x1a\nrest");
    let ran = story.ran_in("", "run --model some-model --image dot.png 'What is this?'");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let asked = server.asked();
    let content = &asked[0].body["messages"].as_array().unwrap().last().unwrap()["content"];
    assert!(content.to_string().contains("data:image/png;base64,"), "{content}");
    let ran = story.ran_in("", "run --model some-model --image notes.md 'What is this?'");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("not an image"), "{}", ran.err);
}

#[test]
fn the_list_explains_the_choice_and_asks_only_when_told_to() {
    let list = answer("200 OK", "application/json", r#"{"data":[{"id":"m-2"},{"id":"m-1"}]}"#);
    let server = Served::new(vec![list]);
    let story = story(&server);
    let shown = story.json("models --format json");
    assert!(server.asked().is_empty(), "without --fetch nothing is sent");
    let openai = |shown: &Value| {
        let all = shown["providers"].as_array().unwrap().clone();
        all.into_iter().find(|one| one["id"] == "openai").unwrap()
    };
    assert_eq!(openai(&shown)["ready"], true);
    assert!(shown["choice"]["model"].as_str().unwrap().starts_with("openai/"));
    let shown = story.json("models --fetch --format json");
    assert_eq!(openai(&shown)["fetched"]["models"], json!(["m-1", "m-2"]));
    assert_eq!(server.asked()[0].path, "/v1/models");
}

/// Where the weights of the tests are.
fn weights() -> PathBuf {
    let file = std::env::var_os("AGENTRY_TEST_MODEL").map(PathBuf::from);
    let dir = file.and_then(|file| Some(file.parent()?.parent()?.to_owned()));
    let home = std::env::var_os("HOME").map(PathBuf::from).expect("HOME is set");
    let data =
        std::env::var_os("XDG_DATA_HOME").map_or_else(|| home.join(".local/share"), PathBuf::from);
    dir.unwrap_or_else(|| data.join("agentry/models"))
}

#[test]
fn the_tiny_model_is_taken_by_those_who_name_it_alone() {
    let story = Story::new(PROJECT);
    let models = story.home("models");
    fs::create_dir(&models).unwrap();
    let tiny = "smollm2-135m";
    std::os::unix::fs::symlink(weights().join(tiny), models.join(tiny)).unwrap();
    let story = story.with("AGENTRY_MODELS", models.to_str().unwrap());
    let shown = story.json("models --format json");
    assert_eq!(shown["choice"]["model"], "local/qwen2.5-coder-1.5b");
}

#[test]
fn the_model_in_the_box_calls_a_tool_and_answers() {
    let dir = weights();
    assert!(
        dir.join("smollm2-135m/model.json").exists(),
        "the weights of the tests are not in {}: run `agentry pull smollm2-135m`",
        dir.display()
    );
    let story = Story::new(PROJECT).with("AGENTRY_MODELS", dir.to_str().unwrap());
    let ran = story
        .ran_in("", "-c limits.steps=3 run --model local/smollm2-135m 'Read the file notes.md'");
    // The tiny model may never come to an end; what it does is valid all the same.
    assert!(matches!(ran.code, Some(0 | 1 | 5)), "{:?} {}{}", ran.code, ran.out, ran.err);
    let replies = events(&story, "model_replied");
    let usage = &replies[0]["event"]["reply"]["usage"];
    assert!(usage["output_tokens"].as_u64().unwrap() > 0 && usage["estimated"] == false, "{usage}");
    assert_eq!(replies[0]["event"]["reply"]["cost_nano_usd"], 0);
    for proposed in events(&story, "call_proposed") {
        assert!(
            !proposed["event"]["ruling"]
                .to_string()
                .contains("\"stage\":\"input\",\"verdict\":\"deny\""),
            "{proposed}"
        );
    }
}
