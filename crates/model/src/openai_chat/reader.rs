//! Reads an answer of Chat Completions.
//!
//! Must never: treat a call as complete that the length limit or a broken stream has cut.

mod calls;
mod chunk;

use agentry_protocol::message::{FailureKind, ModelFailure, SealedContent, Usage};
use serde_json::{Value, json};

use self::calls::CallAssembler;
use self::chunk::{ChatCompletionChunk, ChoiceDelta, ChunkChoice, DeltaContent};
use super::sealer;
use crate::codec::{AnswerFrame, AnswerReader, CodecInput};
use crate::transcript::ToolNameMap;
use crate::{Delta, ModelAnswer, error_status};

/// The received part of an answer.
pub(super) struct ChatCompletionReader {
    model: String,
    names: ToolNameMap,
    text: String,
    thinking: String,
    refusal: String,
    calls: CallAssembler,
    /// True if the thinking came in the field that DeepSeek and others want back.
    wants_thinking: bool,
    /// The reasoning details that OpenRouter wants back.
    details: Vec<Value>,
    usage: Option<Usage>,
    finish: Option<String>,
    done: bool,
}

impl ChatCompletionReader {
    /// Creates a reader for the answer to this request.
    pub(super) fn new(asked: CodecInput<'_>) -> Self {
        Self {
            model: asked.model.to_owned(),
            names: ToolNameMap::of(&asked.request.tools),
            text: String::new(),
            thinking: String::new(),
            refusal: String::new(),
            calls: CallAssembler::default(),
            wants_thinking: false,
            details: Vec::new(),
            usage: None,
            finish: None,
            done: false,
        }
    }

    fn hear_choice(&mut self, choice: ChunkChoice, hear: &dyn Fn(Delta)) {
        if let Some(piece) = choice.delta.or(choice.message) {
            self.hear_piece(piece, hear);
        }
        if let Some(usage) = choice.usage {
            self.usage = Some(usage.counted());
        }
        if let Some(finish) = choice.finish_reason.filter(|finish| !finish.is_empty()) {
            self.finish = Some(finish);
        }
    }

    fn hear_piece(&mut self, piece: ChoiceDelta, hear: &dyn Fn(Delta)) {
        if let Some(thinking) = piece.reasoning_content {
            self.wants_thinking |= !thinking.is_empty();
            self.think(thinking, hear);
        } else if let Some(thinking) = piece.reasoning {
            self.think(thinking, hear);
        }
        match piece.content {
            Some(DeltaContent::Text(text)) => self.say(text, hear),
            Some(DeltaContent::Parts(parts)) => {
                for part in parts {
                    self.think(part.thought(), hear);
                    self.say(part.text.unwrap_or_default(), hear);
                }
            }
            None => {}
        }
        self.refusal.push_str(&piece.refusal.unwrap_or_default());
        for detail in piece.reasoning_details.into_iter().flatten() {
            add_detail(&mut self.details, detail);
        }
        for call in piece.tool_calls.into_iter().flatten() {
            self.calls.take(call, &self.names, hear);
        }
        if let Some(function) = piece.function_call {
            self.calls.take_lone(function, &self.names, hear);
        }
    }

    fn say(&mut self, text: String, hear: &dyn Fn(Delta)) {
        if !text.is_empty() {
            self.text.push_str(&text);
            hear(Delta::Text(text));
        }
    }

    fn think(&mut self, text: String, hear: &dyn Fn(Delta)) {
        if !text.is_empty() {
            self.thinking.push_str(&text);
            hear(Delta::Thinking(text));
        }
    }

    fn sealed(&mut self) -> Option<SealedContent> {
        let mut items = Vec::new();
        if self.wants_thinking {
            items.push(json!({ "wants": "reasoning_content" }));
        }
        if !self.details.is_empty() {
            items.push(json!({ "reasoning_details": std::mem::take(&mut self.details) }));
        }
        items.extend(self.calls.sealed());
        (!items.is_empty()).then(|| SealedContent { by: sealer(&self.model), items })
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// Returns the failure of the answer; `None` if it is good.
    fn wrong(&self) -> Option<ModelFailure> {
        if !self.refusal.is_empty() {
            return Some(refused(&self.refusal));
        }
        match self.finish.as_deref() {
            Some("content_filter") => {
                Some(refused("the provider's content filter stopped the answer"))
            }
            Some("error" | "insufficient_system_resource" | "abort") => Some(ModelFailure::new(
                FailureKind::Overloaded,
                "the provider broke off and did not say why",
            )),
            Some("length" | "model_length") if !self.calls.are_whole() => Some(cut(
                "max_tokens ended the answer in the middle of a call; raise max_tokens, or ask for less at once",
            )),
            Some("length" | "model_length") if self.is_empty() => {
                Some(cut("max_tokens ended the answer before it said anything; raise max_tokens"))
            }
            Some(_) => self.calls.wrong(),
            // A lax server ends with [DONE] alone; so does a router whose server broke off.
            None if self.done && !self.is_empty() && self.calls.are_whole() => self.calls.wrong(),
            None => Some(cut("the answer ended in the middle")),
        }
    }
}

impl AnswerReader for ChatCompletionReader {
    fn take(&mut self, frame: &AnswerFrame, hear: &dyn Fn(Delta)) -> Result<bool, ModelFailure> {
        let data = frame.data.trim();
        if data.is_empty() {
            return Ok(false);
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(true);
        }
        let chunk: ChatCompletionChunk = serde_json::from_str(data).map_err(|error| {
            let what = format!(
                "a piece of the answer cannot be read ({error}): {}",
                error_status::excerpt(data)
            );
            ModelFailure::new(FailureKind::Malformed, what)
        })?;
        if let Some(error) = chunk.error() {
            return Err(error_status::failure_in_stream(&error));
        }
        if let Some(usage) = chunk.usage() {
            self.usage = Some(usage.counted());
        }
        // We request one answer; a second one is ignored.
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.is_first()) {
            self.hear_choice(choice, hear);
        }
        Ok(false)
    }

    fn finish(mut self: Box<Self>) -> Result<ModelAnswer, ModelFailure> {
        if let Some(failure) = self.wrong() {
            return Err(failure);
        }
        Ok(ModelAnswer {
            sealed: self.sealed(),
            text: self.text,
            thinking: self.thinking,
            calls: self.calls.asked(),
            model: None,
            usage: self.usage,
        })
    }
}

fn cut(message: &str) -> ModelFailure {
    ModelFailure::new(FailureKind::Cut, message)
}

fn refused(message: &str) -> ModelFailure {
    ModelFailure::new(FailureKind::Refused, message)
}

/// Adds a detail of the thinking, or appends a piece to the one before.
fn add_detail(details: &mut Vec<Value>, detail: Value) {
    let same = |last: &&mut Value| {
        ["type", "index"].iter().all(|key| last.get(key) == detail.get(key))
            && detail.get("index").is_some()
    };
    let Some(Value::Object(last)) = details.last_mut().filter(same) else {
        details.push(detail);
        return;
    };
    let Value::Object(fields) = detail else { return };
    for (key, value) in fields {
        match (last.get_mut(&key), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more))
                if matches!(key.as_str(), "text" | "summary" | "data") =>
            {
                text.push_str(&more);
            }
            (_, value) => {
                last.insert(key, value);
            }
        }
    }
}
