//! Parses JSON text into a `Node`.
//!
//! Exactly JSON: no comments, no trailing commas, unique keys, bounded depth and number of values.
//!
//! Must never: accept text that another JSON reader would refuse.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Number;

use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::limits::{NODE_DEPTH_MAX, NODES_MAX};
use crate::node::{Kind, MapEntry, Node};
use crate::source::{SourceText, Span};

/// Parses a JSON file. Defects go to the findings; `None` if no tree can be used.
pub fn parse(source: &SourceText, findings: &mut Findings) -> Option<Node> {
    if let Some(at) = too_deep(&source.text) {
        let text = FindingText::new("this nests too deep")
            .help(format!("at most {NODE_DEPTH_MAX} levels are read"));
        findings.at(DiagnosticCode::TooDeep, source, Span::new(at, at + 1), text);
        return None;
    }
    let strict = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
    };
    let parsed = match parse_to_ast(&source.text, &CollectOptions::default(), &strict) {
        Ok(parsed) => parsed,
        Err(error) => {
            let range = error.range();
            let message = lower_first(&error.kind().to_string());
            findings.at(
                DiagnosticCode::JsonSyntax,
                source,
                Span::new(range.start, range.end),
                message,
            );
            return None;
        }
    };
    // A second parser: the one above is made for editors and forgives some escapes.
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&source.text) {
        let at = byte_at(source, error.line(), error.column());
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        findings.at(DiagnosticCode::JsonSyntax, source, Span::new(at, at + 1), message);
        return None;
    }
    let mut reader = JsonReader { source, findings, nodes: 0 };
    reader.node(parsed.value.as_ref()?)
}

/// Returns the place where brackets nest too deep. Checked first, since the parsers recurse.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                if depth > NODE_DEPTH_MAX {
                    return Some(at);
                }
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn byte_at(source: &SourceText, line: usize, column: usize) -> usize {
    let before: usize =
        source.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    before + column.saturating_sub(1)
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

struct JsonReader<'a> {
    source: &'a SourceText,
    findings: &'a mut Findings,
    nodes: usize,
}

impl JsonReader<'_> {
    fn node(&mut self, value: &ast::Value<'_>) -> Option<Node> {
        let range = value.range();
        let span = Span::new(range.start, range.end);
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            let text = FindingText::new("the file holds too many values")
                .help(format!("at most {NODES_MAX} values are read from one file"));
            self.findings.at(DiagnosticCode::TooManyNodes, self.source, span, text);
            return None;
        }
        let kind = match value {
            ast::Value::NullKeyword(_) => Kind::Null,
            ast::Value::BooleanLit(lit) => Kind::Bool(lit.value),
            ast::Value::NumberLit(lit) => Kind::Number(self.number(lit.value, span)?),
            ast::Value::StringLit(lit) => Kind::Text(lit.value.to_string()),
            ast::Value::Array(array) => Kind::List(
                array.elements.iter().map(|item| self.node(item)).collect::<Option<_>>()?,
            ),
            ast::Value::Object(object) => self.map(object)?,
        };
        Some(Node { span, kind })
    }

    fn map(&mut self, object: &ast::Object<'_>) -> Option<Kind> {
        let mut pairs: Vec<MapEntry> = Vec::with_capacity(object.properties.len());
        let mut seen = std::collections::HashSet::new();
        for property in &object.properties {
            let range = property.name.range();
            let key_span = Span::new(range.start, range.end);
            let key = property.name.as_str().to_owned();
            if !seen.insert(key.clone()) {
                let text = FindingText::new(format!("`{key}` stands here again"))
                    .help("keep one of the two");
                self.findings.at(DiagnosticCode::DuplicateKey, self.source, key_span, text);
                continue;
            }
            let value = self.node(&property.value)?;
            pairs.push(MapEntry { key, key_span, value });
        }
        Some(Kind::Map(pairs))
    }

    /// Returns a number. One that does not fit is a finding, and no other number replaces it.
    fn number(&mut self, text: &str, span: Span) -> Option<Number> {
        let number = serde_json::from_str(text).ok();
        if number.is_none() {
            let text = FindingText::new("the number is too large").help("write a smaller one");
            self.findings.at(DiagnosticCode::JsonSyntax, self.source, span, text);
        }
        number
    }
}
