//! Reads an answer of Responses.
//!
//! Must never: treat a call as complete that the length limit or a broken stream has cut.

use agentry_protocol::message::{FailureKind, ModelFailure, RawToolCall, SealedContent, Usage};
use serde_json::{Value, json};

use super::sealer;
use crate::codec::{AnswerFrame, AnswerReader, CodecInput};
use crate::transcript::ToolNameMap;
use crate::{Delta, ModelAnswer, arguments, error_status};

/// The received part of an answer.
pub(super) struct ResponsesReader {
    model: String,
    names: ToolNameMap,
    text: String,
    thinking: String,
    refusal: String,
    calls: Vec<ResponsesCall>,
    sealed: Vec<Value>,
    /// The part of the last words.
    spoken: Option<OutputPart>,
    /// The part of the last thought.
    thought: Option<OutputPart>,
    usage: Option<Usage>,
    end: Option<ResponsesStatus>,
}

/// The position of a text in an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
struct OutputPart {
    item: u64,
    part: u64,
}

struct ResponsesCall {
    output: u64,
    name: String,
    text: String,
    whole: bool,
}

enum ResponsesStatus {
    Completed,
    Incomplete(String),
}

impl ResponsesReader {
    /// Creates a reader for the answer to this request.
    pub(super) fn new(asked: CodecInput<'_>) -> Self {
        Self {
            model: asked.model.to_owned(),
            names: ToolNameMap::of(&asked.request.tools),
            text: String::new(),
            thinking: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            sealed: Vec::new(),
            spoken: None,
            thought: None,
            usage: None,
            end: None,
        }
    }

    fn say(&mut self, part: OutputPart, text: &str, hear: &dyn Fn(Delta)) {
        if text.is_empty() {
            return;
        }
        let gap = gap(self.spoken.is_some_and(|spoken| spoken != part));
        self.spoken = Some(part);
        let piece = format!("{gap}{text}");
        self.text.push_str(&piece);
        hear(Delta::Text(piece));
    }

    fn think(&mut self, part: OutputPart, text: &str, hear: &dyn Fn(Delta)) {
        if text.is_empty() {
            return;
        }
        let gap = gap(self.thought.is_some_and(|thought| thought != part));
        self.thought = Some(part);
        let piece = format!("{gap}{text}");
        self.thinking.push_str(&piece);
        hear(Delta::Thinking(piece));
    }

    /// Returns the index of this item's call; begins the call if it is new.
    fn call(&mut self, event: &Value, hear: &dyn Fn(Delta)) -> usize {
        let output = number(event, "output_index");
        if let Some(at) = self.calls.iter().rposition(|call| call.output == output) {
            return at;
        }
        let name = self.names.tool_name(str_at(event, "/item/name"));
        let index = self.calls.len();
        hear(Delta::Call { index, name: name.clone(), piece: String::new() });
        self.calls.push(ResponsesCall { output, name, text: String::new(), whole: false });
        index
    }

    fn add_arguments(&mut self, index: usize, piece: &str, hear: &dyn Fn(Delta)) {
        if piece.is_empty() {
            return;
        }
        let call = &mut self.calls[index];
        call.text.push_str(piece);
        hear(Delta::Call { index, name: call.name.clone(), piece: piece.to_owned() });
    }

    /// Sets all arguments of a call, which replace the pieces before.
    fn end_arguments(&mut self, index: usize, all: &str, hear: &dyn Fn(Delta)) {
        if self.calls[index].text.is_empty() {
            self.add_arguments(index, all, hear);
        } else if !all.is_empty() && self.calls[index].text != all {
            all.clone_into(&mut self.calls[index].text);
        }
    }

    fn end_item(&mut self, event: &Value, hear: &dyn Fn(Delta)) {
        match str_at(event, "/item/type") {
            "function_call" => {
                let index = self.call(event, hear);
                self.end_arguments(index, str_at(event, "/item/arguments"), hear);
                self.calls[index].whole = str_at(event, "/item/status") != "incomplete";
            }
            "reasoning" if !str_at(event, "/item/encrypted_content").is_empty() => {
                let place = usize::from(!self.text.is_empty()) + self.calls.len();
                let of = |key: &str| event["item"][key].clone();
                let item = json!({"type": "reasoning", "id": of("id"), "summary": of("summary"),
                    "encrypted_content": of("encrypted_content")});
                self.sealed.push(json!({ "place": place, "item": item }));
            }
            _ => {}
        }
    }

    fn end(&mut self, event: &Value) {
        if let Some(usage) = event.pointer("/response/usage").filter(|usage| usage.is_object()) {
            let cached = usage.pointer("/input_tokens_details/cached_tokens");
            self.usage = Some(Usage {
                input_tokens: number(usage, "input_tokens"),
                output_tokens: number(usage, "output_tokens"),
                cached_tokens: cached.and_then(Value::as_u64).unwrap_or(0),
                cache_write_tokens: 0,
                estimated: false,
            });
        }
        let reason = str_at(event, "/response/incomplete_details/reason");
        self.end = Some(match str_at(event, "/type") {
            "response.incomplete" => ResponsesStatus::Incomplete(reason.to_owned()),
            _ => ResponsesStatus::Completed,
        });
    }

    /// Returns the failure of the answer; `None` if it is good.
    fn wrong(&self) -> Option<ModelFailure> {
        let failure = |kind, message: &str| Some(ModelFailure::new(kind, message));
        if !self.refusal.is_empty() {
            return failure(FailureKind::Refused, &self.refusal);
        }
        let reason = match &self.end {
            None => return failure(FailureKind::Cut, "the answer ended in the middle"),
            Some(ResponsesStatus::Completed) => {
                let nameless = self.calls.iter().any(|call| call.name.is_empty());
                return nameless.then(|| {
                    let what = "the answer has a call that names no tool";
                    ModelFailure::new(FailureKind::Malformed, what)
                });
            }
            Some(ResponsesStatus::Incomplete(reason)) => reason.as_str(),
        };
        match reason {
            "content_filter" => {
                failure(FailureKind::Refused, "the provider's content filter stopped the answer")
            }
            "max_output_tokens" if self.calls.iter().any(|call| !call.whole) => failure(
                FailureKind::Cut,
                "max_tokens ended the answer in the middle of a call; raise max_tokens, or ask for less at once",
            ),
            "max_output_tokens" if !self.text.is_empty() || !self.calls.is_empty() => None,
            "max_output_tokens" => failure(
                FailureKind::Cut,
                "max_tokens ended the answer before it said anything; raise max_tokens",
            ),
            reason => failure(
                FailureKind::Cut,
                &format!(
                    "the provider ended the answer in the middle: {}",
                    error_status::excerpt(reason)
                ),
            ),
        }
    }
}

impl AnswerReader for ResponsesReader {
    fn take(&mut self, frame: &AnswerFrame, hear: &dyn Fn(Delta)) -> Result<bool, ModelFailure> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(false);
        }
        let event: Value = serde_json::from_str(data).map_err(|error| {
            let shown = error_status::excerpt(data);
            let what = format!("a piece of the answer cannot be read ({error}): {shown}");
            ModelFailure::new(FailureKind::Malformed, what)
        })?;
        let part = |inner: &str| OutputPart {
            item: number(&event, "output_index"),
            part: number(&event, inner),
        };
        match str_at(&event, "/type") {
            "response.output_item.added" if str_at(&event, "/item/type") == "function_call" => {
                let index = self.call(&event, hear);
                self.add_arguments(index, str_at(&event, "/item/arguments"), hear);
            }
            "response.output_item.done" => self.end_item(&event, hear),
            "response.output_text.delta" => {
                self.say(part("content_index"), str_at(&event, "/delta"), hear);
            }
            "response.output_text.done" if self.spoken != Some(part("content_index")) => {
                self.say(part("content_index"), str_at(&event, "/text"), hear);
            }
            "response.reasoning_summary_text.delta" => {
                self.think(part("summary_index"), str_at(&event, "/delta"), hear);
            }
            "response.reasoning_text.delta" => {
                self.think(part("content_index"), str_at(&event, "/delta"), hear);
            }
            "response.function_call_arguments.delta" => {
                let index = self.call(&event, hear);
                self.add_arguments(index, str_at(&event, "/delta"), hear);
            }
            "response.function_call_arguments.done" => {
                let index = self.call(&event, hear);
                self.end_arguments(index, str_at(&event, "/arguments"), hear);
            }
            "response.refusal.delta" => self.refusal.push_str(str_at(&event, "/delta")),
            "response.refusal.done" if self.refusal.is_empty() => {
                self.refusal.push_str(str_at(&event, "/refusal"));
            }
            "response.completed" | "response.incomplete" => {
                self.end(&event);
                return Ok(true);
            }
            "response.failed" => {
                return Err(error_status::failure_in_stream(&event["response"]["error"]));
            }
            "error" => return Err(error_status::failure_in_stream(&event)),
            "" if event.get("error").is_some() => {
                return Err(error_status::failure_in_stream(&event));
            }
            _ => {}
        }
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<ModelAnswer, ModelFailure> {
        if let Some(failure) = self.wrong() {
            return Err(failure);
        }
        let Self { model, text, thinking, calls, sealed: items, usage, .. } = *self;
        let calls = calls
            .into_iter()
            .map(|call| RawToolCall { name: call.name, input: arguments::read(&call.text) });
        Ok(ModelAnswer {
            text,
            thinking,
            calls: calls.collect(),
            sealed: (!items.is_empty()).then(|| SealedContent { by: sealer(&model), items }),
            model: None,
            usage,
        })
    }
}

fn gap(wanted: bool) -> &'static str {
    if wanted { "\n\n" } else { "" }
}

fn str_at<'a>(event: &'a Value, pointer: &str) -> &'a str {
    event.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}
