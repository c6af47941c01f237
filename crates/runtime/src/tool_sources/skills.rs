//! The tool with which a model loads the full text of a skill.
//!
//! Must never: return a skill that the agent does not have.

use agentry_agentfile::skill::{Skill, SkillForm};
use agentry_protocol::tool::{ToolName, find_known_tool};
use agentry_protocol::tool_call::{RepeatSafety, ToolCall, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use crate::error::Error;
use crate::host::tool_source::{CallContext, ToolGrant, ToolScope, ToolSource};

const NAME: &str = "load_skill";

/// The source of the tool that loads skills.
pub(super) struct SkillTool;

impl ToolSource for SkillTool {
    fn names(&self) -> Vec<ToolName> {
        vec![ToolName::canonical(NAME)]
    }

    fn specs(&self, scope: &ToolScope<'_>) -> Result<Vec<ToolSpec>, Error> {
        let skills = loadable(scope);
        let names: Vec<&str> = skills.iter().map(|skill| skill.id.as_str()).collect();
        Ok(if names.is_empty() { Vec::new() } else { vec![spec(&names)] })
    }

    fn grant(&self) -> ToolGrant {
        ToolGrant::Inherent
    }

    fn call(&self, call: &ToolCall, context: &CallContext<'_>) -> Result<ToolOutcome, Error> {
        let name = call.input.get("name").and_then(Value::as_str).unwrap_or_default();
        let skills = context.scope.as_ref().map(loadable).unwrap_or_default();
        Ok(match skills.iter().find(|skill| skill.id.as_str() == name) {
            Some(skill) => ToolOutcome::done(text(skill)),
            None => {
                let mut names: Vec<&str> = skills.iter().map(|skill| skill.id.as_str()).collect();
                names.sort_unstable();
                let names = names.join(", ");
                ToolOutcome::failed(format!("There is no skill `{name}`. There are: {names}."))
            }
        })
    }
}

/// Returns the specification of the tool, with these names as choices.
fn spec(names: &[&str]) -> ToolSpec {
    let known = find_known_tool(NAME).expect("the dictionary has it");
    ToolSpec {
        name: ToolName::canonical(NAME),
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

/// Returns the skills that are not part of the prompt as a whole.
fn loadable<'a>(scope: &ToolScope<'a>) -> Vec<&'a Skill> {
    let skills = scope.skills().into_iter();
    skills.filter(|skill| skill.form == SkillForm::Folder).collect()
}

/// Returns a skill in the form that the model receives.
fn text(skill: &Skill) -> String {
    let mut text = format!("<skill name=\"{}\">\n{}\n</skill>", skill.id, skill.body.value.trim());
    if !skill.resources.is_empty() {
        text.push_str("\nFiles beside it: ");
        text.push_str(&skill.resources.join(", "));
    }
    text
}
