//! JSON with its keys in the order in which the ledger returns them.
//!
//! A turn hashes its inputs. Live inputs and inputs from the ledger must therefore have the same
//! bytes.
//!
//! Must never: change a value.

use serde_json::{Map, Value};

/// Returns the value with its keys in canonical order (RFC 8785: by UTF-16 units).
pub(crate) fn canonical(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            let fields = fields.into_iter().map(|(key, value)| (key, canonical(value)));
            Value::Object(fields.collect::<Map<String, Value>>())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(canonical).collect()),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn keys_are_sorted_at_every_depth_and_lists_are_not() {
        let value = serde_json::json!({ "b": [{ "y": 1, "x": [2, 1] }], "a": null });
        assert_eq!(canonical(value).to_string(), r#"{"a":null,"b":[{"x":[2,1],"y":1}]}"#);
    }
}
