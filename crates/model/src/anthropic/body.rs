//! Writes a request: stable parts first, and the transcript in the form of the protocol.
//!
//! Turns alternate; outcomes come first in the turn after their calls, each call has one, and no
//! message is empty. Four places are marked for the provider's cache: the tools, the system prompt,
//! and the last two user turns, so that each request reads all that the one before wrote.
//!
//! Must never: drop a message, or invent words of the model.

use std::borrow::Cow;
use std::sync::Arc;

use agentry_protocol::message::{Image, Message, SealedContent};
use agentry_protocol::schema::ModelSchema;
use agentry_protocol::tool_call::ToolCall;
use serde::Serialize;
use serde_json::{Value, json};

use super::names::{AnthropicToolNames, text};
use super::sealer;
use crate::codec::CodecInput;
use crate::limits::ANSWER_TOKENS_DEFAULT;

/// The text for a call that has no outcome.
const NO_OUTCOME: &str = "The call was interrupted; nobody knows what came of it.";
/// The text before a transcript that does not begin with a user message.
const BEGINNING: &str = "(The talk so far.)";
/// The text after a transcript that ends with the model's message: it cannot answer itself.
const GO_ON: &str = "(Go on.)";
/// The number of user turns that are marked for the cache.
const MARKED_TURNS: usize = 2;

#[derive(Serialize)]
struct AnthropicRequest<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<AnthropicTool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<CacheableBlock<'a>>,
    messages: Vec<AnthropicMessage<'a>>,
}

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: ModelSchema<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: &'static str,
    content: Vec<CacheableBlock<'a>>,
}

/// A block whose mark comes last, so that the bytes before it are the same without it.
#[derive(Serialize)]
struct CacheableBlock<'a> {
    #[serde(flatten)]
    block: RequestBlock<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    r#type: &'static str,
}

const MARK: CacheControl = CacheControl { r#type: "ephemeral" };

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum RequestBlock<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: ImageSource<'a>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        #[serde(skip_serializing_if = "is_false")]
        is_error: bool,
    },
    #[serde(untagged)]
    Sealed(&'a Value),
}

#[derive(Serialize)]
struct ImageSource<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

pub(super) fn write(asked: CodecInput<'_>) -> Vec<u8> {
    let request = asked.request;
    let names = AnthropicToolNames::new(&request.tools);
    let mut tools: Vec<AnthropicTool<'_>> = request
        .tools
        .iter()
        .map(|tool| AnthropicTool {
            name: names.wire(tool.name.as_str()),
            description: &tool.description,
            input_schema: tool.model_schema(),
            cache_control: None,
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(MARK);
    }
    let mut system = Vec::new();
    if !request.system.trim().is_empty() {
        let block = RequestBlock::Text { text: &request.system };
        system.push(CacheableBlock { block, cache_control: Some(MARK) });
    }
    let by = sealer(asked.model);
    let body = AnthropicRequest {
        model: asked.model,
        max_tokens: request.max_tokens.unwrap_or(ANSWER_TOKENS_DEFAULT),
        temperature: request.temperature,
        stream: true,
        tools,
        system,
        messages: turns(&request.messages, &names, &by),
    };
    let mut bytes = Vec::with_capacity(length(asked));
    serde_json::to_writer(&mut bytes, &body).expect("a value without maps of odd keys is JSON");
    bytes
}

/// Estimates the length of the body, in bytes; a growing buffer would be copied many times.
fn length(asked: CodecInput<'_>) -> usize {
    let messages = asked.request.messages.iter().map(|message| match &**message {
        Message::User { content, images } => {
            content.len() + images.iter().map(|image| image.data.len() + 100).sum::<usize>()
        }
        Message::Assistant { content, .. } => content.len() + 400,
        Message::Tool { content, .. } => content.len() + 100,
    });
    let talk: usize = messages.map(|bytes| bytes + 100).sum();
    // Line breaks and quotation marks take two bytes.
    (talk + asked.request.system.len()) / 16 * 17 + 1024 * (asked.request.tools.len() + 2)
}

fn turns<'a>(
    messages: &'a [Arc<Message>],
    names: &'a AnthropicToolNames,
    by: &str,
) -> Vec<AnthropicMessage<'a>> {
    let mut talk = TranscriptBuilder {
        turns: Vec::new(),
        open: Vec::new(),
        results: Vec::new(),
        said: Vec::new(),
    };
    for message in messages {
        match &**message {
            Message::User { content, images } => talk.user(content, images),
            Message::Assistant { content, thinking: _, calls, sealed } => {
                let sealed = sealed.as_ref().filter(|sealed| sealed.by == by);
                talk.assistant(content, calls, sealed, names);
            }
            Message::Tool { call, content, ok } => talk.outcome(call.as_str(), content, *ok),
        }
    }
    talk.flush();
    if talk.turns.last().is_some_and(|turn| turn.role == "assistant") {
        talk.push("user", vec![RequestBlock::Text { text: GO_ON }]);
    }
    let mut turns = talk.turns;
    for turn in turns.iter_mut().rev().filter(|turn| turn.role == "user").take(MARKED_TURNS) {
        if let Some(last) = turn.content.last_mut() {
            last.cache_control = Some(MARK);
        }
    }
    turns
}

/// The written part of the transcript.
struct TranscriptBuilder<'a> {
    turns: Vec<AnthropicMessage<'a>>,
    /// Calls of the last turn that have no outcome yet.
    open: Vec<&'a str>,
    /// Outcomes for the next turn.
    results: Vec<(&'a str, RequestBlock<'a>)>,
    /// Other content of the next turn.
    said: Vec<RequestBlock<'a>>,
}

impl<'a> TranscriptBuilder<'a> {
    fn user(&mut self, content: &'a str, images: &'a [Image]) {
        for image in images {
            let source =
                ImageSource { r#type: "base64", media_type: &image.media_type, data: &image.data };
            self.said.push(RequestBlock::Image { source });
        }
        self.say(content);
    }

    fn say(&mut self, text: &'a str) {
        if !text.trim().is_empty() {
            self.said.push(RequestBlock::Text { text });
        }
    }

    fn outcome(&mut self, call: &'a str, content: &'a str, ok: bool) {
        if !self.open.contains(&call) || self.results.iter().any(|(id, _)| *id == call) {
            // Its call is not in the transcript, or not in the required place.
            self.say(content);
            return;
        }
        let block = RequestBlock::ToolResult { tool_use_id: text(call), content, is_error: !ok };
        self.results.push((call, block));
    }

    fn assistant(
        &mut self,
        content: &'a str,
        calls: &'a [ToolCall],
        sealed: Option<&'a SealedContent>,
        names: &'a AnthropicToolNames,
    ) {
        if content.trim().is_empty() && calls.is_empty() {
            return;
        }
        self.flush();
        let mut blocks: Vec<RequestBlock<'_>> =
            sealed.into_iter().flat_map(|sealed| &sealed.items).map(RequestBlock::Sealed).collect();
        if !content.trim().is_empty() {
            blocks.push(RequestBlock::Text { text: content });
        }
        blocks.extend(calls.iter().map(|call| RequestBlock::ToolUse {
            id: text(call.id.as_str()),
            name: names.wire(call.tool.as_str()),
            input: input(&call.input),
        }));
        self.open = calls.iter().map(|call| call.id.as_str()).collect();
        self.push("assistant", blocks);
    }

    /// Ends the user turn: outcomes in the order of the calls, then all other content.
    fn flush(&mut self) {
        let mut results = std::mem::take(&mut self.results);
        let mut blocks = Vec::new();
        for call in std::mem::take(&mut self.open) {
            let found = results.iter().position(|(id, _)| *id == call);
            blocks.push(match found {
                Some(at) => results.swap_remove(at).1,
                None => RequestBlock::ToolResult {
                    tool_use_id: text(call),
                    content: NO_OUTCOME,
                    is_error: true,
                },
            });
        }
        blocks.append(&mut self.said);
        if blocks.is_empty() && self.turns.is_empty() {
            blocks.push(RequestBlock::Text { text: BEGINNING });
        }
        self.push("user", blocks);
    }

    fn push(&mut self, role: &'static str, blocks: Vec<RequestBlock<'a>>) {
        if blocks.is_empty() {
            return;
        }
        let blocks = blocks.into_iter().map(|block| CacheableBlock { block, cache_control: None });
        match self.turns.last_mut().filter(|turn| turn.role == role) {
            Some(turn) => turn.content.extend(blocks),
            None => self.turns.push(AnthropicMessage { role, content: blocks.collect() }),
        }
    }
}

/// Returns the arguments as an object; arguments that did not parse are shown as they were written.
fn input(value: &Value) -> Cow<'_, Value> {
    match value {
        Value::Object(_) => Cow::Borrowed(value),
        Value::Null => Cow::Owned(json!({})),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Cow::Owned(json!({ "unreadable": value }))
        }
    }
}
