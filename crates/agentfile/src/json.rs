//! JSON text in, a `Node` out.
//!
//! Exactly JSON: no comments, no trailing commas, no key twice, a limited depth and number of values.
//!
//! Must never: accept what another JSON reader would refuse.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Number;

use crate::diagnostic::{Code, Findings, Text};
use crate::limits::{NODE_DEPTH_MAX, NODES_MAX};
use crate::node::{Kind, Node, Pair};
use crate::source::{Source, Span};

/// Reads a JSON file. Defects go to the findings; without a usable tree the answer is `None`.
pub fn parse(source: &Source, findings: &mut Findings) -> Option<Node> {
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
            findings.at(Code::JsonSyntax, source, Span::new(range.start, range.end), message);
            return None;
        }
    };
    // A second opinion: the parser above is made for editors and forgives some escapes.
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&source.text) {
        let at = byte_at(source, error.line(), error.column());
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        findings.at(Code::JsonSyntax, source, Span::new(at, at + 1), message);
        return None;
    }
    let mut reader = Reader { source, findings, nodes: 0 };
    reader.node(parsed.value.as_ref()?, 0)
}

fn byte_at(source: &Source, line: usize, column: usize) -> usize {
    let before: usize =
        source.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    before + column.saturating_sub(1)
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

struct Reader<'a> {
    source: &'a Source,
    findings: &'a mut Findings,
    nodes: usize,
}

impl Reader<'_> {
    fn node(&mut self, value: &ast::Value<'_>, depth: usize) -> Option<Node> {
        let range = value.range();
        let span = Span::new(range.start, range.end);
        self.nodes += 1;
        if self.nodes > NODES_MAX || depth > NODE_DEPTH_MAX {
            let (code, what) = match depth > NODE_DEPTH_MAX {
                true => (Code::TooDeep, "this nests too deep"),
                false => (Code::TooManyNodes, "the file holds too many values"),
            };
            let help = format!("at most {NODE_DEPTH_MAX} levels and {NODES_MAX} values are read");
            self.findings.at(code, self.source, span, Text::new(what).help(help));
            return None;
        }
        let kind = match value {
            ast::Value::NullKeyword(_) => Kind::Null,
            ast::Value::BooleanLit(lit) => Kind::Bool(lit.value),
            ast::Value::NumberLit(lit) => Kind::Number(number(lit.value)),
            ast::Value::StringLit(lit) => Kind::Text(lit.value.to_string()),
            ast::Value::Array(array) => Kind::List(
                array
                    .elements
                    .iter()
                    .map(|item| self.node(item, depth + 1))
                    .collect::<Option<_>>()?,
            ),
            ast::Value::Object(object) => self.map(object, depth)?,
        };
        Some(Node { span, kind })
    }

    fn map(&mut self, object: &ast::Object<'_>, depth: usize) -> Option<Kind> {
        let mut pairs: Vec<Pair> = Vec::with_capacity(object.properties.len());
        let mut seen = std::collections::HashSet::new();
        for property in &object.properties {
            let range = property.name.range();
            let key_span = Span::new(range.start, range.end);
            let key = property.name.as_str().to_owned();
            if !seen.insert(key.clone()) {
                let text =
                    Text::new(format!("`{key}` stands here again")).help("keep one of the two");
                self.findings.at(Code::DuplicateKey, self.source, key_span, text);
                continue;
            }
            let value = self.node(&property.value, depth + 1)?;
            pairs.push(Pair { key, key_span, value });
        }
        Some(Kind::Map(pairs))
    }
}

fn number(text: &str) -> Number {
    serde_json::from_str(text).unwrap_or_else(|_| 0.into())
}
