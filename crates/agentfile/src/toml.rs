//! TOML text in, a `Node` out.
//!
//! Must never: read more than the text it is given.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Code, Findings, Text};
use crate::limits::NODE_DEPTH_MAX;
use crate::node::{Kind, Node, Pair};
use crate::source::{Source, Span};

/// Reads a TOML file. Defects go to the findings; without a usable tree the answer is `None`.
pub fn parse(source: &Source, findings: &mut Findings) -> Option<Node> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    for error in &errors {
        let range = error.span().unwrap_or_default();
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        findings.at(Code::TomlSyntax, source, Span::new(range.start, range.end), message);
    }
    let whole = Span::new(0, source.text.len());
    let root = map(table.get_ref(), whole, 0);
    if root.is_none() {
        let help = format!("at most {NODE_DEPTH_MAX} levels are read");
        findings.at(
            Code::TooDeep,
            source,
            Span::default(),
            Text::new("this nests too deep").help(help),
        );
    }
    errors.is_empty().then_some(root).flatten()
}

/// Reads one TOML value, as written after `-c key=`. Text that is not TOML is taken as text.
pub fn parse_value(text: &str) -> serde_json::Value {
    match DeValue::parse(text) {
        Ok(value) => node(&value, 0)
            .map_or_else(|| serde_json::Value::String(text.to_owned()), |node| node.to_value()),
        Err(_) => serde_json::Value::String(text.to_owned()),
    }
}

fn map(table: &DeTable<'_>, span: Span, depth: usize) -> Option<Node> {
    let pairs = table
        .iter()
        .map(|(key, value)| {
            let key_span = Span::new(key.span().start, key.span().end);
            Some(Pair { key: key.get_ref().to_string(), key_span, value: node(value, depth + 1)? })
        })
        .collect::<Option<Vec<_>>>()?;
    Some(Node { span, kind: Kind::Map(pairs) })
}

fn node(value: &Spanned<DeValue<'_>>, depth: usize) -> Option<Node> {
    if depth > NODE_DEPTH_MAX {
        return None;
    }
    let span = Span::new(value.span().start, value.span().end);
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
            Kind::List(items.iter().map(|item| node(item, depth + 1)).collect::<Option<_>>()?)
        }
        DeValue::Table(table) => return map(table, span, depth),
    };
    Some(Node { span, kind })
}
