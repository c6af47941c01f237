//! Tool names that the protocol accepts: letters, digits, `_` and `-`, up to a maximum length.
//!
//! A tool keeps its name if possible. A converted name depends on the list of tools alone, so that
//! the bytes of a transcript do not change; two tools never get the same name.
//!
//! Must never: give a call to another tool than the model named.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use agentry_protocol::tool_call::ToolSpec;

use crate::limits::WIRE_NAME_CHARS_MAX;

/// The tools of one request by their names on the wire.
pub(super) struct AnthropicToolNames {
    /// Only tools whose name on the wire differs.
    wire: HashMap<String, String>,
}

impl AnthropicToolNames {
    pub(super) fn new(tools: &[ToolSpec]) -> Self {
        let names = || tools.iter().map(|tool| tool.name.as_str());
        let mut taken: HashSet<String> =
            names().filter(|name| is_taken_as_it_is(name)).map(str::to_owned).collect();
        let mut wire = HashMap::new();
        for name in names().filter(|name| !is_taken_as_it_is(name)) {
            if wire.contains_key(name) {
                continue;
            }
            let plain = made_from(name);
            let mut candidate = plain.clone();
            let mut number = 2;
            while !taken.insert(candidate.clone()) {
                let ending = format!("_{number}");
                candidate = format!("{}{ending}", cut(&plain, WIRE_NAME_CHARS_MAX - ending.len()));
                number += 1;
            }
            wire.insert(name.to_owned(), candidate);
        }
        Self { wire }
    }

    /// Returns the name on the wire. A tool of an earlier step may be missing from the list.
    pub(super) fn wire<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        match self.wire.get(name) {
            Some(wire) => Cow::Borrowed(wire),
            None => text(name),
        }
    }

    /// Returns the names on the wire, each with our own.
    pub(super) fn back(self) -> HashMap<String, String> {
        self.wire.into_iter().map(|(ours, wire)| (wire, ours)).collect()
    }
}

/// Returns the text with unaccepted characters replaced.
pub(super) fn text(name: &str) -> Cow<'_, str> {
    if is_taken_as_it_is(name) { Cow::Borrowed(name) } else { Cow::Owned(made_from(name)) }
}

fn is_taken_as_it_is(name: &str) -> bool {
    (1..=WIRE_NAME_CHARS_MAX).contains(&name.len())
        && name.bytes().all(|byte| is_taken(byte.into()))
}

fn is_taken(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn made_from(name: &str) -> String {
    let mut made = String::with_capacity(name.len() + 1);
    for c in name.chars() {
        match c {
            '/' => made.push_str("__"),
            c if is_taken(c) => made.push(c),
            _ => made.push('_'),
        }
    }
    if made.is_empty() {
        made.push('_');
    }
    cut(&made, WIRE_NAME_CHARS_MAX).to_owned()
}

/// Cuts a name; all its characters are ASCII here.
fn cut(name: &str, length: usize) -> &str {
    &name[..length.min(name.len())]
}

#[cfg(test)]
mod tests {
    use agentry_protocol::tool::{Risk, ToolCategory, ToolName};
    use agentry_protocol::tool_call::{RepeatSafety, ToolSpec};
    use serde_json::json;

    use super::*;

    fn tools(names: &[&str]) -> Vec<ToolSpec> {
        let spec = |name: &&str| ToolSpec {
            name: ToolName::canonical(name),
            description: String::new(),
            parameters: json!({"type": "object"}),
            category: ToolCategory::Read,
            risk: Risk::Low,
            repeat: RepeatSafety::Harmless,
        };
        names.iter().map(spec).collect()
    }

    #[test]
    fn a_name_that_the_provider_takes_stays() {
        let names = AnthropicToolNames::new(&tools(&["read_file", "a-B_9"]));
        assert_eq!(names.wire("read_file"), "read_file");
        assert!(names.back().is_empty());
    }

    #[test]
    fn others_get_names_that_lead_back_to_them() {
        let long = "x".repeat(100);
        let given = ["git/log", "git__log", "git.log", "git:log", &long, ""];
        let names = AnthropicToolNames::new(&tools(&given));
        let wire: Vec<String> = given.iter().map(|name| names.wire(name).into_owned()).collect();
        let unique: HashSet<&String> = wire.iter().collect();
        assert_eq!(unique.len(), given.len(), "{wire:?}");
        assert!(wire.iter().all(|name| is_taken_as_it_is(name)), "{wire:?}");
        let back = names.back();
        for (ours, wire) in given.iter().zip(&wire) {
            assert_eq!(back.get(wire).map_or(wire.as_str(), String::as_str), *ours);
        }
    }
}
