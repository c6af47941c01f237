//! Reads an answer of Gemini.
//!
//! Must never: treat an answer without a finish reason as complete.

use agentry_protocol::message::{FailureKind, ModelFailure, RawToolCall, SealedContent, Usage};
use serde_json::{Map, Value, json};

use super::{failure, sealer};
use crate::codec::{AnswerFrame, AnswerReader, CodecInput};
use crate::transcript::ToolNameMap;
use crate::{Delta, ModelAnswer, arguments, error_status};

/// The received part of an answer.
pub(super) struct GeminiReader {
    model: String,
    names: ToolNameMap,
    text: String,
    text_signature: Option<Value>,
    thinking: String,
    calls: Vec<GeminiCall>,
    usage: Option<Usage>,
    finish: Option<String>,
    /// The provider's explanation of the finish reason.
    message: String,
}

struct GeminiCall {
    name: String,
    input: Value,
    id: Option<Value>,
    signature: Option<Value>,
}

impl GeminiReader {
    /// Creates a reader for the answer to this request.
    pub(super) fn new(asked: CodecInput<'_>) -> Self {
        Self {
            model: asked.model.to_owned(),
            names: ToolNameMap::of(&asked.request.tools),
            text: String::new(),
            text_signature: None,
            thinking: String::new(),
            calls: Vec::new(),
            usage: None,
            finish: None,
            message: String::new(),
        }
    }

    fn hear_candidate(&mut self, candidate: &mut Value, hear: &dyn Fn(Delta)) {
        if let Some(Value::Array(parts)) = candidate.pointer_mut("/content/parts") {
            for part in parts {
                self.hear_part(part, hear);
            }
        }
        // Old models send a reason with each piece, so only the last piece counts.
        self.finish = candidate.get("finishReason").and_then(Value::as_str).map(ToOwned::to_owned);
        let message = candidate.get("finishMessage").and_then(Value::as_str);
        self.message = error_status::excerpt(message.unwrap_or(""));
    }

    fn hear_part(&mut self, part: &mut Value, hear: &dyn Fn(Delta)) {
        let signature = part.get_mut("thoughtSignature").map(Value::take);
        if let Some(call) = part.get_mut("functionCall") {
            self.hear_call(call, signature, hear);
            return;
        }
        let Some(Value::String(text)) = part.get_mut("text").map(Value::take) else { return };
        if part.get("thought").and_then(Value::as_bool) == Some(true) {
            if !text.is_empty() {
                self.thinking.push_str(&text);
                hear(Delta::Thinking(text));
            }
            return;
        }
        if signature.is_some() {
            self.text_signature = signature;
        }
        if !text.is_empty() {
            self.text.push_str(&text);
            hear(Delta::Text(text));
        }
    }

    fn hear_call(&mut self, call: &mut Value, signature: Option<Value>, hear: &dyn Fn(Delta)) {
        let name = self.names.tool_name(call.get("name").and_then(Value::as_str).unwrap_or(""));
        let input = match call.get_mut("args").map(Value::take) {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(Value::Object(fields)) => Value::Object(fields),
            Some(other) => arguments::read(&other.to_string()),
        };
        let id = call.get_mut("id").map(Value::take).filter(Value::is_string);
        let index = self.calls.len();
        hear(Delta::Call { index, name: name.clone(), piece: input.to_string() });
        self.calls.push(GeminiCall { name, input, id, signature });
    }

    fn sealed(&mut self) -> Option<SealedContent> {
        let mut items = Vec::new();
        let first = usize::from(!self.text.is_empty());
        if let (1, Some(signature)) = (first, self.text_signature.take()) {
            items.push(json!({ "part": 0, "thoughtSignature": signature }));
        }
        for (at, call) in self.calls.iter_mut().enumerate() {
            let mut item = Map::new();
            let wanted = [("thoughtSignature", call.signature.take()), ("id", call.id.take())];
            for (key, value) in wanted {
                if let Some(value) = value {
                    item.insert(key.to_owned(), value);
                }
            }
            if !item.is_empty() {
                item.insert("part".to_owned(), json!(first + at));
                items.push(Value::Object(item));
            }
        }
        (!items.is_empty()).then(|| SealedContent { by: sealer(&self.model), items })
    }

    /// Returns the failure of the answer; `None` if it is good.
    fn wrong(&self) -> Option<ModelFailure> {
        let Some(reason) = &self.finish else {
            return Some(ModelFailure::new(FailureKind::Cut, "the answer ended in the middle"));
        };
        let kind = match reason.as_str() {
            "STOP" => return self.nameless(),
            "MAX_TOKENS" if self.text.is_empty() && self.calls.is_empty() => {
                let what = "max_tokens ended the answer before it said anything; raise max_tokens";
                return Some(ModelFailure::new(FailureKind::Cut, what));
            }
            "MAX_TOKENS" => return self.nameless(),
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MALFORMED_RESPONSE"
            | "MISSING_THOUGHT_SIGNATURE" => FailureKind::Malformed,
            "OTHER" | "FINISH_REASON_UNSPECIFIED" => FailureKind::Overloaded,
            _ => FailureKind::Refused,
        };
        let message = match self.message.as_str() {
            "" => format!("the provider ended the answer: {}", error_status::excerpt(reason)),
            words => {
                format!("the provider ended the answer: {}: {words}", error_status::excerpt(reason))
            }
        };
        Some(ModelFailure::new(kind, message))
    }

    fn nameless(&self) -> Option<ModelFailure> {
        self.calls.iter().any(|call| call.name.is_empty()).then(|| {
            ModelFailure::new(FailureKind::Malformed, "the answer has a call that names no tool")
        })
    }
}

impl AnswerReader for GeminiReader {
    fn take(&mut self, frame: &AnswerFrame, hear: &dyn Fn(Delta)) -> Result<bool, ModelFailure> {
        let data = frame.data.trim();
        if data.is_empty() {
            return Ok(false);
        }
        let mut piece: Value = serde_json::from_str(data).map_err(|error| {
            let shown = error_status::excerpt(data);
            let what = format!("a piece of the answer cannot be read ({error}): {shown}");
            ModelFailure::new(FailureKind::Malformed, what)
        })?;
        if piece.get("error").is_some() {
            return Err(failure::in_stream(&piece));
        }
        if let Some(reason) = piece.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            let what =
                format!("the provider refused the request: {}", error_status::excerpt(reason));
            return Err(ModelFailure::new(FailureKind::Refused, what));
        }
        if let Some(candidate) = piece.pointer_mut("/candidates/0") {
            self.hear_candidate(candidate, hear);
        }
        if let Some(usage) = piece.get("usageMetadata").filter(|usage| usage.is_object()) {
            self.usage = Some(counted(usage));
        }
        // Only the end of the stream counts: old models send a reason before they are done.
        Ok(false)
    }

    fn finish(mut self: Box<Self>) -> Result<ModelAnswer, ModelFailure> {
        if let Some(failure) = self.wrong() {
            return Err(failure);
        }
        let sealed = self.sealed();
        let calls =
            self.calls.into_iter().map(|call| RawToolCall { name: call.name, input: call.input });
        Ok(ModelAnswer {
            text: self.text,
            thinking: self.thinking,
            calls: calls.collect(),
            sealed,
            model: None,
            usage: self.usage,
        })
    }
}

fn counted(usage: &Value) -> Usage {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    Usage {
        input_tokens: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
        output_tokens: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
        cached_tokens: count("cachedContentTokenCount"),
        cache_write_tokens: 0,
        estimated: false,
    }
}
