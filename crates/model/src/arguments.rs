//! Parses the arguments of a call, which a model wrote as JSON text.
//!
//! Text that does not parse is repaired once, if the intention is plain: a code fence around it, a
//! comma too many, a line break inside of a string. Missing ends are not added: half of a file's
//! text must not be taken for the whole.
//!
//! Must never: guess a value.

use serde_json::{Map, Value};

/// Returns the arguments; a string is the text that could not be parsed.
pub(crate) fn read(text: &str) -> Value {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Value::Object(Map::new());
    }
    let parsed =
        serde_json::from_str::<Value>(trimmed).or_else(|_| serde_json::from_str(&mended(trimmed)));
    match parsed {
        Ok(Value::Object(fields)) => Value::Object(fields),
        Ok(Value::Null) => Value::Object(Map::new()),
        // Some models quote the whole object a second time.
        Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
            Ok(Value::Object(fields)) => Value::Object(fields),
            Ok(_) | Err(_) => Value::String(text.to_owned()),
        },
        Ok(Value::Bool(_) | Value::Number(_) | Value::Array(_)) | Err(_) => {
            Value::String(text.to_owned())
        }
    }
}

fn mended(text: &str) -> String {
    let text = unfenced(text);
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if in_string => {
                out.push(c);
                out.extend(chars.next());
            }
            '"' => {
                in_string = !in_string;
                out.push(c);
            }
            '\n' if in_string => out.push_str("\\n"),
            '\r' if in_string => out.push_str("\\r"),
            '\t' if in_string => out.push_str("\\t"),
            ',' if !in_string => {
                let rest = chars.clone().find(|c| !c.is_whitespace());
                if !matches!(rest, Some('}' | ']')) {
                    out.push(c);
                }
            }
            c => out.push(c),
        }
    }
    out
}

fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) else {
        return text;
    };
    inner.strip_prefix("json").unwrap_or(inner).trim()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn good_arguments_are_read_as_they_are() {
        assert_eq!(read(r#"{"path": "a,}b"}"#), json!({"path": "a,}b"}));
        assert_eq!(read("  "), json!({}));
        assert_eq!(read("null"), json!({}));
    }

    #[test]
    fn what_is_plainly_meant_is_mended() {
        assert_eq!(read("```json\n{\"a\": 1,}\n```"), json!({"a": 1}));
        assert_eq!(read("{\"text\": \"one\ntwo\t\\\"x\\\"\"}"), json!({"text": "one\ntwo\t\"x\""}));
        assert_eq!(read(r#"{"list": [1, 2, ], }"#), json!({"list": [1, 2]}));
        assert_eq!(read(r#""{\"a\": 1}""#), json!({"a": 1}));
    }

    #[test]
    fn what_was_left_open_stays_text() {
        for text in [r#"{"text": "half of"#, r#"{"a": 1"#, "[1]", "7", r#"{"a": }"#, "{a: 1}"] {
            assert_eq!(read(text), Value::String(text.to_owned()), "{text}");
        }
    }
}
