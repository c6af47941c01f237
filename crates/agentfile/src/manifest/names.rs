//! Lists of tools, skills or tasks that may say `inherit`.
//!
//! `inherit` alone, a list, or a list with `inherit` in it.
//!
//! Must never: know what is inherited.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// The word that stands for all names that the parent offers.
pub const INHERIT: &str = "inherit";

/// Names, or `inherit`, or both.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum InheritableNames {
    /// The word `inherit` alone.
    Word(String),
    /// A list, in which `inherit` may stand.
    List(Vec<String>),
}

impl InheritableNames {
    /// True if the parent's names are included; also for an absent list.
    pub fn inherits(list: Option<&Self>) -> bool {
        match list {
            None | Some(Self::Word(_)) => true,
            Some(Self::List(names)) => names.iter().any(|name| name == INHERIT),
        }
    }

    /// Returns the names of the list without `inherit`, each with its pointer below the field.
    pub fn named(list: Option<&Self>) -> impl Iterator<Item = (String, &str)> {
        let names: &[String] = match list {
            None | Some(Self::Word(_)) => &[],
            Some(Self::List(names)) => names,
        };
        names
            .iter()
            .enumerate()
            .filter(|(_, name)| *name != INHERIT)
            .map(|(at, name)| (format!("/{at}"), name.as_str()))
    }
}

impl JsonSchema for InheritableNames {
    fn schema_name() -> Cow<'static, str> {
        "NameList".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`inherit`, a list of names, or a list that contains `inherit`.",
            "type": ["string", "array"],
            "pattern": "^inherit$",
            "items": { "type": "string", "minLength": 1 }
        })
    }
}
