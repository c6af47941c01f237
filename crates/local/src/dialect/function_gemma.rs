//! The dialect of FunctionGemma: `call:NAME{key:<escape>text<escape>,n:3}` between its own marks.
//!
//! Names are shown as word characters only, which is all that the model knows; several calls,
//! negative numbers and nested values are read.
//!
//! Must never: let a value from outside hold one of the format's marks.

use agentry_protocol::message::RawToolCall;
use serde_json::{Map, Value};

use crate::card::DialectName;
use crate::dialect::function_gemma_grammar;
use crate::dialect::{Dialect, Outcome, Part, Role};
use crate::toolset::Offered;

pub(super) const ESCAPE: &str = "<escape>";
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
/// How deep a value in a call may be nested.
const DEPTH: usize = 16;

/// The dialect.
#[derive(Default)]
pub(crate) struct FunctionGemma {
    /// Whether the vocabulary has the delimiter as a control token.
    pub(crate) escape_is_control: bool,
}

impl Dialect for FunctionGemma {
    fn name(&self) -> DialectName {
        DialectName::FunctionGemma
    }

    fn between(&self, from: Option<Role>, to: Role) -> String {
        let role = match to {
            Role::System => "developer",
            Role::User => "user",
            Role::Model | Role::Results => "model",
        };
        match (from, to) {
            // Results stand in the turn of the model, which then goes on.
            (Some(Role::Model), Role::Results) | (Some(Role::Results), Role::Model) => {
                String::new()
            }
            (None, _) => format!("{TURN_OPENS}{role}\n"),
            (Some(_), _) => format!("{TURN_CLOSES}\n{TURN_OPENS}{role}\n"),
        }
    }

    fn shown_name(&self, tool: &str) -> String {
        let word = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
        tool.chars().map(word).collect()
    }

    fn system(&self, system: &str, tools: &[Offered]) -> Vec<Part> {
        let mut parts = Vec::new();
        if !tools.is_empty() {
            parts.push(Part::mark(SENTENCE));
        }
        for tool in tools {
            parts.push(Part::mark(format!("\n{DECLARATION_OPENS}")));
            declaration(tool, &mut parts);
            parts.push(Part::mark(DECLARATION_CLOSES));
        }
        if !system.is_empty() {
            let gap = if tools.is_empty() { "" } else { "\n" };
            parts.push(Part::text(format!("{gap}{system}")));
        }
        parts
    }

    fn results(&self, outcomes: &[Outcome<'_>]) -> Vec<Part> {
        let mut parts = Vec::new();
        for outcome in outcomes {
            parts.push(Part::mark(RESPONSE_OPENS));
            parts.push(Part::text(format!("response:{}{{", outcome.name)));
            match serde_json::from_str(outcome.content) {
                Ok(Value::Object(fields)) => response(&fields, &mut parts),
                Ok(_) | Err(_) => {
                    parts.push(Part::text("result:"));
                    escaped(outcome.content, &mut parts);
                }
            }
            parts.push(Part::text("}"));
            parts.push(Part::mark(RESPONSE_CLOSES));
        }
        parts
    }

    fn call(&self, name: &str, input: &Value) -> Vec<Part> {
        let mut parts = self.call_opens();
        parts.push(Part::text(format!("call:{name}")));
        value(input, &mut parts);
        parts.extend(self.call_closes());
        parts
    }

    fn call_opens(&self) -> Vec<Part> {
        vec![Part::mark(CALL_OPENS)]
    }

    fn call_closes(&self) -> Vec<Part> {
        vec![Part::mark(CALL_CLOSES)]
    }

    fn between_calls(&self) -> Option<Vec<Part>> {
        Some(Vec::new())
    }

    fn grammar(&self, tools: &[Offered]) -> Result<String, (String, String)> {
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
        let mut reader = Reader { rest: &rest[name.len()..] };
        let input = reader.value(0)?;
        reader.rest.is_empty().then(|| RawToolCall { name: name.to_owned(), input })
    }

    fn stops(&self) -> &[&str] {
        &[RESPONSE_OPENS]
    }
}

/// `declaration:NAME{description:…,parameters:{properties:{…},required:[…],type:…}}`
fn declaration(tool: &Offered, parts: &mut Vec<Part>) {
    parts.push(Part::text(format!("declaration:{}{{description:", tool.shown)));
    escaped(&tool.description, parts);
    parts.push(Part::text(",parameters:"));
    object_shape(&tool.parameters, parts);
    parts.push(Part::text("}"));
}

fn object_shape(schema: &Value, parts: &mut Vec<Part>) {
    parts.push(Part::text("{properties:{"));
    let properties = schema.get("properties").and_then(Value::as_object);
    for (index, (key, inner)) in properties.into_iter().flatten().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        parts.push(Part::text(format!("{comma}{}:", without_marks(key))));
        property(inner, parts);
    }
    parts.push(Part::text("},required:"));
    let none = Value::Array(Vec::new());
    value(schema.get("required").filter(|list| list.is_array()).unwrap_or(&none), parts);
    parts.push(Part::text(",type:"));
    escaped("OBJECT", parts);
    parts.push(Part::text("}"));
}

fn property(schema: &Value, parts: &mut Vec<Part>) {
    let kind = kind(schema);
    parts.push(Part::text("{type:"));
    escaped(kind, parts);
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        parts.push(Part::text(",description:"));
        escaped(description, parts);
    }
    if let Some(options) = schema.get("enum").filter(|options| options.is_array()) {
        parts.push(Part::text(",enum:"));
        value(options, parts);
    }
    if let Some(items) = schema.get("items").filter(|_| kind == "ARRAY") {
        parts.push(Part::text(",items:"));
        property(items, parts);
    }
    if let Some(inner) = schema.get("properties").and_then(Value::as_object) {
        parts.push(Part::text(",properties:{"));
        for (index, (key, schema)) in inner.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            parts.push(Part::text(format!("{comma}{}:", without_marks(key))));
            property(schema, parts);
        }
        parts.push(Part::text("}"));
    }
    parts.push(Part::text("}"));
}

/// The five types that the model knows.
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

/// Numbers and truths bare, text in delimiters, the rest as JSON in delimiters.
fn response(fields: &Map<String, Value>, parts: &mut Vec<Part>) {
    for (index, (key, field)) in fields.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        parts.push(Part::text(format!("{comma}{}:", without_marks(key))));
        match field {
            Value::Number(_) | Value::Bool(_) => parts.push(Part::text(field.to_string())),
            Value::String(text) => escaped(text, parts),
            Value::Null | Value::Array(_) | Value::Object(_) => escaped(&field.to_string(), parts),
        }
    }
}

fn value(value: &Value, parts: &mut Vec<Part>) {
    match value {
        Value::String(text) => escaped(text, parts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            parts.push(Part::text(value.to_string()));
        }
        Value::Array(items) => {
            parts.push(Part::text("["));
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    parts.push(Part::text(","));
                }
                self::value(item, parts);
            }
            parts.push(Part::text("]"));
        }
        Value::Object(fields) => {
            parts.push(Part::text("{"));
            for (index, (key, field)) in fields.iter().enumerate() {
                let comma = if index > 0 { "," } else { "" };
                parts.push(Part::text(format!("{comma}{}:", without_marks(key))));
                self::value(field, parts);
            }
            parts.push(Part::text("}"));
        }
    }
}

fn escaped(text: &str, parts: &mut Vec<Part>) {
    parts.push(Part::mark(ESCAPE));
    parts.push(Part::text(without_marks(text)));
    parts.push(Part::mark(ESCAPE));
}

/// Without the format's marks, also where taking one out would make another.
fn without_marks(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some(mark) = MARKS.iter().find(|mark| text.contains(**mark)) {
        text = text.replace(mark, "");
    }
    text
}

/// Reads values of a call.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
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
            // A key twice: nobody could say which one was meant.
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
#[path = "function_gemma_tests.rs"]
mod tests;
