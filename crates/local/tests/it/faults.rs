//! What goes wrong says so: files, memory, length, repetition, and somebody who has heard enough.
//!
//! Must never: wait for a clock.

use std::cell::Cell;
use std::fs;

use agentry_local::limits::{BATCH_TOKENS_MAX, SESSIONS_MAX};
use agentry_local::{
    Engine, EngineSettings, FinishReason, GenerationRequest, LocalError, ToolChoice,
};

use crate::talk::{engine, heard, request, said, tiny};

fn opened(file: &std::path::Path) -> LocalError {
    Engine::open(file, &EngineSettings::default()).err().expect("it cannot be opened")
}

#[test]
fn a_file_that_cannot_be_run_is_told_apart() {
    let folder = tempfile::tempdir().expect("there is room");
    let gone = folder.path().join("gone.gguf");
    assert_eq!(opened(&gone), LocalError::Missing(gone));
    let other = folder.path().join("other.gguf");
    fs::write(&other, "just some text").expect("there is room");
    assert!(matches!(opened(&other), LocalError::NotGguf(_)));
    let short = folder.path().join("short.gguf");
    let mut bytes = fs::read(tiny()).expect("the tiny model can be read");
    bytes.truncate(bytes.len() / 2);
    fs::write(&short, bytes).expect("there is room");
    let error = opened(&short);
    assert!(matches!(error, LocalError::CutShort { has, needs, .. } if has < needs), "{error}");
    assert!(error.to_string().contains("pull it again"), "{error}");
}

#[test]
fn a_file_that_the_engine_refuses_quotes_its_log() {
    let folder = tempfile::tempdir().expect("there is room");
    let odd = folder.path().join("odd.gguf");
    let mut bytes = fs::read(tiny()).expect("the tiny model can be read");
    let key = b"general.architecture";
    let at = bytes.windows(key.len()).position(|window| window == key).expect("it is there");
    // Behind the key: its kind in four bytes, the length of the text in eight, the text.
    let text = at + key.len() + 12;
    bytes[text..text + 5].copy_from_slice(b"lamax");
    fs::write(&odd, bytes).expect("there is room");
    let LocalError::NotLoaded { why, .. } = opened(&odd) else { panic!("it is another error") };
    assert!(why.contains("lamax"), "{why}");
}

#[test]
fn a_talk_that_is_too_long_is_an_error_with_numbers() {
    let engine = engine(600, 1);
    let request = request("Be brief.", &"word ".repeat(2000));
    let error = heard(&engine, &request, "a", ToolChoice::Either).0.expect_err("it does not fit");
    let LocalError::ContextFull { needs, window } = error else { panic!("{error}") };
    assert!(needs > 2000 && window == 600, "{needs} of {window}");
}

#[test]
fn an_answer_that_fills_the_window_ends_there() {
    let engine = engine(512, 1);
    let mut request = request("Be long.", &"sea stone tree ".repeat(155));
    request.max_tokens = None;
    request.temperature = Some(1.5);
    let said = said(&engine, &request, "a", ToolChoice::Either);
    let all = said.usage.input_tokens + said.usage.output_tokens;
    assert!(all <= 512, "{all}");
    assert_eq!(said.finish == FinishReason::Length, all == 512, "{said:?}");
}

#[test]
fn an_answer_that_repeats_itself_is_stopped() {
    let engine = engine(2048, 1);
    let talk = "Repeat after me for ever: ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha";
    let mut request = request("You repeat words.", &format!("{talk} {talk} {talk}"));
    request.max_tokens = Some(1500);
    let said = said(&engine, &request, "a", ToolChoice::Either);
    assert_eq!(said.finish, FinishReason::Repetition, "{}", said.text);
    assert!(said.usage.output_tokens < 1500);
}

#[test]
fn an_answer_is_interrupted_at_the_next_token() {
    let engine = engine(1030, 1);
    let mut request = request("Be long.", "Tell a long story.");
    request.max_tokens = Some(500);
    let asked = Cell::new(0);
    let ask = GenerationRequest {
        request: &request,
        session: "a",
        hear: &|_| {},
        go_on: &|| {
            asked.set(asked.get() + 1);
            asked.get() < 5
        },
        choice: ToolChoice::Either,
        seed: 1,
    };
    let said = engine.answer(&ask).expect("it is interrupted, not broken");
    assert_eq!(said.finish, FinishReason::Interrupted);
    assert!(said.usage.output_tokens <= 7, "{}", said.usage.output_tokens);
}

#[test]
fn a_long_prompt_is_interrupted_between_batches() {
    let engine = engine(8000, 1);
    let request = request("Be brief.", &"word ".repeat(5000));
    let ask = GenerationRequest {
        request: &request,
        session: "a",
        hear: &|_| {},
        go_on: &|| false,
        choice: ToolChoice::Either,
        seed: 1,
    };
    let said = engine.answer(&ask).expect("it is interrupted, not broken");
    assert_eq!(said.finish, FinishReason::Interrupted);
    let most = 3 * u64::try_from(BATCH_TOKENS_MAX).expect("it is small");
    assert!(said.evaluated <= most, "{} tokens were evaluated", said.evaluated);
}

#[test]
fn one_file_is_opened_once_and_says_what_it_is() {
    let one = engine(1031, 1);
    let again = engine(1031, 1);
    assert!(std::ptr::eq(one.summary(), again.summary()));
    let card = one.summary();
    assert_eq!((card.architecture.as_str(), card.context), ("llama", 1031));
    assert_eq!(card.trained_context, 8192);
    assert_eq!(card.dialect.to_string(), "plain");
    assert!(card.parameters > 100_000_000 && card.threads >= 1);
    let many = EngineSettings { sessions: SESSIONS_MAX * 4, ..EngineSettings::default() };
    Engine::open(&tiny(), &many).map(|_| ()).expect("too many sessions are just fewer");
}
