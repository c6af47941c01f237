//! Parses the output of an event hook's program.
//!
//! An unknown field is an error: a request that is not understood must not be ignored silently.
//! Only the routing fields of older hooks are dropped with a note.
//!
//! Must never: accept a session, a thread or a queue from a hook.

use std::fmt;

use agentry_protocol::event_hook::FireResult;
use serde_json::{Map, Value};

use crate::limits::{HOOK_ANSWER_BYTES_MAX, WHY_CHARS_MAX};

const FIELDS: [&str; 4] = ["fire", "agent", "context", "disable_hook"];
const CONTEXT_FIELDS: [&str; 3] = ["prompt", "extracted", "include_thread"];
const ROUTING: &str = "routing";

/// A valid answer of a hook.
#[derive(Clone, Debug, PartialEq)]
pub struct HookAnswer {
    /// The parsed answer.
    pub result: FireResult,
    /// The fields that were dropped, with the reason: one line each.
    pub notes: Vec<String>,
}

/// The reason why an output is no valid answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAnswerError {
    /// The output exceeds the limit.
    TooLong {
        /// The length, in bytes.
        bytes: usize,
    },
    /// The output is not one JSON object.
    NotAnObject(String),
    /// The output has an unknown field.
    UnknownField(String),
    /// The field `fire` is missing.
    NoFire,
    /// A field has a value of the wrong type.
    Wrong(String),
}

impl fmt::Display for HookAnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(f, "the answer has {bytes} bytes; at most {HOOK_ANSWER_BYTES_MAX} are read")
            }
            Self::NotAnObject(why) => write!(f, "the answer is not one JSON object: {why}"),
            Self::UnknownField(name) => {
                write!(f, "the answer has a field `{name}` that nobody knows")
            }
            Self::NoFire => f.write_str("the answer does not say `fire`: true or false"),
            Self::Wrong(why) => write!(f, "the answer cannot be read: {why}"),
        }
    }
}

impl std::error::Error for HookAnswerError {}

/// Parses the output of a program.
pub fn answer(output: &[u8]) -> Result<HookAnswer, HookAnswerError> {
    if output.len() > HOOK_ANSWER_BYTES_MAX {
        return Err(HookAnswerError::TooLong { bytes: output.len() });
    }
    let fields: Map<String, Value> = serde_json::from_slice(output)
        .map_err(|error| HookAnswerError::NotAnObject(short(&error.to_string())))?;
    let mut fields = without_nulls(fields);
    let mut notes = Vec::new();
    if fields.remove(ROUTING).is_some() {
        notes.push("`routing` is left out: a hook does not choose a session".to_owned());
    }
    must_know(&fields, &FIELDS, "")?;
    if let Some(Value::Object(context)) = fields.get_mut("context") {
        *context = without_nulls(std::mem::take(context));
        must_know(context, &CONTEXT_FIELDS, "context.")?;
    }
    if !fields.contains_key("fire") {
        return Err(HookAnswerError::NoFire);
    }
    let result: FireResult = serde_json::from_value(Value::Object(fields))
        .map_err(|error| HookAnswerError::Wrong(short(&error.to_string())))?;
    let is_name = |name: &str| !name.is_empty() && !name.chars().any(char::is_control);
    if result.agent.as_ref().is_some_and(|agent| !is_name(agent.as_str())) {
        return Err(HookAnswerError::Wrong("`agent` is not the name of an agent".to_owned()));
    }
    Ok(HookAnswer { result, notes })
}

/// Removes fields that are null: they count as absent.
fn without_nulls(fields: Map<String, Value>) -> Map<String, Value> {
    fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

fn must_know(
    fields: &Map<String, Value>,
    known: &[&str],
    below: &str,
) -> Result<(), HookAnswerError> {
    let strange = fields.keys().find(|name| !known.contains(&name.as_str()));
    strange
        .map_or(Ok(()), |name| Err(HookAnswerError::UnknownField(short(&format!("{below}{name}")))))
}

fn short(why: &str) -> String {
    why.chars().filter(|sign| !sign.is_control()).take(WHY_CHARS_MAX).collect()
}
