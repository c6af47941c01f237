//! Values given in files, variables and flags, each with its place.
//!
//! A later layer replaces an earlier one, value by value.
//!
//! Must never: validate a value; it was checked when it was read.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::node::{Kind, Node, plain_part, pointer_part};
use crate::schema;
use crate::source::{Origin, SourceText, Span};

/// All given values, by JSON pointer.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayeredValues(BTreeMap<String, LayeredValue>);

#[derive(Clone, Debug)]
struct LayeredValue {
    value: Value,
    source: SourceText,
    node: Node,
}

/// The place of a finding: a value, or the file to name if that was not given.
#[derive(Clone, Copy)]
pub(crate) struct ValuePlace<'a> {
    pub(crate) pointer: &'a str,
    pub(crate) file: &'a str,
}

impl LayeredValues {
    /// Adds all values of a tree, below a pointer.
    pub(crate) fn insert_tree(&mut self, source: &SourceText, node: &Node, pointer: &str) {
        match &node.kind {
            // `[webhooks.plain]` without a field still defines a webhook.
            Kind::Map(pairs) if pairs.is_empty() && names_something(pointer) => {
                if self.below(pointer).next().is_none() {
                    self.insert(source, node, pointer);
                }
            }
            Kind::Map(pairs) => {
                for pair in pairs {
                    let below = format!("{pointer}/{}", pointer_part(&pair.key));
                    self.insert_tree(source, &pair.value, &below);
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => {
                self.insert(source, node, pointer);
            }
        }
    }

    fn insert(&mut self, source: &SourceText, node: &Node, pointer: &str) {
        self.remove(pointer);
        let word =
            LayeredValue { value: node.to_value(), source: source.clone(), node: node.clone() };
        self.0.insert(pointer.to_owned(), word);
    }

    /// Removes values at, below and above a pointer: a later layer may turn a table into a value.
    pub(crate) fn remove(&mut self, pointer: &str) {
        let mut above = pointer;
        while let Some((shorter, _)) = above.rsplit_once('/') {
            self.0.remove(shorter);
            above = shorter;
        }
        let below: Vec<String> = self.below(pointer).map(|(key, _)| key.clone()).collect();
        for key in below {
            self.0.remove(&key);
        }
        self.0.remove(pointer);
    }

    /// True if exactly this value was given.
    pub(crate) fn contains(&self, pointer: &str) -> bool {
        self.0.contains_key(pointer)
    }

    /// Returns the value at exactly this pointer.
    pub(crate) fn value(&self, pointer: &str) -> Option<&Value> {
        self.0.get(pointer).map(|word| &word.value)
    }

    /// Replaces a given value; its place stays.
    pub(crate) fn replace(&mut self, pointer: &str, value: Value) {
        if let Some(word) = self.0.get_mut(pointer) {
            word.value = value;
        }
    }

    fn below(&self, pointer: &str) -> impl Iterator<Item = (&String, &LayeredValue)> {
        let below = format!("{pointer}/");
        self.0.range(below.clone()..).take_while(move |(key, _)| key.starts_with(&below))
    }

    /// Deserializes all values together.
    pub(crate) fn deserialize<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        let mut all = Value::Object(Map::new());
        for (pointer, word) in &self.0 {
            put(&mut all, pointer, word.value.clone());
        }
        serde_json::from_value(all.clone())
            .or_else(|_| serde_json::from_value(schema::with_whole_numbers(all)))
    }

    /// Returns the origin of a value; `built-in` if it was not given.
    pub(crate) fn origin(&self, pointer: &str) -> Origin {
        self.nearest(pointer)
            .map_or_else(|| Origin::named("built-in"), |(word, span)| word.source.origin(span))
    }

    /// Adds a finding at a value, or about a file if the value was not given.
    pub(crate) fn report(
        &self,
        code: DiagnosticCode,
        place: ValuePlace<'_>,
        text: FindingText,
        findings: &mut Findings,
    ) {
        match self.nearest(place.pointer) {
            Some((word, span)) => findings.at(code, &word.source, span, text),
            None => findings.about(code, place.file, text),
        }
    }

    /// Returns the value itself, the first below it, or the nearest above it; and its place.
    fn nearest(&self, pointer: &str) -> Option<(&LayeredValue, Span)> {
        if let Some(word) = self.0.get(pointer) {
            return Some((word, word.node.span));
        }
        if let Some((_, word)) = self.below(pointer).next() {
            return Some((word, word.node.span));
        }
        let mut above = pointer;
        loop {
            above = above.rsplit_once('/')?.0;
            if let Some(word) = self.0.get(above) {
                return Some((word, word.node.span_at(&pointer[above.len()..])));
            }
        }
    }

    /// Returns all values: dotted key, value, origin.
    pub(crate) fn all(&self) -> Vec<(String, &Value, Origin)> {
        self.0
            .iter()
            .map(|(pointer, word)| {
                (dotted(pointer), &word.value, word.source.origin(word.node.span))
            })
            .collect()
    }
}

/// True if a table defines an item with a name, and is not a section.
fn names_something(pointer: &str) -> bool {
    pointer.matches('/').count() > 1
}

/// Returns a JSON pointer in the form of TOML keys.
fn dotted(pointer: &str) -> String {
    let parts = pointer.split('/').skip(1).map(plain_part);
    parts.map(quoted_key).collect::<Vec<_>>().join(".")
}

fn quoted_key(part: String) -> String {
    let plain =
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if plain { part } else { Value::String(part).to_string() }
}

fn put(all: &mut Value, pointer: &str, value: Value) {
    let mut current = all;
    for part in pointer.split('/').skip(1) {
        let part = plain_part(part);
        if !current.is_object() {
            *current = Value::Object(Map::new());
        }
        let Value::Object(map) = current else { return };
        current = map.entry(part).or_insert(Value::Null);
    }
    *current = value;
}
