//! The JSON of ledger entries in the API: complete, or without fields that only programs need.
//!
//! Must never: change the meaning of an entry; cut texts are marked with `cut`.

use agentry_protocol::envelope::Envelope;
use serde_json::{Map, Value, json};

use crate::limits::ENTRY_TEXT_BYTES_MAX;

/// The fields that the brief form omits, each with the type of its event.
const LEFT_OUT: [(&str, &str); 2] = [("turn_started", "charter"), ("turn_ended", "messages")];

/// Returns an entry with all its fields.
pub(crate) fn full_json(envelope: &Envelope) -> Value {
    serde_json::to_value(envelope).unwrap_or_default()
}

/// Returns an entry without its largest fields, and with long texts cut.
pub(crate) fn brief_json(envelope: &Envelope) -> Value {
    let mut value = full_json(envelope);
    if let Some(event) = value.get_mut("event").and_then(Value::as_object_mut) {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        for (of, field) in LEFT_OUT {
            if kind == of {
                event.remove(field);
            }
        }
        cut_fields(event);
    }
    value
}

fn cut_fields(fields: &mut Map<String, Value>) {
    let mut is_cut = false;
    for value in fields.values_mut() {
        match value {
            Value::String(text) if text.len() > ENTRY_TEXT_BYTES_MAX => {
                text.truncate(text.floor_char_boundary(ENTRY_TEXT_BYTES_MAX));
                is_cut = true;
            }
            Value::Object(inner) => cut_fields(inner),
            Value::Array(all) => {
                all.iter_mut().filter_map(Value::as_object_mut).for_each(cut_fields);
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    if is_cut {
        fields.insert("cut".to_owned(), json!(true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_and_marked() {
        let long = "ä".repeat(ENTRY_TEXT_BYTES_MAX);
        let mut fields = Map::new();
        fields.insert("outcome".to_owned(), json!({ "text": long, "status": "done" }));
        cut_fields(&mut fields);
        let outcome = &fields["outcome"];
        assert_eq!(outcome["cut"], true);
        assert_eq!(outcome["text"].as_str().unwrap().len(), ENTRY_TEXT_BYTES_MAX);
        assert!(!fields.contains_key("cut"));
    }
}
