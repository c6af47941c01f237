//! A command in a definition file: one word, or the program and its arguments.
//!
//! Must never: be passed to a shell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One word or several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandWords {
    /// One word.
    One(String),
    /// Several words.
    Several(Vec<String>),
}

impl JsonSchema for CommandWords {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "One word, or a list of words.",
            "type": ["string", "array"],
            "items": { "type": "string" }
        })
    }
}
