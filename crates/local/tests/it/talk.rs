//! The weights for the tests, and short ways to ask.
//!
//! Must never: download anything.

use std::cell::RefCell;
use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use agentry_local::{
    Engine, EngineSettings, Generation, GenerationDelta, GenerationRequest, LocalError, ToolChoice,
};
use agentry_protocol::CallId;
use agentry_protocol::message::{Message, ModelRequest};
use agentry_protocol::tool::{Risk, ToolCategory, ToolName};
use agentry_protocol::tool_call::{RepeatSafety, ToolCall, ToolSpec};
use serde_json::Value;

/// The folder where `agentry pull` puts models.
fn models() -> PathBuf {
    let given = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    given("XDG_DATA_HOME")
        .or_else(|| given("HOME").map(|home| home.join(".local/share")))
        .unwrap_or_default()
        .join("agentry/models")
}

#[track_caller]
fn found(variable: &str, place: &str, pull: &str) -> PathBuf {
    let path = env::var_os(variable).map_or_else(|| models().join(place), PathBuf::from);
    assert!(
        path.exists(),
        "{} is not there: run `agentry pull {pull}` (`cargo xtask test` does), or set {variable}",
        path.display()
    );
    path
}

/// The file of the tiny model.
#[track_caller]
pub(crate) fn tiny() -> PathBuf {
    let place = "smollm2-135m/SmolLM2-135M-Instruct.Q4_1.gguf";
    found("AGENTRY_TEST_MODEL", place, "smollm2-135m")
}

/// The folder of the embedder as it is published.
#[track_caller]
pub(crate) fn minilm() -> PathBuf {
    found("AGENTRY_TEST_EMBEDDER", "all-minilm-l6-v2", "all-minilm-l6-v2")
}

/// The tiny model with a window of its own, so that tests do not share it.
#[track_caller]
pub(crate) fn engine(context_tokens: u32, sessions: u32) -> Engine {
    // One thread each: the tests run side by side, and threads that wait for each other waste both.
    let settings =
        EngineSettings { threads: Some(1), context_tokens: Some(context_tokens), sessions };
    Engine::open(&tiny(), &settings).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn tool(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: ToolName::canonical(name),
        description: format!("The tool {name}"),
        parameters,
        category: ToolCategory::Custom,
        risk: Risk::Low,
        repeat: RepeatSafety::Harmless,
    }
}

pub(crate) fn request(system: &str, said: &str) -> ModelRequest {
    ModelRequest {
        model: "local".into(),
        temperature: None,
        max_tokens: Some(24),
        system: system.into(),
        tools: Vec::new().into(),
        messages: vec![Arc::new(user(said))],
    }
}

pub(crate) fn user(said: &str) -> Message {
    Message::User { content: said.into(), images: Vec::new() }
}

/// What was said, as the runtime writes it into the talk.
pub(crate) fn message(said: &Generation, number: u128) -> Message {
    let calls = said.calls.iter().enumerate().map(|(index, call)| ToolCall {
        id: CallId::from_number(number * 100 + u128::try_from(index).expect("few calls")),
        tool: ToolName::canonical(&call.name),
        input: call.input.clone(),
    });
    Message::Assistant {
        content: said.text.clone(),
        thinking: said.thinking.clone(),
        calls: calls.collect(),
        sealed: None,
    }
}

/// Asks, and gives what was heard too.
pub(crate) fn heard(
    engine: &Engine,
    request: &ModelRequest,
    session: &str,
    choice: ToolChoice,
) -> (Result<Generation, LocalError>, Vec<GenerationDelta>) {
    let pieces = RefCell::new(Vec::new());
    let said = engine.answer(&GenerationRequest {
        request,
        session,
        hear: &|piece| pieces.borrow_mut().push(piece),
        go_on: &|| true,
        choice,
        seed: 1,
    });
    (said, pieces.into_inner())
}

#[track_caller]
pub(crate) fn said(
    engine: &Engine,
    request: &ModelRequest,
    session: &str,
    choice: ToolChoice,
) -> Generation {
    heard(engine, request, session, choice).0.unwrap_or_else(|error| panic!("{error}"))
}
