//! A value of a definition file that knows its place in the text.
//!
//! YAML, JSON and TOML are all parsed into this one tree, so that later findings have a place.
//!
//! Must never: hold an alias, a tag, or a key twice (the parsers refuse them).

use serde_json::{Map, Number, Value};

use crate::source::Span;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The place in the text.
    pub span: Span,
    /// The value itself.
    pub kind: Kind,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    Text(String),
    /// Values in order.
    List(Vec<Node>),
    /// Values by name, in the order written.
    Map(Vec<MapEntry>),
}

/// One entry of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapEntry {
    /// The name.
    pub key: String,
    /// The place of the name.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Returns the entry of a map with this name.
    pub fn pair(&self, key: &str) -> Option<&MapEntry> {
        match &self.kind {
            Kind::Map(pairs) => pairs.iter().find(|pair| pair.key == key),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => None,
        }
    }

    /// Returns the value at a JSON pointer.
    pub fn at(&self, pointer: &str) -> Option<&Node> {
        pointer.split('/').skip(1).try_fold(self, |node, part| {
            let part = plain_part(part);
            match &node.kind {
                Kind::Map(pairs) => {
                    pairs.iter().find(|pair| pair.key == part).map(|pair| &pair.value)
                }
                Kind::List(items) => items.get(part.parse::<usize>().ok()?),
                Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
            }
        })
    }

    /// Returns the place of a JSON pointer, or of the nearest existing value above it.
    pub fn span_at(&self, pointer: &str) -> Span {
        let mut pointer = pointer;
        loop {
            if let Some(node) = self.at(pointer) {
                return node.span;
            }
            pointer = pointer.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }

    /// Returns the value without places.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(value) => Value::Number(value.clone()),
            Kind::Text(value) => Value::String(value.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Node::to_value).collect()),
            Kind::Map(pairs) => Value::Object(
                pairs
                    .iter()
                    .map(|pair| (pair.key.clone(), pair.value.to_value()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// Turns null into a map without fields, for files whose fields are all optional.
    pub fn or_empty_map(mut self) -> Self {
        if self.kind == Kind::Null {
            self.kind = Kind::Map(Vec::new());
        }
        self
    }

    /// True for a map, and for null, which counts as an empty map.
    pub fn is_map_or_nothing(&self) -> bool {
        match &self.kind {
            Kind::Map(_) | Kind::Null => true,
            Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => false,
        }
    }

    /// Returns the type of the value for a message.
    pub fn noun(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }
}

/// Returns the name that a part of a JSON pointer stands for.
pub fn plain_part(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// Escapes a name as a part of a JSON pointer.
pub fn pointer_part(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
