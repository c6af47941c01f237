//! Assembles the calls of an answer from their pieces.
//!
//! OpenAI numbers the calls and sends id and name once. Other servers repeat them, give all calls
//! the same number, or send each call complete and without a number.
//!
//! Must never: parse the arguments before all of them have arrived.

use agentry_protocol::message::{FailureKind, ModelFailure, RawToolCall};
use serde_json::{Value, json};

use super::chunk::{ArgumentsDelta, CallPiece, FunctionPiece};
use crate::transcript::ToolNameMap;
use crate::{Delta, arguments};

/// The calls received so far.
#[derive(Default)]
pub(super) struct CallAssembler {
    calls: Vec<PartialCall>,
}

#[derive(Default)]
struct PartialCall {
    /// The server's number of the call.
    index: Option<i64>,
    id: String,
    /// The tool's name as the server writes it.
    written: String,
    /// The canonical name of the tool.
    name: String,
    /// The arguments, when they come in pieces.
    text: String,
    /// The arguments, when they come complete.
    whole: Option<Value>,
    extra: Option<Value>,
}

impl CallAssembler {
    /// Adds a piece of a call.
    pub(super) fn take(&mut self, piece: CallPiece, names: &ToolNameMap, hear: &dyn Fn(Delta)) {
        let id = piece.id.unwrap_or_default();
        let function = piece.function.unwrap_or(FunctionPiece { name: None, arguments: None });
        let written = function.name.unwrap_or_default();
        let at = self.find(piece.index, &id, &written).unwrap_or_else(|| {
            self.calls.push(PartialCall { index: piece.index, ..PartialCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        let new = call.written.is_empty() && !written.is_empty();
        if new {
            call.name = names.tool_name(&written);
            call.written = written;
        }
        if call.id.is_empty() {
            call.id = id;
        }
        if piece.extra_content.is_some() {
            call.extra = piece.extra_content;
        }
        let piece = match function.arguments {
            Some(ArgumentsDelta::Text(text)) => text,
            Some(ArgumentsDelta::Whole(Value::Null)) | None => String::new(),
            Some(ArgumentsDelta::Whole(value)) => {
                let text = value.to_string();
                call.whole = Some(value);
                text
            }
        };
        if call.whole.is_none() {
            call.text.push_str(&piece);
        }
        if new || !piece.is_empty() {
            hear(Delta::Call { index: at, name: call.name.clone(), piece });
        }
    }

    /// Adds a piece of the only call of a server that has no lists of calls.
    pub(super) fn take_lone(
        &mut self,
        function: FunctionPiece,
        names: &ToolNameMap,
        hear: &dyn Fn(Delta),
    ) {
        let piece =
            CallPiece { index: Some(0), id: None, function: Some(function), extra_content: None };
        self.take(piece, names, hear);
    }

    /// Returns the index of the piece's call; `None` if it begins a new call.
    fn find(&self, index: Option<i64>, id: &str, written: &str) -> Option<usize> {
        let last = |wanted: &dyn Fn(&PartialCall) -> bool| self.calls.iter().rposition(wanted);
        if index.is_some() {
            let at = last(&|call| call.index == index)?;
            let call = &self.calls[at];
            let other = |new: &str, old: &str| !new.is_empty() && !old.is_empty() && new != old;
            let is_other =
                other(written, &call.written) || (other(id, &call.id) && !written.is_empty());
            return (!is_other).then_some(at);
        }
        if !id.is_empty() {
            return last(&|call| call.id == id);
        }
        if !written.is_empty() {
            return None;
        }
        self.calls.len().checked_sub(1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// True if no call's text is truncated. Only the last may be cut before its first argument.
    pub(super) fn are_whole(&self) -> bool {
        self.calls.iter().enumerate().all(|(at, call)| {
            let begun = !call.text.trim().is_empty() || at + 1 < self.calls.len();
            call.whole.is_some() || (begun && arguments::read(&call.text).is_object())
        })
    }

    /// Returns the failure that makes the calls useless; `None` if they are good.
    pub(super) fn wrong(&self) -> Option<ModelFailure> {
        let nameless = self.calls.iter().any(|call| call.name.is_empty());
        nameless.then(|| {
            ModelFailure::new(FailureKind::Malformed, "the answer has a call that names no tool")
        })
    }

    /// Returns the content that the provider wants back with the calls.
    pub(super) fn sealed(&mut self) -> Vec<Value> {
        let sealed = self.calls.iter_mut().enumerate().filter_map(|(at, call)| {
            Some(json!({ "call": at, "extra_content": call.extra.take()? }))
        });
        sealed.collect()
    }

    /// Returns the calls.
    pub(super) fn asked(self) -> Vec<RawToolCall> {
        let asked = self.calls.into_iter().map(|call| {
            let input = match call.whole {
                Some(Value::Object(fields)) => Value::Object(fields),
                Some(other) => arguments::read(&other.to_string()),
                None => arguments::read(&call.text),
            };
            RawToolCall { name: call.name, input }
        });
        asked.collect()
    }
}
