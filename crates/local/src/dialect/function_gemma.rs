//! The dialect of FunctionGemma: `call:NAME{key:<escape>text<escape>,n:3}` between its own marks.
//!
//! Tools are shown under names of word characters only, since the model knows no others. The parser
//! accepts several calls, negative numbers and nested values.
//!
//! Must never: let a value from outside contain one of the format's marks.

use agentry_protocol::message::RawToolCall;
use serde_json::{Map, Value};

use crate::dialect::function_gemma_grammar::{self, ESCAPE};
use crate::dialect::{Dialect, DialectRole, DialectTool, PromptFragment, RenderedOutcome};
use crate::model_summary::DialectName;

const CALL_OPENS: &str = "<start_function_call>";
const CALL_CLOSES: &str = "<end_function_call>";
const RESPONSE_OPENS: &str = "<start_function_response>";
const RESPONSE_CLOSES: &str = "<end_function_response>";
const DECLARATION_OPENS: &str = "<start_function_declaration>";
const DECLARATION_CLOSES: &str = "<end_function_declaration>";
const TURN_OPENS: &str = "<start_of_turn>";
const TURN_CLOSES: &str = "<end_of_turn>";
const MARKS: [&str; 9] = [
    ESCAPE,
    CALL_OPENS,
    CALL_CLOSES,
    RESPONSE_OPENS,
    RESPONSE_CLOSES,
    DECLARATION_OPENS,
    DECLARATION_CLOSES,
    TURN_OPENS,
    TURN_CLOSES,
];
const SENTENCE: &str = "You are a model that can do function calling with the following functions";
/// Deepest nesting of a value in a call.
const DEPTH: usize = 16;

/// The dialect of FunctionGemma.
#[derive(Default)]
pub(crate) struct FunctionGemma {
    /// True if the vocabulary has the delimiter as a control token.
    pub(crate) escape_is_control: bool,
}

impl Dialect for FunctionGemma {
    fn name(&self) -> DialectName {
        DialectName::FunctionGemma
    }

    fn between(&self, from: Option<DialectRole>, to: DialectRole) -> String {
        let role = match to {
            DialectRole::System => "developer",
            DialectRole::User => "user",
            DialectRole::Model | DialectRole::Results => "model",
        };
        match (from, to) {
            // Outcomes are inside the turn of the model, which then continues.
            (Some(DialectRole::Model), DialectRole::Results)
            | (Some(DialectRole::Results), DialectRole::Model) => String::new(),
            (None, _) => format!("{TURN_OPENS}{role}\n"),
            (Some(_), _) => format!("{TURN_CLOSES}\n{TURN_OPENS}{role}\n"),
        }
    }

    fn shown_name(&self, tool: &str) -> String {
        let word = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
        tool.chars().map(word).collect()
    }

    fn system(&self, system: &str, tools: &[DialectTool]) -> Vec<PromptFragment> {
        let mut parts = Vec::new();
        if !tools.is_empty() {
            parts.push(PromptFragment::mark(SENTENCE));
        }
        for tool in tools {
            parts.push(PromptFragment::mark(format!("\n{DECLARATION_OPENS}")));
            declaration(tool, &mut parts);
            parts.push(PromptFragment::mark(DECLARATION_CLOSES));
        }
        if !system.is_empty() {
            let gap = if tools.is_empty() { "" } else { "\n" };
            parts.push(PromptFragment::text(format!("{gap}{system}")));
        }
        parts
    }

    fn results(&self, outcomes: &[RenderedOutcome<'_>]) -> Vec<PromptFragment> {
        let mut parts = Vec::new();
        for outcome in outcomes {
            parts.push(PromptFragment::mark(RESPONSE_OPENS));
            parts.push(PromptFragment::text(format!("response:{}{{", outcome.name)));
            match serde_json::from_str(outcome.content) {
                Ok(Value::Object(fields)) => response(&fields, &mut parts),
                Ok(_) | Err(_) => {
                    parts.push(PromptFragment::text("result:"));
                    escaped(outcome.content, &mut parts);
                }
            }
            parts.push(PromptFragment::text("}"));
            parts.push(PromptFragment::mark(RESPONSE_CLOSES));
        }
        parts
    }

    fn call(&self, name: &str, input: &Value) -> Vec<PromptFragment> {
        let mut parts = self.call_opening();
        parts.push(PromptFragment::text(format!("call:{name}")));
        value(input, &mut parts);
        parts.extend(self.call_closing());
        parts
    }

    fn call_opening(&self) -> Vec<PromptFragment> {
        vec![PromptFragment::mark(CALL_OPENS)]
    }

    fn call_closing(&self) -> Vec<PromptFragment> {
        vec![PromptFragment::mark(CALL_CLOSES)]
    }

    fn between_calls(&self) -> Option<Vec<PromptFragment>> {
        Some(Vec::new())
    }

    fn grammar(&self, tools: &[DialectTool]) -> Result<String, (String, String)> {
        function_gemma_grammar::grammar(tools, self.escape_is_control)
    }

    fn name_so_far(&self, written: &str) -> Option<String> {
        let (name, _) = written.trim_start().strip_prefix("call:")?.split_once('{')?;
        Some(name.to_owned())
    }

    fn parse(&self, written: &str) -> Option<RawToolCall> {
        let rest = written.trim().strip_prefix("call:")?;
        let (name, _) = rest.split_once('{')?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_word) {
            return None;
        }
        let mut reader = CallValueParser { rest: &rest[name.len()..] };
        let input = reader.value(0)?;
        reader.rest.is_empty().then(|| RawToolCall { name: name.to_owned(), input })
    }

    fn stops(&self) -> &[&str] {
        &[RESPONSE_OPENS]
    }
}

/// `declaration:NAME{description:…,parameters:{properties:{…},required:[…],type:…}}`
fn declaration(tool: &DialectTool, parts: &mut Vec<PromptFragment>) {
    parts.push(PromptFragment::text(format!("declaration:{}{{description:", tool.shown)));
    escaped(&tool.description, parts);
    parts.push(PromptFragment::text(",parameters:"));
    object_shape(&tool.parameters, parts);
    parts.push(PromptFragment::text("}"));
}

fn object_shape(schema: &Value, parts: &mut Vec<PromptFragment>) {
    parts.push(PromptFragment::text("{properties:{"));
    let properties = schema.get("properties").and_then(Value::as_object);
    for (index, (key, inner)) in properties.into_iter().flatten().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        parts.push(PromptFragment::text(format!("{comma}{}:", without_marks(key))));
        property(inner, parts);
    }
    parts.push(PromptFragment::text("},required:"));
    let none = Value::Array(Vec::new());
    value(schema.get("required").filter(|list| list.is_array()).unwrap_or(&none), parts);
    parts.push(PromptFragment::text(",type:"));
    escaped("OBJECT", parts);
    parts.push(PromptFragment::text("}"));
}

fn property(schema: &Value, parts: &mut Vec<PromptFragment>) {
    let kind = kind(schema);
    parts.push(PromptFragment::text("{type:"));
    escaped(kind, parts);
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        parts.push(PromptFragment::text(",description:"));
        escaped(description, parts);
    }
    if let Some(options) = schema.get("enum").filter(|options| options.is_array()) {
        parts.push(PromptFragment::text(",enum:"));
        value(options, parts);
    }
    if let Some(items) = schema.get("items").filter(|_| kind == "ARRAY") {
        parts.push(PromptFragment::text(",items:"));
        property(items, parts);
    }
    if let Some(inner) = schema.get("properties").and_then(Value::as_object) {
        parts.push(PromptFragment::text(",properties:{"));
        for (index, (key, schema)) in inner.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            parts.push(PromptFragment::text(format!("{comma}{}:", without_marks(key))));
            property(schema, parts);
        }
        parts.push(PromptFragment::text("}"));
    }
    parts.push(PromptFragment::text("}"));
}

/// Returns one of the five types that the model knows.
fn kind(schema: &Value) -> &'static str {
    let named = match schema.get("type") {
        Some(Value::String(name)) => Some(name.as_str()),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null")
        }
        Some(_) | None => None,
    };
    match named {
        Some("integer" | "number") => "NUMBER",
        Some("boolean") => "BOOLEAN",
        Some("object") => "OBJECT",
        Some("array") => "ARRAY",
        Some(_) | None => "STRING",
    }
}

/// Writes numbers and booleans bare, text in delimiters, all else as JSON in delimiters.
fn response(fields: &Map<String, Value>, parts: &mut Vec<PromptFragment>) {
    for (index, (key, field)) in fields.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        parts.push(PromptFragment::text(format!("{comma}{}:", without_marks(key))));
        match field {
            Value::Number(_) | Value::Bool(_) => {
                parts.push(PromptFragment::text(field.to_string()))
            }
            Value::String(text) => escaped(text, parts),
            Value::Null | Value::Array(_) | Value::Object(_) => escaped(&field.to_string(), parts),
        }
    }
}

fn value(value: &Value, parts: &mut Vec<PromptFragment>) {
    match value {
        Value::String(text) => escaped(text, parts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            parts.push(PromptFragment::text(value.to_string()));
        }
        Value::Array(items) => {
            parts.push(PromptFragment::text("["));
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    parts.push(PromptFragment::text(","));
                }
                self::value(item, parts);
            }
            parts.push(PromptFragment::text("]"));
        }
        Value::Object(fields) => {
            parts.push(PromptFragment::text("{"));
            for (index, (key, field)) in fields.iter().enumerate() {
                let comma = if index > 0 { "," } else { "" };
                parts.push(PromptFragment::text(format!("{comma}{}:", without_marks(key))));
                self::value(field, parts);
            }
            parts.push(PromptFragment::text("}"));
        }
    }
}

fn escaped(text: &str, parts: &mut Vec<PromptFragment>) {
    parts.push(PromptFragment::mark(ESCAPE));
    parts.push(PromptFragment::text(without_marks(text)));
    parts.push(PromptFragment::mark(ESCAPE));
}

/// Removes the format's marks, repeatedly, since removing one can create another.
fn without_marks(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some(mark) = MARKS.iter().find(|mark| text.contains(**mark)) {
        text = text.replace(mark, "");
    }
    text
}

/// A parser for the values of a call.
struct CallValueParser<'a> {
    rest: &'a str,
}

impl CallValueParser<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            None
        } else if self.takes(ESCAPE) {
            let (text, rest) = self.rest.split_once(ESCAPE)?;
            self.rest = rest;
            Some(Value::from(text))
        } else if self.takes("{") {
            self.object(depth)
        } else if self.takes("[") {
            self.array(depth)
        } else {
            let end = self.rest.find([',', '}', ']']).unwrap_or(self.rest.len());
            let (bare, rest) = self.rest.split_at(end);
            self.rest = rest;
            serde_json::from_str(bare.trim())
                .ok()
                .filter(|value: &Value| value.is_number() || value.is_boolean() || value.is_null())
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut fields = Map::new();
        if self.takes("}") {
            return Some(Value::Object(fields));
        }
        loop {
            let (key, rest) = self.rest.split_once(':')?;
            if key.is_empty() || key.contains(['{', '}', '[', ']', ',', '<']) {
                return None;
            }
            self.rest = rest;
            let value = self.value(depth + 1)?;
            // A duplicate key is ambiguous, so the call is refused.
            if fields.insert(key.trim().to_owned(), value).is_some() {
                return None;
            }
            if self.takes("}") {
                return Some(Value::Object(fields));
            }
            if !self.takes(",") {
                return None;
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        if self.takes("]") {
            return Some(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.takes("]") {
                return Some(Value::Array(items));
            }
            if !self.takes(",") {
                return None;
            }
        }
    }

    fn takes(&mut self, text: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(text) else { return false };
        self.rest = rest;
        true
    }
}

#[cfg(test)]
mod tests;
