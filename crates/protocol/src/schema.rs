//! A JSON Schema in the shorter form for a model, without the keywords that only validation needs.
//!
//! The whole schema validates the call of the model. The omitted keywords cost tokens in every
//! request, and no model writes a better call with them.
//!
//! Must never: drop a keyword that says what may be written, or change the name of an argument.

use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// A schema that serializes without the keywords that only validation needs.
#[derive(Clone, Copy, Debug)]
pub struct ModelSchema<'a>(pub &'a Value);

impl Serialize for ModelSchema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(words) = self.0 else { return self.0.serialize(serializer) };
        let mut map = serializer.serialize_map(None)?;
        for (word, value) in words.iter().filter(|(word, value)| helps(word, value)) {
            match (word.as_str(), value) {
                ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                    map.serialize_entry(word, &SchemaMap(named))?;
                }
                ("items" | "additionalProperties", _) => {
                    map.serialize_entry(word, &ModelSchema(value))?;
                }
                ("anyOf" | "oneOf" | "allOf", Value::Array(several)) => {
                    map.serialize_entry(word, &SchemaList(several))?;
                }
                _ => map.serialize_entry(word, value)?,
            }
        }
        map.end()
    }
}

/// Schemas by name. Each name is an argument of the tool, even if it equals a keyword.
struct SchemaMap<'a>(&'a Map<String, Value>);

impl Serialize for SchemaMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, schema) in self.0 {
            map.serialize_entry(name, &ModelSchema(schema))?;
        }
        map.end()
    }
}

struct SchemaList<'a>(&'a [Value]);

impl Serialize for SchemaList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut several = serializer.serialize_seq(Some(self.0.len()))?;
        for schema in self.0 {
            several.serialize_element(&ModelSchema(schema))?;
        }
        several.end()
    }
}

/// Returns true if a keyword tells a model more than it would assume anyway.
fn helps(word: &str, value: &Value) -> bool {
    let is_self_evident = match word {
        "$schema" => true,
        "additionalProperties" => value == &Value::Bool(false),
        "minLength" | "minimum" => value.as_u64().is_some_and(|least| least <= 1),
        _ => false,
    };
    !is_self_evident
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(schema: &Value) -> Value {
        serde_json::to_value(ModelSchema(schema)).unwrap()
    }

    #[test]
    fn what_only_a_check_needs_is_not_shown() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "description": "where"},
                "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}},
                "either": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}
            },
            "required": ["path"],
            "additionalProperties": false
        });
        assert_eq!(
            shown(&schema),
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "where"},
                    "lines": {"type": "array", "items": {"type": "integer"}},
                    "either": {"anyOf": [{"type": "string"}, {"type": "null"}]}
                },
                "required": ["path"]
            })
        );
    }

    #[test]
    fn what_says_something_stays() {
        let schema = json!({
            "type": "object",
            "properties": {
                "minimum": {"type": "integer", "minimum": 10, "maximum": 20},
                "additionalProperties": {"type": "boolean", "const": false},
                "code": {"type": "string", "minLength": 4, "enum": ["abcd", "efgh"]}
            },
            "additionalProperties": {"type": "string"}
        });
        assert_eq!(shown(&schema), schema);
    }

    #[test]
    fn a_schema_that_is_no_object_stays_as_it_is() {
        assert_eq!(shown(&json!(true)), json!(true));
    }
}
