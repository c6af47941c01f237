//! The tool with which a model loads the full text of a skill.
//!
//! Must never: return a skill that the agent does not have.

use std::collections::BTreeMap;

use agentry_protocol::tool::{ToolName, find_known_tool};
use agentry_protocol::tool_call::{RepeatSafety, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

/// The texts of an agent's skills, by name.
pub(crate) type SkillTexts = BTreeMap<String, String>;

/// Returns the specification of the tool, with these names as choices.
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

/// Returns the text of a skill.
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
