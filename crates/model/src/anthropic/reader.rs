//! Reads an answer from its frames.
//!
//! Must never: return a call whose arguments were truncated.

use std::borrow::Cow;
use std::collections::HashMap;

use agentry_protocol::message::{FailureKind, ModelFailure, RawToolCall, SealedContent, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::names::AnthropicToolNames;
use super::{ErrorPart, kind, sealer};
use crate::codec::{AnswerFrame, AnswerReader, CodecInput};
use crate::http_failure::shown;
use crate::{Delta, ModelAnswer, arguments};

/// The events that are read; a provider may add others.
const KNOWN: [&str; 7] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
];

/// An event of any kind; its missing fields are empty.
#[derive(Deserialize)]
struct AnthropicEvent<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    index: Option<usize>,
    message: Option<MessageStart>,
    #[serde(borrow)]
    content_block: Option<BlockStart<'a>>,
    #[serde(borrow)]
    delta: Option<BlockDelta<'a>>,
    usage: Option<AnthropicUsage>,
    error: Option<ErrorPart>,
}

#[derive(Deserialize)]
struct MessageStart {
    usage: Option<AnthropicUsage>,
}

#[derive(Deserialize)]
struct BlockStart<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thinking: Option<Cow<'a, str>>,
    signature: Option<String>,
    data: Option<String>,
    name: Option<String>,
    input: Option<Value>,
}

#[derive(Deserialize)]
struct BlockDelta<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow)]
    signature: Option<Cow<'a, str>>,
    #[serde(borrow)]
    partial_json: Option<Cow<'a, str>>,
    stop_reason: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct AnthropicUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

/// The received part of a block.
enum AnswerBlock {
    Text(String),
    Thinking { text: String, signature: String },
    Redacted(String),
    Call { number: usize, name: String, json: String, input: Option<Map<String, Value>> },
    Unknown,
}

/// The received part of an answer.
pub(super) struct AnthropicReader {
    by: String,
    names: HashMap<String, String>,
    blocks: Vec<(usize, AnswerBlock)>,
    /// Blocks that began and did not end.
    open: Vec<usize>,
    calls: usize,
    usage: Option<AnthropicUsage>,
    stop_reason: Option<String>,
    whole: bool,
}

impl AnthropicReader {
    pub(super) fn new(asked: CodecInput<'_>) -> Self {
        Self {
            by: sealer(asked.model),
            names: AnthropicToolNames::new(&asked.request.tools).back(),
            blocks: Vec::new(),
            open: Vec::new(),
            calls: 0,
            usage: None,
            stop_reason: None,
            whole: false,
        }
    }

    fn begin(&mut self, index: usize, start: BlockStart<'_>, hear: &dyn Fn(Delta)) {
        let text = start.text.unwrap_or_default();
        let block = match &*start.kind {
            "text" => {
                if !text.is_empty() {
                    hear(Delta::Text(text.to_string()));
                }
                AnswerBlock::Text(text.into_owned())
            }
            "thinking" => {
                let text = start.thinking.unwrap_or_default();
                if !text.is_empty() {
                    hear(Delta::Thinking(text.to_string()));
                }
                let signature = start.signature.unwrap_or_default();
                AnswerBlock::Thinking { text: text.into_owned(), signature }
            }
            "redacted_thinking" => AnswerBlock::Redacted(start.data.unwrap_or_default()),
            "tool_use" => {
                let wire = start.name.unwrap_or_default();
                let name = self.names.get(&wire).cloned().unwrap_or(wire);
                let number = self.calls;
                self.calls += 1;
                hear(Delta::Call { index: number, name: name.clone(), piece: String::new() });
                let input = match start.input {
                    Some(Value::Object(fields)) if !fields.is_empty() => Some(fields),
                    Some(_) | None => None,
                };
                AnswerBlock::Call { number, name, json: String::new(), input }
            }
            _ => AnswerBlock::Unknown,
        };
        self.blocks.push((index, block));
        self.open.push(index);
    }

    fn add(&mut self, index: usize, part: BlockDelta<'_>, hear: &dyn Fn(Delta)) {
        // The block is nearly always the last one.
        let Some((_, block)) = self.blocks.iter_mut().rev().find(|(at, _)| *at == index) else {
            return;
        };
        match block {
            AnswerBlock::Text(text) => {
                if let Some(piece) = part.text {
                    text.push_str(&piece);
                    hear(Delta::Text(piece.into_owned()));
                }
            }
            AnswerBlock::Thinking { text, signature } => {
                if let Some(piece) = part.thinking {
                    text.push_str(&piece);
                    hear(Delta::Thinking(piece.into_owned()));
                }
                if let Some(piece) = part.signature {
                    signature.push_str(&piece);
                }
            }
            AnswerBlock::Call { number, name, json, .. } => {
                if let Some(piece) = part.partial_json {
                    json.push_str(&piece);
                    let (index, name) = (*number, name.clone());
                    hear(Delta::Call { index, name, piece: piece.into_owned() });
                }
            }
            AnswerBlock::Redacted(_) | AnswerBlock::Unknown => {}
        }
    }

    fn count(&mut self, tokens: Option<AnthropicUsage>) {
        let Some(new) = tokens else { return };
        let old = self.usage.unwrap_or_default();
        self.usage = Some(AnthropicUsage {
            input_tokens: new.input_tokens.or(old.input_tokens),
            output_tokens: new.output_tokens.or(old.output_tokens),
            cache_creation_input_tokens: new
                .cache_creation_input_tokens
                .or(old.cache_creation_input_tokens),
            cache_read_input_tokens: new.cache_read_input_tokens.or(old.cache_read_input_tokens),
        });
    }

    /// True if the last block is a call whose arguments were truncated.
    fn last_call_is_cut(&self) -> bool {
        match self.blocks.last() {
            Some((_, AnswerBlock::Call { json, input: None, .. })) => {
                serde_json::from_str::<Map<String, Value>>(json).is_err()
            }
            Some((
                _,
                AnswerBlock::Call { input: Some(_), .. }
                | AnswerBlock::Text(_)
                | AnswerBlock::Thinking { .. }
                | AnswerBlock::Redacted(_)
                | AnswerBlock::Unknown,
            ))
            | None => false,
        }
    }

    /// Returns the failure of an answer whose stream ended normally; `None` if it is good.
    fn fault(&self) -> Option<ModelFailure> {
        let failure = |kind, message: &str| Some(ModelFailure::new(kind, message));
        let reason = self.stop_reason.as_deref();
        match reason {
            Some("refusal") => failure(
                FailureKind::Refused,
                "the model will not answer this (stop reason refusal)",
            ),
            Some("model_context_window_exceeded") => failure(
                FailureKind::ContextOverflow,
                "the model's window was full before the answer was whole",
            ),
            Some("max_tokens") if !self.open.is_empty() || self.last_call_is_cut() => failure(
                FailureKind::Cut,
                "the answer reached its longest length in the middle of a call; raise max_tokens",
            ),
            _ if !self.open.is_empty() => {
                failure(FailureKind::Cut, "the answer ended in the middle of a block")
            }
            _ => None,
        }
    }
}

impl AnswerReader for AnthropicReader {
    fn take(&mut self, frame: &AnswerFrame, hear: &dyn Fn(Delta)) -> Result<bool, ModelFailure> {
        if frame.event.as_deref().is_some_and(|event| !KNOWN.contains(&event)) {
            return Ok(false);
        }
        let event: AnthropicEvent<'_> = serde_json::from_str(&frame.data).map_err(|error| {
            let message = format!("an event cannot be read: {error}: {}", shown(&frame.data));
            ModelFailure::new(FailureKind::Malformed, message)
        })?;
        let named = frame.event.as_deref().unwrap_or_default();
        match if event.kind.is_empty() { named } else { &*event.kind } {
            "message_start" => self.count(event.message.and_then(|message| message.usage)),
            "content_block_start" => {
                if let (Some(index), Some(start)) = (event.index, event.content_block) {
                    self.begin(index, start, hear);
                }
            }
            "content_block_delta" => {
                if let (Some(index), Some(part)) = (event.index, event.delta) {
                    self.add(index, part, hear);
                }
            }
            "content_block_stop" => self.open.retain(|at| Some(*at) != event.index),
            "message_delta" => {
                self.count(event.usage);
                if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.stop_reason = Some(reason);
                }
            }
            "message_stop" => self.whole = true,
            "error" => {
                let error = event.error.unwrap_or_default();
                let said = shown(error.message.as_deref().unwrap_or_default());
                let what = error.kind.as_deref().unwrap_or("no type");
                let message = format!("{said} ({what}, in the middle of the answer)");
                return Err(ModelFailure::new(kind(&error, None), message));
            }
            _ => {}
        }
        Ok(self.whole)
    }

    fn finish(self: Box<Self>) -> Result<ModelAnswer, ModelFailure> {
        if !self.whole {
            let message = "the answer ended in the middle";
            return Err(ModelFailure::new(FailureKind::Cut, message));
        }
        if let Some(failure) = self.fault() {
            return Err(failure);
        }
        let mut answer = ModelAnswer { usage: self.usage.map(usage), ..ModelAnswer::default() };
        let mut items = Vec::new();
        for (_, block) in self.blocks {
            match block {
                AnswerBlock::Text(text) => append(&mut answer.text, text),
                AnswerBlock::Thinking { text, signature } => {
                    // Without a signature it cannot be sent back.
                    if !signature.is_empty() {
                        items.push(
                            json!({"type": "thinking", "thinking": text, "signature": signature}),
                        );
                    }
                    append(&mut answer.thinking, text);
                }
                AnswerBlock::Redacted(data) => {
                    items.push(json!({"type": "redacted_thinking", "data": data}));
                }
                AnswerBlock::Call { name, json, input, .. } => {
                    let input = match input {
                        Some(fields) if json.is_empty() => Value::Object(fields),
                        Some(_) | None => arguments::read(&json),
                    };
                    answer.calls.push(RawToolCall { name, input });
                }
                AnswerBlock::Unknown => {}
            }
        }
        answer.sealed = (!items.is_empty()).then_some(SealedContent { by: self.by, items });
        Ok(answer)
    }
}

/// Appends; an empty text is replaced without a copy.
fn append(whole: &mut String, text: String) {
    if whole.is_empty() {
        *whole = text;
    } else {
        whole.push_str(&text);
    }
}

fn usage(tokens: AnthropicUsage) -> Usage {
    let written = tokens.cache_creation_input_tokens.unwrap_or(0);
    let cached = tokens.cache_read_input_tokens.unwrap_or(0);
    Usage {
        input_tokens: tokens
            .input_tokens
            .unwrap_or(0)
            .saturating_add(written)
            .saturating_add(cached),
        output_tokens: tokens.output_tokens.unwrap_or(0),
        cached_tokens: cached,
        cache_write_tokens: written,
        estimated: false,
    }
}
