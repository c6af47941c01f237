//! The tool by which a model loads a skill in full.
//!
//! Must never: give a skill that the agent does not have.

use std::collections::BTreeMap;

use agentry_protocol::tool::{ToolName, find_known_tool};
use agentry_protocol::tool_call::{RepeatSafety, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

/// The skills of an agent: name and text.
pub(crate) type SkillTexts = BTreeMap<String, String>;

/// How the tool is offered, for skills of these names.
pub fn spec(names: &[&str]) -> ToolSpec {
    let known = find_known_tool("load_skill").expect("the dictionary has it");
    ToolSpec {
        name: ToolName::canonical("load_skill"),
        description: known.summary.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "name": { "type": "string", "enum": names } },
            "required": ["name"],
            "additionalProperties": false,
        }),
        category: known.category,
        risk: known.risk,
        repeat: RepeatSafety::Harmless,
    }
}

/// The text of a skill.
pub(crate) fn run(skills: &SkillTexts, input: &Value) -> ToolOutcome {
    let name = input.get("name").and_then(Value::as_str).unwrap_or_default();
    match skills.get(name) {
        Some(text) => ToolOutcome::done(text.clone()),
        None => {
            let names: Vec<&str> = skills.keys().map(String::as_str).collect();
            ToolOutcome::failed(format!(
                "There is no skill `{name}`. There are: {}.",
                names.join(", ")
            ))
        }
    }
}
