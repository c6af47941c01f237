//! The written form of a conversation, its tools and its calls for one kind of model.
//!
//! A dialect writes fragments: marks, which belong to the format, and text, which comes from
//! outside and can never become a mark. The template in the model file selects the dialect.
//!
//! Must never: know tokens, weights or the engine.

pub(crate) mod function_gemma;
mod function_gemma_grammar;
pub(crate) mod hermes;
mod json_text;
pub(crate) mod llama;
pub(crate) mod plain;
mod recover;
pub(crate) mod separators;

use agentry_protocol::message::{Message, ModelRequest, RawToolCall};
use agentry_protocol::tool_call::ToolCall;
use serde_json::Value;

use crate::model_summary::DialectName;

pub(crate) use json_text::to_spaced_json;
pub(crate) use recover::find_call;

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptFragment {
    /// A mark of the format: may become control tokens.
    Mark(String),
    /// Text from outside: never becomes control tokens.
    Text(String),
}

impl PromptFragment {
    pub(crate) fn mark(text: impl Into<String>) -> Self {
        Self::Mark(text.into())
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// The speaker of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DialectRole {
    System,
    User,
    Model,
    Results,
}

/// The outcome of a call, as shown to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RenderedOutcome<'a> {
    /// The shown name of the tool.
    pub(crate) name: String,
    pub(crate) content: &'a str,
}

/// A tool as it is shown to a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DialectTool {
    /// The name that the model sees.
    pub(crate) shown: String,
    /// The name of the tool in Agentry.
    pub(crate) tool: String,
    pub(crate) description: String,
    /// The schema of the arguments, from the tool.
    pub(crate) parameters: Value,
    /// The schema with limits, from which the grammar is made.
    pub(crate) bounded: Value,
}

/// A stretch of the prompt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Segment {
    /// Fragments written by the runtime.
    Parts(Vec<PromptFragment>),
    /// A message written by the model: its own tokens, if known, are used instead of `parts`.
    Reply { message: usize, parts: Vec<PromptFragment> },
}

/// The format of one kind of model.
pub(crate) trait Dialect: Send {
    fn name(&self) -> DialectName;

    /// Returns the separator between two turns, or before the first.
    fn between(&self, from: Option<DialectRole>, to: DialectRole) -> String;

    /// Returns the name under which a tool is shown.
    fn shown_name(&self, tool: &str) -> String {
        tool.to_owned()
    }

    /// Returns the text of the system turn.
    fn system(&self, system: &str, tools: &[DialectTool]) -> Vec<PromptFragment>;

    /// Returns the outcomes of the calls just made.
    fn results(&self, outcomes: &[RenderedOutcome<'_>]) -> Vec<PromptFragment>;

    /// Returns a call as the model would have written it, with its marks.
    fn call(&self, name: &str, input: &Value) -> Vec<PromptFragment>;

    /// Returns the opening of a call.
    fn call_opening(&self) -> Vec<PromptFragment>;

    /// Returns the closing of a call.
    fn call_closing(&self) -> Vec<PromptFragment>;

    /// Returns the separator of two calls; None if an answer has only one call.
    fn between_calls(&self) -> Option<Vec<PromptFragment>>;

    /// Returns the llguidance grammar inside the marks, or the faulty tool and the reason.
    fn grammar(&self, tools: &[DialectTool]) -> Result<String, (String, String)>;

    /// Returns the tool's name in an unfinished call, as soon as it is complete.
    fn name_so_far(&self, written: &str) -> Option<String>;

    /// Parses a call from the text between the opening and the closing.
    fn parse(&self, written: &str) -> Option<RawToolCall>;

    /// Returns the marks at which a model stops, besides its end of turn.
    fn stops(&self) -> &[&str] {
        &[]
    }
}

/// Renders the whole prompt of a request, up to the beginning of the model's answer.
pub(crate) fn render(
    dialect: &dyn Dialect,
    request: &ModelRequest,
    tools: &[DialectTool],
) -> Vec<Segment> {
    let mut prompt = SegmentBuilder { dialect, segments: Vec::new(), last: None };
    if !request.system.is_empty() || !tools.is_empty() {
        prompt.turn(DialectRole::System, dialect.system(&request.system, tools));
    }
    let mut outcomes: Vec<RenderedOutcome<'_>> = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        if !matches!(**message, Message::Tool { .. }) && !outcomes.is_empty() {
            prompt.turn(DialectRole::Results, dialect.results(&outcomes));
            outcomes.clear();
        }
        match &**message {
            Message::User { content, .. } => {
                prompt.turn(DialectRole::User, vec![PromptFragment::text(content)])
            }
            Message::Assistant { content, calls, .. } => {
                prompt.said(index, content, calls);
            }
            Message::Tool { call, content, .. } => {
                let name = tool_of(request, index, call).unwrap_or_default();
                outcomes.push(RenderedOutcome { name: dialect.shown_name(name), content });
            }
        }
    }
    if !outcomes.is_empty() {
        prompt.turn(DialectRole::Results, dialect.results(&outcomes));
    }
    prompt.turn(DialectRole::Model, Vec::new());
    prompt.segments
}

struct SegmentBuilder<'a> {
    dialect: &'a dyn Dialect,
    segments: Vec<Segment>,
    last: Option<DialectRole>,
}

impl SegmentBuilder<'_> {
    fn turn(&mut self, role: DialectRole, parts: Vec<PromptFragment>) {
        let mut all = vec![PromptFragment::Mark(self.dialect.between(self.last, role))];
        all.extend(parts);
        self.segments.push(Segment::Parts(all));
        self.last = Some(role);
    }

    fn said(&mut self, message: usize, text: &str, calls: &[ToolCall]) {
        self.turn(DialectRole::Model, Vec::new());
        self.segments
            .push(Segment::Reply { message, parts: said_parts(self.dialect, text, calls) });
    }
}

fn said_parts(dialect: &dyn Dialect, text: &str, calls: &[ToolCall]) -> Vec<PromptFragment> {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(PromptFragment::text(text));
    }
    for call in calls {
        if !parts.is_empty() {
            parts.extend(dialect.between_calls().unwrap_or_default());
        }
        parts.extend(dialect.call(&dialect.shown_name(call.tool.as_str()), &call.input));
    }
    parts
}

/// Returns the tool of an outcome: that of the nearest call before it with that id.
fn tool_of<'a>(
    request: &'a ModelRequest,
    before: usize,
    id: &agentry_protocol::CallId,
) -> Option<&'a str> {
    request.messages[..before].iter().rev().find_map(|message| match &**message {
        Message::Assistant { calls, .. } => {
            calls.iter().find(|call| call.id == *id).map(|call| call.tool.as_str())
        }
        Message::User { .. } | Message::Tool { .. } => None,
    })
}

/// Detects the dialect from a chat template.
pub(crate) fn detect_dialect(template: &str) -> DialectName {
    if template.contains("<start_function_call>") {
        DialectName::FunctionGemma
    } else if template.contains("<tool_call>") && template.contains("<|im_start|>") {
        DialectName::Hermes
    } else if template.contains("<|start_header_id|>") && template.contains("tools") {
        DialectName::Llama
    } else {
        DialectName::Plain
    }
}

#[cfg(test)]
pub(crate) fn flat(parts: &[PromptFragment]) -> String {
    parts
        .iter()
        .map(|part| match part {
            PromptFragment::Mark(text) | PromptFragment::Text(text) => text.as_str(),
        })
        .collect()
}

#[cfg(test)]
pub(crate) fn flat_prompt(segments: &[Segment]) -> String {
    segments
        .iter()
        .map(|segment| match segment {
            Segment::Parts(parts) | Segment::Reply { parts, .. } => flat(parts),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_decides_the_dialect() {
        for (template, dialect) in [
            ("{% if tools %}<|im_start|>…<tool_call>", DialectName::Hermes),
            ("<|start_header_id|>…{% if tools is defined %}", DialectName::Llama),
            ("<start_of_turn>developer …<start_function_call>", DialectName::FunctionGemma),
            ("{{'<|im_start|>' + message['role']}}", DialectName::Plain),
            ("[INST] {{ message }} [/INST]", DialectName::Plain),
            ("", DialectName::Plain),
        ] {
            assert_eq!(detect_dialect(template), dialect, "{template}");
        }
    }
}
