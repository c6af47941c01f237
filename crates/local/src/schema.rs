//! Bounds a tool's schema: gives limits to strings, lists and objects that a model could write
//! without end.
//!
//! The bounded schema allows only values that the tool's own schema allows.
//!
//! Must never: allow a value that the tool's schema refuses.

use serde_json::{Map, Value, json};

use crate::limits::{ARGUMENT_CHARS_MAX, ARGUMENT_ITEMS_MAX, SCHEMA_DEPTH_MAX};

/// Keys whose value is one schema.
const ONE: [&str; 4] = ["items", "additionalProperties", "not", "contains"];
/// Keys whose value is a list of schemas.
const LISTED: [&str; 3] = ["anyOf", "oneOf", "prefixItems"];
/// Keys whose value maps names to schemas.
const NAMED: [&str; 3] = ["properties", "$defs", "definitions"];
/// Keys that join a schema with others, so that its properties must stay open.
const JOINED: [&str; 7] =
    ["allOf", "anyOf", "oneOf", "$ref", "patternProperties", "if", "unevaluatedProperties"];

/// Returns the schema of a tool's arguments with limits.
pub(crate) fn bounded(schema: &Value) -> Value {
    let mut schema = match schema {
        Value::Object(object) if !object.is_empty() => schema.clone(),
        Value::Object(_) | Value::Null => json!({"type": "object"}),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => schema.clone(),
    };
    if let Some(object) = schema.as_object_mut() {
        // The arguments of a call are always an object.
        object.entry("type").or_insert_with(|| json!("object"));
    }
    bound(&mut schema, 0);
    schema
}

/// Adds the engine's options: no free whitespace, and with `lenient` unknown keys are ignored.
pub(crate) fn with_guidance_options(schema: &Value, lenient: bool) -> Value {
    let mut schema = schema.clone();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.insert(
            "x-guidance".into(),
            json!({
                "item_separator": ", ",
                "key_separator": ": ",
                "whitespace_flexible": false,
                "coerce_one_of": lenient,
                "lenient": lenient,
            }),
        );
    }
    schema
}

fn bound(schema: &mut Value, depth: usize) {
    let Some(object) = schema.as_object_mut() else { return };
    if depth > SCHEMA_DEPTH_MAX {
        return;
    }
    let fixed = object.contains_key("enum") || object.contains_key("const");
    if !fixed && is(object, "string") && !object.contains_key("format") {
        lower(object, "maxLength", ARGUMENT_CHARS_MAX);
    }
    if !fixed && is(object, "array") {
        lower(object, "maxItems", ARGUMENT_ITEMS_MAX);
    }
    let joined = JOINED.iter().any(|key| object.contains_key(*key));
    if !fixed && is(object, "object") && !joined {
        object.entry("additionalProperties").or_insert(json!(false));
    }
    for key in ONE {
        if let Some(inner) = object.get_mut(key) {
            bound(inner, depth + 1);
        }
    }
    for key in LISTED {
        for inner in object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            bound(inner, depth + 1);
        }
    }
    for key in NAMED {
        for inner in object.get_mut(key).and_then(Value::as_object_mut).into_iter().flatten() {
            bound(inner.1, depth + 1);
        }
    }
}

fn is(object: &Map<String, Value>, kind: &str) -> bool {
    match object.get("type") {
        Some(Value::String(name)) => name == kind,
        Some(Value::Array(names)) => names.iter().any(|name| name == kind),
        Some(_) | None => false,
    }
}

fn lower(object: &mut Map<String, Value>, key: &str, most: u64) {
    let least = object.get(&key.replace("max", "min")).and_then(Value::as_u64).unwrap_or(0);
    if !object.contains_key(key) && least <= most {
        object.insert(key.into(), most.into());
    }
}

/// Returns true if a string in the arguments has the maximal length, so the limit cut it off.
pub(crate) fn is_truncated(input: &Value) -> bool {
    match input {
        Value::String(text) => {
            u64::try_from(text.chars().count()).is_ok_and(|chars| chars == ARGUMENT_CHARS_MAX)
        }
        Value::Array(items) => items.iter().any(is_truncated),
        Value::Object(fields) => fields.values().any(is_truncated),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_gets_an_end() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "short": {"type": "string", "maxLength": 5},
                "mode": {"type": "string", "enum": ["a"]},
                "list": {"type": "array", "items": {"type": ["string", "null"]}}
            }
        });
        assert_eq!(
            bounded(&schema),
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "maxLength": ARGUMENT_CHARS_MAX},
                    "short": {"type": "string", "maxLength": 5},
                    "mode": {"type": "string", "enum": ["a"]},
                    "list": {
                        "type": "array",
                        "items": {"type": ["string", "null"], "maxLength": ARGUMENT_CHARS_MAX},
                        "maxItems": ARGUMENT_ITEMS_MAX
                    }
                },
                "additionalProperties": false
            })
        );
    }

    #[test]
    fn what_is_open_or_joined_stays_so() {
        let open = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        assert_eq!(bounded(&open), open);
        let joined = json!({"type": "object", "allOf": [{"required": ["a"]}]});
        assert_eq!(bounded(&joined), joined);
    }

    #[test]
    fn no_schema_means_no_arguments() {
        let nothing = json!({"type": "object", "additionalProperties": false});
        assert_eq!(bounded(&json!({})), nothing);
        assert_eq!(bounded(&Value::Null), nothing);
    }

    #[test]
    fn a_string_of_exactly_our_length_was_cut() {
        let long = "x".repeat(usize::try_from(ARGUMENT_CHARS_MAX).expect("it is small"));
        assert!(is_truncated(&json!({"a": [{"b": long}]})));
        assert!(!is_truncated(&json!({"a": [{"b": "x"}], "c": 1})));
    }
}
