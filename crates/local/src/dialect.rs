//! How a talk, its tools and its calls are written for one kind of model.
//!
//! A dialect writes parts: marks, which are the format's own, and text, which comes from outside and
//! can never become a mark. The template of the file decides which dialect it is.
//!
//! Must never: know tokens, weights or the engine.

pub(crate) mod frame;
pub(crate) mod function_gemma;
mod function_gemma_grammar;
pub(crate) mod hermes;
mod json_text;
pub(crate) mod llama;
pub(crate) mod plain;
mod recover;

use agentry_protocol::message::{Message, ModelRequest, RawToolCall};
use agentry_protocol::tool_call::ToolCall;
use serde_json::Value;

use crate::card::DialectName;
use crate::toolset::Offered;

pub(crate) use json_text::spaced;
pub(crate) use recover::recovered;

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Of the format: may become control tokens.
    Mark(String),
    /// From outside: is only ever text.
    Text(String),
}

impl Part {
    pub(crate) fn mark(text: impl Into<String>) -> Self {
        Self::Mark(text.into())
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// Who speaks in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    System,
    User,
    Model,
    Results,
}

/// What came of a call, for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome<'a> {
    /// The tool, as it was shown to the model.
    pub(crate) name: String,
    pub(crate) content: &'a str,
}

/// A stretch of the prompt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Segment {
    /// Written by us.
    Parts(Vec<Part>),
    /// Said by the model: the tokens it said it with are better than these parts.
    Said { message: usize, parts: Vec<Part> },
}

/// The way one kind of model writes.
pub(crate) trait Dialect: Send {
    fn name(&self) -> DialectName;

    /// What stands between two turns, or before the first.
    fn between(&self, from: Option<Role>, to: Role) -> String;

    /// The name under which a tool is shown.
    fn shown_name(&self, tool: &str) -> String {
        tool.to_owned()
    }

    /// The text of the system turn.
    fn system(&self, system: &str, tools: &[Offered]) -> Vec<Part>;

    /// The results of the calls just made.
    fn results(&self, outcomes: &[Outcome<'_>]) -> Vec<Part>;

    /// A call as the model would have written it, with its marks.
    fn call(&self, name: &str, input: &Value) -> Vec<Part>;

    /// What opens a call.
    fn call_opens(&self) -> Vec<Part>;

    /// What closes it.
    fn call_closes(&self) -> Vec<Part>;

    /// What stands between two calls, or nothing if there is only ever one.
    fn between_calls(&self) -> Option<Vec<Part>>;

    /// The grammar of what stands between the opening and the closing, in the syntax of llguidance.
    fn grammar(&self, tools: &[Offered]) -> Result<String, (String, String)>;

    /// The name that a call has as soon as its beginning is written.
    fn name_so_far(&self, written: &str) -> Option<String>;

    /// The call in what was written between the opening and the closing.
    fn parse(&self, written: &str) -> Option<RawToolCall>;

    /// Marks at which a model stops besides its end of turn.
    fn stops(&self) -> &[&str] {
        &[]
    }
}

/// The whole prompt of a request, up to where the model begins to speak.
pub(crate) fn render(
    dialect: &dyn Dialect,
    request: &ModelRequest,
    tools: &[Offered],
) -> Vec<Segment> {
    let mut prompt = Prompt { dialect, segments: Vec::new(), last: None };
    if !request.system.is_empty() || !tools.is_empty() {
        prompt.turn(Role::System, dialect.system(&request.system, tools));
    }
    let mut outcomes: Vec<Outcome<'_>> = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        if !matches!(**message, Message::Tool { .. }) && !outcomes.is_empty() {
            prompt.turn(Role::Results, dialect.results(&outcomes));
            outcomes.clear();
        }
        match &**message {
            Message::User { content, .. } => prompt.turn(Role::User, vec![Part::text(content)]),
            Message::Assistant { content, calls, .. } => {
                prompt.said(index, content, calls);
            }
            Message::Tool { call, content, .. } => {
                let name = tool_of(request, index, call).unwrap_or_default();
                outcomes.push(Outcome { name: dialect.shown_name(name), content });
            }
        }
    }
    if !outcomes.is_empty() {
        prompt.turn(Role::Results, dialect.results(&outcomes));
    }
    prompt.turn(Role::Model, Vec::new());
    prompt.segments
}

struct Prompt<'a> {
    dialect: &'a dyn Dialect,
    segments: Vec<Segment>,
    last: Option<Role>,
}

impl Prompt<'_> {
    fn turn(&mut self, role: Role, parts: Vec<Part>) {
        let mut all = vec![Part::Mark(self.dialect.between(self.last, role))];
        all.extend(parts);
        self.segments.push(Segment::Parts(all));
        self.last = Some(role);
    }

    fn said(&mut self, message: usize, text: &str, calls: &[ToolCall]) {
        self.turn(Role::Model, Vec::new());
        self.segments.push(Segment::Said { message, parts: said_parts(self.dialect, text, calls) });
    }
}

fn said_parts(dialect: &dyn Dialect, text: &str, calls: &[ToolCall]) -> Vec<Part> {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(Part::text(text));
    }
    for call in calls {
        if !parts.is_empty() {
            parts.extend(dialect.between_calls().unwrap_or_default());
        }
        parts.extend(dialect.call(&dialect.shown_name(call.tool.as_str()), &call.input));
    }
    parts
}

/// The tool whose call a result belongs to: the nearest one before it with that id.
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

/// The dialect that a template shows.
pub(crate) fn of_template(template: &str) -> DialectName {
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
pub(crate) fn flat(parts: &[Part]) -> String {
    parts
        .iter()
        .map(|part| match part {
            Part::Mark(text) | Part::Text(text) => text.as_str(),
        })
        .collect()
}

#[cfg(test)]
pub(crate) fn flat_prompt(segments: &[Segment]) -> String {
    segments
        .iter()
        .map(|segment| match segment {
            Segment::Parts(parts) | Segment::Said { parts, .. } => flat(parts),
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
            assert_eq!(of_template(template), dialect, "{template}");
        }
    }
}
