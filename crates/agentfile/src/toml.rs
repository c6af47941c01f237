//! Parses TOML text into a `Node`.
//!
//! Must never: read more than the text it is given.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::limits::{NODE_DEPTH_MAX, NODES_MAX};
use crate::node::{Kind, MapEntry, Node};
use crate::source::{SourceText, Span};

/// Parses a TOML file. Defects go to the findings; `None` if no tree can be used.
pub fn parse(source: &SourceText, findings: &mut Findings) -> Option<Node> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    for error in &errors {
        let range = error.span().unwrap_or_default();
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        findings.at(DiagnosticCode::TomlSyntax, source, Span::new(range.start, range.end), message);
    }
    let whole = Span::new(0, source.text.len());
    let root = TomlReader::default().map(table.get_ref(), whole, 0);
    match root {
        Ok(root) => errors.is_empty().then_some(root),
        Err(TomlLimitError { code, span }) => {
            let (what, help) = match code {
                DiagnosticCode::TooDeep => {
                    ("this nests too deep", format!("at most {NODE_DEPTH_MAX} levels are read"))
                }
                _ => (
                    "the file holds too many values",
                    format!("at most {NODES_MAX} values are read from one file"),
                ),
            };
            findings.at(code, source, span, FindingText::new(what).help(help));
            None
        }
    }
}

/// Parses one TOML value, as written after `-c key=`. Text that is not TOML becomes a text value.
pub fn parse_value(text: &str) -> serde_json::Value {
    match DeValue::parse(text) {
        Ok(value) => TomlReader::default()
            .node(&value, 0)
            .map_or_else(|_| serde_json::Value::String(text.to_owned()), |node| node.to_value()),
        Err(_) => serde_json::Value::String(text.to_owned()),
    }
}

#[derive(Default)]
struct TomlReader {
    nodes: usize,
}

/// The end of parsing because of one of the two limits.
struct TomlLimitError {
    code: DiagnosticCode,
    span: Span,
}

impl TomlReader {
    fn map(
        &mut self,
        table: &DeTable<'_>,
        span: Span,
        depth: usize,
    ) -> Result<Node, TomlLimitError> {
        let pairs = table.iter().map(|(key, value)| {
            let key_span = Span::new(key.span().start, key.span().end);
            let value = self.node(value, depth + 1)?;
            Ok(MapEntry { key: key.get_ref().to_string(), key_span, value })
        });
        let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
        Ok(Node { span, kind: Kind::Map(pairs) })
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, TomlLimitError> {
        let span = Span::new(value.span().start, value.span().end);
        self.nodes += 1;
        if depth > NODE_DEPTH_MAX {
            return Err(TomlLimitError { code: DiagnosticCode::TooDeep, span });
        }
        if self.nodes > NODES_MAX {
            return Err(TomlLimitError { code: DiagnosticCode::TooManyNodes, span });
        }
        let kind = match value.get_ref() {
            DeValue::String(text) => Kind::Text(text.to_string()),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or_else(
                    |_| Kind::Text(number.as_str().to_owned()),
                    |whole| Kind::Number(whole.into()),
                ),
            DeValue::Float(number) => number
                .as_str()
                .parse()
                .ok()
                .and_then(serde_json::Number::from_f64)
                .map_or_else(|| Kind::Text(number.as_str().to_owned()), Kind::Number),
            DeValue::Boolean(value) => Kind::Bool(*value),
            DeValue::Datetime(time) => Kind::Text(time.to_string()),
            DeValue::Array(items) => {
                let items = items.iter().map(|item| self.node(item, depth + 1));
                Kind::List(items.collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => return self.map(table, span, depth),
        };
        Ok(Node { span, kind })
    }
}
