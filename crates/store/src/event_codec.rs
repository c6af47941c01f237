//! Encodes events as stored text, and decodes them.
//!
//! The text is canonical JSON (RFC 8785). Values that canonical JSON would change are wrapped: a
//! long string becomes `{"$artifact", "bytes"}`, an unsafe number `{"$number"}`, a value that nests
//! too deep for a reader `{"$json"}`, and a map that looks like one of these `{"$plain"}`.
//!
//! Must never: decode a different event from the one that was encoded.

use agentry_protocol::event::Event;
use serde_json::{Map, Number, Value};

use crate::artifact::Artifacts;
use crate::error::Error;
use crate::limits::{BODY_DEPTH_MAX, EVENT_DEPTH_MAX, INLINE_STRING_BYTES_MAX, WHOLE_NUMBER_MAX};

const ARTIFACT: &str = "$artifact";
const BYTES: &str = "bytes";
const NUMBER: &str = "$number";
const JSON: &str = "$json";
const PLAIN: &str = "$plain";

/// An event ready to be stored.
pub(crate) struct EncodedEvent {
    /// The event as a reader will decode it: free-form maps are in canonical order.
    pub(crate) event: Event,
    /// The type of the event, for the `kind` column.
    pub(crate) kind: String,
    /// The canonical JSON of the event.
    pub(crate) text: String,
}

/// Encodes an event. Its long strings are on disk when this returns.
pub(crate) fn encode(event: &Event, artifacts: &Artifacts) -> Result<EncodedEvent, Error> {
    let unstorable = |error: serde_json::Error| Error::Unstorable { why: error.to_string() };
    let mut value = serde_json::to_value(event).map_err(unstorable)?;
    let simple = order(&mut value, 0)?;
    let text = if simple {
        serde_json::to_string(&value)
    } else {
        serde_json::to_string(&stored(&value, 0, artifacts)?)
    };
    let kind = value["type"].as_str().expect("an event says its type").to_owned();
    let event = serde_json::from_value(value).map_err(unstorable)?;
    Ok(EncodedEvent { event, kind, text: text.map_err(unstorable)? })
}

/// Decodes an event; reads its artifacts.
pub(crate) fn decode(text: &str, artifacts: &Artifacts) -> Result<Event, EventDecodeError> {
    let value = serde_json::from_str(text)?;
    Ok(serde_json::from_value(restored(value, artifacts)?)?)
}

/// The reason why a text does not decode.
pub(crate) enum EventDecodeError {
    /// The text is not valid JSON of an event.
    Text(String),
    /// An artifact that the text names is missing or damaged.
    Artifact(Error),
}

impl From<serde_json::Error> for EventDecodeError {
    fn from(error: serde_json::Error) -> Self {
        Self::Text(error.to_string())
    }
}

/// Sorts maps into canonical order; returns true if the value can be stored unwrapped.
fn order(value: &mut Value, depth: usize) -> Result<bool, Error> {
    if depth > EVENT_DEPTH_MAX {
        return Err(Error::Unstorable { why: format!("it nests deeper than {EVENT_DEPTH_MAX}") });
    }
    let mut simple = depth < BODY_DEPTH_MAX;
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => simple &= survives(number),
        Value::String(text) => simple &= text.len() <= INLINE_STRING_BYTES_MAX,
        Value::Array(items) => {
            for item in items {
                simple &= order(item, depth + 1)?;
            }
        }
        Value::Object(map) => {
            simple &= !map.keys().any(|key| is_reserved(key));
            for item in map.values_mut() {
                simple &= order(item, depth + 1)?;
            }
            sort(map);
        }
    }
    Ok(simple)
}

/// Sorts keys by their UTF-16 code units, as RFC 8785 demands.
fn sort(map: &mut Map<String, Value>) {
    let before = |a: &str, b: &str| a.encode_utf16().cmp(b.encode_utf16());
    if !map.keys().is_sorted_by(|a, b| before(a, b).is_le()) {
        let mut entries: Vec<(String, Value)> = std::mem::take(map).into_iter().collect();
        entries.sort_by(|(a, _), (b, _)| before(a, b));
        *map = entries.into_iter().collect();
    }
}

/// Returns true if every JSON writer prints the number alike and it parses to the same number.
fn survives(number: &Number) -> bool {
    match (number.as_u64(), number.as_i64()) {
        (Some(whole), _) => whole <= WHOLE_NUMBER_MAX,
        (None, Some(whole)) => whole.unsigned_abs() <= WHOLE_NUMBER_MAX,
        (None, None) => {
            let text = number.to_string();
            !text.contains('e')
                && !text.ends_with(".0")
                && serde_json::from_str::<Number>(&text).is_ok_and(|again| again == *number)
        }
    }
}

fn is_reserved(key: &str) -> bool {
    [ARTIFACT, NUMBER, JSON, PLAIN].contains(&key)
}

fn stored(value: &Value, depth: usize, artifacts: &Artifacts) -> Result<Value, Error> {
    if depth >= BODY_DEPTH_MAX && (value.is_array() || value.is_object()) {
        let text = stored(value, 0, artifacts)?.to_string();
        return Ok(wrapped(JSON, Value::String(text)));
    }
    Ok(match value {
        Value::Null | Value::Bool(_) => value.clone(),
        Value::Number(number) if survives(number) => value.clone(),
        Value::Number(number) => wrapped(NUMBER, Value::String(number.to_string())),
        Value::String(text) if text.len() <= INLINE_STRING_BYTES_MAX => value.clone(),
        Value::String(text) => {
            let hash = artifacts.keep(text.as_bytes())?;
            let mut map = Map::new();
            map.insert(ARTIFACT.to_owned(), Value::String(hash.to_string()));
            map.insert(BYTES.to_owned(), Value::from(text.len()));
            Value::Object(map)
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| stored(item, depth + 1, artifacts));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(map) => {
            let is_taken = map.keys().any(|key| is_reserved(key));
            let within = depth + if is_taken { 2 } else { 1 };
            let entries = map
                .iter()
                .map(|(key, item)| stored(item, within, artifacts).map(|item| (key.clone(), item)));
            let map = Value::Object(entries.collect::<Result<_, _>>()?);
            if is_taken { wrapped(PLAIN, map) } else { map }
        }
    })
}

fn wrapped(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

fn restored(value: Value, artifacts: &Artifacts) -> Result<Value, EventDecodeError> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(value),
        Value::Array(items) => {
            let items = items.into_iter().map(|item| restored(item, artifacts));
            Ok(Value::Array(items.collect::<Result<_, _>>()?))
        }
        Value::Object(map) => match map.keys().find(|key| is_reserved(key)) {
            Some(key) => unwrapped(&key.clone(), map, artifacts),
            None => restored_map(map, artifacts),
        },
    }
}

fn restored_map(map: Map<String, Value>, artifacts: &Artifacts) -> Result<Value, EventDecodeError> {
    let entries =
        map.into_iter().map(|(key, item)| restored(item, artifacts).map(|item| (key, item)));
    Ok(Value::Object(entries.collect::<Result<_, _>>()?))
}

fn unwrapped(
    key: &str,
    mut map: Map<String, Value>,
    artifacts: &Artifacts,
) -> Result<Value, EventDecodeError> {
    let broken = || EventDecodeError::Text(format!("a malformed `{key}`"));
    match (key, map.remove(key).ok_or_else(broken)?) {
        (PLAIN, Value::Object(inner)) => restored_map(inner, artifacts),
        (JSON, Value::String(text)) => restored(serde_json::from_str(&text)?, artifacts),
        (NUMBER, Value::String(text)) => number(&text).map(Value::Number).ok_or_else(broken),
        (ARTIFACT, Value::String(hash)) => {
            artifacts.fetch(&hash).map(Value::String).map_err(EventDecodeError::Artifact)
        }
        _ => Err(broken()),
    }
}

fn number(text: &str) -> Option<Number> {
    let whole = text.parse::<u64>().map(Number::from).ok();
    let below_zero = || text.parse::<i64>().map(Number::from).ok();
    whole.or_else(below_zero).or_else(|| Number::from_f64(text.parse().ok()?))
}
