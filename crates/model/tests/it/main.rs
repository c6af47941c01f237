//! Room tests of the model crate: a file of answers in, answers out.

mod anthropic;
mod anthropic_talk;
mod cassette;
mod http;
mod http_asking;
mod http_tls;
mod openai_and_gemini;
mod prices;
mod retry;
mod server;
mod weights;
mod weights_index;
mod weights_server;

use std::cell::RefCell;
use std::io::Write;
use std::sync::Arc;

use agentry_model::{Delta, Model, ModelAnswer, ModelQuery, ProviderRegistry, ScriptedModel};
use agentry_protocol::message::{FailureKind, ModelFailure, ModelRequest};

fn script(text: &str) -> (tempfile::NamedTempFile, Result<ScriptedModel, String>) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("a temporary file takes text");
    let read = ScriptedModel::read(file.path())
        .map_err(|error| error.to_string().replace(&file.path().display().to_string(), "script"));
    (file, read)
}

fn ask(
    model: &dyn Model,
    number: u64,
    wanted: bool,
) -> (Result<ModelAnswer, ModelFailure>, Vec<Delta>) {
    let request = ModelRequest {
        model: "scripted".to_owned(),
        temperature: None,
        max_tokens: None,
        system: Arc::from(""),
        tools: Arc::from([]),
        messages: Vec::new(),
    };
    let heard = RefCell::new(Vec::new());
    let answer = model.ask(&ModelQuery {
        request: &request,
        number,
        session: "talk",
        tell: &|_| {},
        hear: &|delta| heard.borrow_mut().push(delta),
        wait: &|_| wanted,
    });
    (answer, heard.into_inner())
}

#[test]
fn the_nth_request_gets_the_nth_line_and_the_same_one_again_when_asked_again() {
    let (_file, model) = script("{\"text\":\"one\"}\n\n{\"text\":\"two\"}\n");
    let model = model.unwrap();
    for (number, text) in [(1, "one"), (2, "two"), (2, "two"), (1, "one")] {
        assert_eq!(ask(&model, number, true).0.unwrap().text, text);
    }
}

#[test]
fn running_out_says_how_many_lines_there_are() {
    let (_file, model) = script("{\"text\":\"one\"}\n");
    let failure = ask(&model.unwrap(), 2, true).0.unwrap_err();
    assert_eq!(failure.kind, FailureKind::ScriptEnded);
    assert!(failure.message.ends_with("has 1 lines, and this is request 2"), "{}", failure.message);
}

#[test]
fn text_comes_in_pieces_that_make_the_whole() {
    let (_file, model) = script("{\"text\":\"a bc  d\\ne\",\"thinking\":\"hm so\"}\n");
    let (answer, heard) = ask(&model.unwrap(), 1, true);
    let text: String = heard
        .iter()
        .filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            Delta::Thinking(_) | Delta::Call { .. } | Delta::Restart => None,
        })
        .collect();
    assert_eq!(text, answer.unwrap().text);
    assert!(heard.len() > 4, "{heard:?}");
}

#[test]
fn an_error_line_is_a_failure_of_that_kind() {
    let (_file, model) = script("{\"error\":{\"kind\":\"rate_limited\"}}\n");
    assert_eq!(ask(&model.unwrap(), 1, true).0.unwrap_err().kind, FailureKind::RateLimited);
}

#[test]
fn a_delay_that_nobody_waits_for_ends_at_once() {
    let (_file, model) = script("{\"text\":\"late\",\"delay_ms\":600000}\n");
    assert_eq!(ask(&model.unwrap(), 1, false).0.unwrap_err().kind, FailureKind::Interrupted);
}

#[test]
fn a_wrong_line_is_found_before_the_run_at_its_place() {
    for (text, place) in [
        ("{\"text\":\"a\"}\nnot json\n", "script:2: "),
        ("{\"texd\":\"a\"}\n", "script:1: unknown field `texd`"),
        ("{\"tool_calls\":[{}]}\n", "script:1: missing field `name`"),
        ("{\"delay_ms\":600001}\n", "script:1: delay_ms or pace_ms is above 600000"),
        ("{\"error\":{\"kind\":\"nonsense\"}}\n", "script:1: unknown variant `nonsense`"),
    ] {
        let error = script(text).1.unwrap_err();
        assert!(error.starts_with(place), "{error}");
    }
}

#[test]
fn a_model_that_nobody_serves_is_named() {
    let find = |name: &str| ProviderRegistry::default().open(name, &[]);
    let error = find("no-such-model").err().unwrap().to_string();
    assert_eq!(error, "no provider serves the model `no-such-model`");
    assert!(find("anthropic/").is_err() && find("local/tiny").is_err());
    let error = find("scripted:/no/such/file").err().unwrap().to_string();
    assert!(error.starts_with("cannot read the script /no/such/file: "), "{error}");
}
