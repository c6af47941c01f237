//! Maps environment variables to settings: `AGENTRY_AGENT_MODEL` is `agent.model`.
//!
//! The table is made from the schema of the settings, so every plain value has a variable.
//!
//! Must never: ignore a misspelt variable without a word.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{one_setting, report_unknown_variable};
use crate::diagnostic::Findings;
use crate::schema::FileKind;
use crate::source::SourceText;

/// Variables of ours that are not settings.
const OTHERS: [&str; 7] = [
    "AGENTRY_AGENT_ID",
    "AGENTRY_HOME",
    "AGENTRY_LISTEN",
    "AGENTRY_LOG",
    "AGENTRY_MODELS",
    "AGENTRY_SESSION_ID",
    "AGENTRY_THREAD_ID",
];

/// Returns one small source for each variable that sets a value.
pub(super) fn sources(
    variables: &BTreeMap<String, String>,
    findings: &mut Findings,
) -> Vec<SourceText> {
    if variables.is_empty() {
        return Vec::new();
    }
    let table = table();
    let known: Vec<&str> = table.keys().map(String::as_str).chain(OTHERS).collect();
    let mut sources = Vec::new();
    for (name, value) in variables {
        match table.get(name) {
            Some(setting) => {
                let value = if setting.is_list && !value.trim_start().starts_with('[') {
                    let words = value.split(',').map(str::trim).filter(|word| !word.is_empty());
                    Value::from(words.collect::<Vec<_>>()).to_string()
                } else if setting.is_text {
                    Value::String(value.clone()).to_string()
                } else {
                    value.clone()
                };
                sources.push(one_setting(&format!("environment {name}"), &setting.key, &value));
            }
            None if OTHERS.contains(&name.as_str()) => {}
            None => report_unknown_variable(name, &known, findings),
        }
    }
    sources
}

struct KnownSetting {
    key: String,
    is_list: bool,
    is_text: bool,
}

fn table() -> BTreeMap<String, KnownSetting> {
    let schema = FileKind::Config.schema();
    let mut table = BTreeMap::new();
    gather(&schema, &schema, &mut Vec::new(), &mut table);
    table
}

fn gather<'a>(
    root: &'a Value,
    node: &'a Value,
    path: &mut Vec<&'a str>,
    table: &mut BTreeMap<String, KnownSetting>,
) {
    let node = resolved(root, node);
    if let Some(fields) = node.get("properties").and_then(Value::as_object) {
        for (name, field) in fields {
            path.push(name);
            gather(root, field, path, table);
            path.pop();
        }
        return;
    }
    let types: Vec<&str> = match node.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let list_of_text = node.pointer("/items/type").and_then(Value::as_str) == Some("string");
    // Maps and lists of tables have no variable.
    if types.contains(&"object") || types.contains(&"array") && !list_of_text {
        return;
    }
    let setting = KnownSetting {
        key: path.join("."),
        is_list: types.contains(&"array"),
        is_text: types.contains(&"string") || types.is_empty(),
    };
    table.insert(variable(path), setting);
}

/// Follows references, and selects the branch of a choice that is not null.
fn resolved<'a>(root: &'a Value, node: &'a Value) -> &'a Value {
    let mut node = node;
    loop {
        let choice = node.get("anyOf").and_then(Value::as_array).and_then(|options| {
            options.iter().find(|option| option.get("type").and_then(Value::as_str) != Some("null"))
        });
        let target = node
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| root.pointer(reference.trim_start_matches('#')));
        match choice.or(target) {
            Some(next) => node = next,
            None => return node,
        }
    }
}

fn variable(path: &[&str]) -> String {
    let mut name = "AGENTRY".to_owned();
    for part in path {
        name.push('_');
        for c in part.chars() {
            if c.is_ascii_uppercase() {
                name.push('_');
            }
            name.push(c.to_ascii_uppercase());
        }
    }
    name
}
