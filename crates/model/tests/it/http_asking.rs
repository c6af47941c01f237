//! Asks a model over the loopback server, and keeps all that was said on the way.
//!
//! Must never: wait for more than the server lets it.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use agentry_model::{
    Delta, HttpSettings, HttpTimeouts, Model, ModelAnswer, ModelQuery, Protocol, Provider,
    ProviderClient, RetryNotice, open,
};
use agentry_protocol::message::{FailureKind, Message, ModelFailure, ModelRequest};
use agentry_protocol::tool::{Risk, ToolCategory, ToolName};
use agentry_protocol::tool_call::{RepeatSafety, ToolSpec};
use serde_json::json;

use crate::server::Server;

/// The key that all tests use.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// What came of a question.
pub(crate) struct Told {
    pub(crate) answer: Result<ModelAnswer, ModelFailure>,
    pub(crate) heard: Vec<Delta>,
    pub(crate) troubles: Vec<RetryNotice>,
}

impl Told {
    /// The kind of the failure.
    pub(crate) fn kind(&self) -> FailureKind {
        self.failure().kind
    }

    /// The failure.
    pub(crate) fn failure(&self) -> &ModelFailure {
        self.answer.as_ref().expect_err("a failure")
    }
}

/// The way to the server, with time limits that no test reaches by accident.
pub(crate) fn http() -> Arc<ProviderClient> {
    with_timing(HttpTimeouts {
        connect: Duration::from_secs(60),
        first_byte: Duration::from_secs(60),
        idle: Duration::from_secs(60),
    })
}

pub(crate) fn with_timing(timing: HttpTimeouts) -> Arc<ProviderClient> {
    with(HttpSettings { timing, ..HttpSettings::default() })
}

pub(crate) fn with(settings: HttpSettings) -> Arc<ProviderClient> {
    Arc::new(ProviderClient::new(settings).expect("the settings are good"))
}

pub(crate) fn provider(protocol: Protocol, base_url: impl Into<String>) -> Provider {
    let id = "test".to_owned();
    Provider { id, protocol, base_url: base_url.into(), key: Some(KEY.to_owned().into()) }
}

/// A model at the server.
pub(crate) fn model(
    http: &Arc<ProviderClient>,
    protocol: Protocol,
    server: &Server,
) -> Arc<dyn Model> {
    open(http, &provider(protocol, server.url()), "the-model").expect("the provider is good")
}

/// A request with these messages and two tools.
pub(crate) fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: "test/the-model".to_owned(),
        temperature: None,
        max_tokens: None,
        system: Arc::from("You are helpful."),
        tools: [tool("get_weather"), tool("github/list_issues")].into(),
        messages: messages.into_iter().map(Arc::new).collect(),
    }
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: ToolName::canonical(name),
        description: format!("Does {name}."),
        parameters: json!({"type": "object", "properties": {"location": {"type": "string"}}}),
        category: ToolCategory::Read,
        risk: Risk::Low,
        repeat: RepeatSafety::Harmless,
    }
}

pub(crate) fn hello() -> ModelRequest {
    request(vec![Message::user("Hello")])
}

/// Asks, with somebody who always wants the answer.
pub(crate) fn ask(model: &dyn Model, request: &ModelRequest) -> Told {
    ask_while(model, request, &|_| true)
}

pub(crate) fn ask_while(
    model: &dyn Model,
    request: &ModelRequest,
    wait: &dyn Fn(Duration) -> bool,
) -> Told {
    let heard = RefCell::new(Vec::new());
    let troubles = RefCell::new(Vec::new());
    let answer = model.ask(&ModelQuery {
        request,
        number: 1,
        session: "talk",
        hear: &|delta| heard.borrow_mut().push(delta),
        tell: &|trouble| troubles.borrow_mut().push(trouble),
        wait,
    });
    Told { answer, heard: heard.into_inner(), troubles: troubles.into_inner() }
}
