//! The system prompt: seven sections, from the most stable to those that change each turn.
//!
//! Providers bill the beginning of a prompt once while its bytes stay the same. Therefore the order
//! is fixed, every section is a pure function of the agent's files, and volatile content goes last.
//! The layers of a context folder are the same sections under their own names.
//!
//! Must never: put the time, an id or any other volatile value before the tail.

use agentry_agentfile::agent::{Agent, Persona};
use agentry_agentfile::skill::{Skill, SkillForm};
use agentry_agentfile::source::{Origin, SourcedValue};
use agentry_agentfile::template as template_text;
use agentry_protocol::ContentHash;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::template::TemplateRequest;
use crate::tokens;

/// The sources of a prompt.
pub struct PromptSources<'a> {
    /// The agent that acts.
    pub agent: &'a Agent,
    /// The persona in use; None means the root SOUL.md.
    pub persona: Option<&'a Persona>,
    /// The skills of the agent.
    pub skills: Vec<&'a Skill>,
    /// The rendered template, if the agent has one.
    pub template: Option<&'a str>,
    /// The text that a hook adds for this turn.
    pub hook_output: Option<&'a str>,
}

/// A prompt, divided into sections.
#[derive(Clone, Debug, Serialize)]
pub struct Prompt {
    /// The sections in order, including omitted ones with their reason.
    pub sections: Vec<Section>,
    /// The length of the beginning that is stable across turns, in bytes.
    pub stable_bytes: usize,
    /// The hash of that beginning.
    pub stable_hash: ContentHash,
}

/// One section of a prompt.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// The name of the section.
    pub name: SectionName,
    /// The file or files of its text.
    pub source: Option<String>,
    /// True if it is stable across turns.
    pub stable: bool,
    /// The reason why it is omitted; None if it is present.
    pub left_out: Option<&'static str>,
    /// Its length, in bytes.
    pub bytes: usize,
    /// Its estimated number of tokens.
    pub tokens: usize,
    /// Its text; empty if omitted.
    pub text: String,
}

/// The names of the sections, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionName {
    /// AGENT.md, or `context/system_prompt.md`.
    Instructions,
    /// SOUL.md, or a persona's, or `soul.json`.
    Soul,
    /// USER.md, or `user_profile.json`.
    User,
    /// The rendered template.
    Template,
    /// The descriptions of the tools.
    Tools,
    /// Skills: single files in full, folders by name and description.
    Skills,
    /// AGENTS.md of the workspace.
    Rules,
    /// The text that a hook adds for this turn.
    HookOutput,
}

impl SectionName {
    /// Returns the name in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Soul => "soul",
            Self::User => "user",
            Self::Template => "template",
            Self::Tools => "tools",
            Self::Skills => "skills",
            Self::Rules => "rules",
            Self::HookOutput => "hook output",
        }
    }
}

impl Prompt {
    /// Returns the whole text.
    pub fn text(&self) -> String {
        joined(&self.sections)
    }

    /// Returns the beginning that is stable across turns.
    pub fn stable_text(&self) -> String {
        joined(stable(&self.sections))
    }
}

/// Assembles the sections.
pub fn assemble(material: &PromptSources<'_>) -> Prompt {
    let sections = vec![
        instructions(material),
        soul(material),
        user(material),
        template(material),
        tools(material),
        skills(material),
        rules(material),
        hook_output(material),
    ];
    let beginning = joined(stable(&sections));
    let stable_hash = ContentHash::of(beginning.as_bytes());
    Prompt { stable_bytes: beginning.len(), stable_hash, sections }
}

/// Returns the template to render, with its values; `None` if the agent has no template.
pub fn template_request(
    agent: &Agent,
    persona: Option<&Persona>,
    moment: &TemplateIds<'_>,
) -> Option<TemplateRequest> {
    let template = template_of(agent, persona)?;
    let facts = agent.values.facts.as_ref().map_or_else(|| json!({}), |facts| facts.value.clone());
    let args: Map<String, Value> =
        agent.values.args.iter().map(|(key, value)| (key.clone(), value.value.clone())).collect();
    let values = json!({
        "agent": {
            "name": agent.identity.name.value,
            "description": agent.identity.description.as_ref().map(|text| &text.value),
        },
        "user": { "name": agent.texts.user_name.as_ref().map(|name| &name.value) },
        "conversation": { "id": moment.session },
        "turn": { "id": moment.turn },
        "persona": { "name": persona.map(|persona| persona.id.as_str()) },
        "facts": facts,
        "args": args,
    });
    Some(TemplateRequest { template: template.value.clone(), values })
}

/// The IDs that a template may refer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct TemplateIds<'a> {
    /// The ID of the session.
    pub session: Option<&'a str>,
    /// The ID of the turn.
    pub turn: Option<&'a str>,
}

/// Returns the effective template: the persona's own, else the root one.
pub fn template_of<'a>(
    agent: &'a Agent,
    persona: Option<&'a Persona>,
) -> Option<&'a SourcedValue<String>> {
    persona.and_then(|persona| persona.template.as_ref()).or(agent.texts.template.as_ref())
}

fn stable(sections: &[Section]) -> &[Section] {
    let end = sections.iter().position(|section| !section.stable && section.left_out.is_none());
    &sections[..end.unwrap_or(sections.len())]
}

fn joined(sections: &[Section]) -> String {
    let texts: Vec<&str> = sections
        .iter()
        .filter(|section| section.left_out.is_none())
        .map(|section| section.text.as_str())
        .collect();
    texts.join("\n\n")
}

fn section(
    name: SectionName,
    text: Option<String>,
    source: Option<String>,
    absent: &'static str,
) -> Section {
    let text = text.filter(|text| !text.trim().is_empty());
    let left_out = text.is_none().then_some(absent);
    let text = text.unwrap_or_default();
    let (bytes, tokens) = (text.len(), tokens::estimate(&text));
    Section { name, source, stable: true, left_out, bytes, tokens, text }
}

fn from_file(
    name: SectionName,
    text: Option<&SourcedValue<String>>,
    absent: &'static str,
) -> Section {
    let source = text.map(|text| text.origin.file.to_string());
    section(name, text.map(|text| text.value.clone()), source, absent)
}

fn instructions(material: &PromptSources<'_>) -> Section {
    from_file(
        SectionName::Instructions,
        material.agent.texts.instructions.as_ref(),
        "no instructions",
    )
}

fn soul(material: &PromptSources<'_>) -> Section {
    let variant = material.persona.and_then(|persona| persona.soul.as_ref());
    from_file(SectionName::Soul, variant.or(material.agent.texts.soul.as_ref()), "no SOUL.md")
}

fn user(material: &PromptSources<'_>) -> Section {
    from_file(SectionName::User, material.agent.texts.user.as_ref(), "no USER.md")
}

fn template(material: &PromptSources<'_>) -> Section {
    let written = template_of(material.agent, material.persona);
    let source = written.map(|text| text.origin.file.to_string());
    let text = material.template.map(|text| text.trim().to_owned());
    let absent = if written.is_some() { "the template renders to nothing" } else { "no template" };
    let mut section = section(SectionName::Template, text, source, absent);
    section.stable = !written.is_some_and(|text| template_text::uses_changing_values(&text.value));
    section
}

fn tools(material: &PromptSources<'_>) -> Section {
    let offered = &material.agent.powers.toolset;
    let lines: Vec<String> = offered
        .iter()
        .map(|tool| format!("- {}: {}", tool.name, one_line(&tool.description)))
        .collect();
    let text = (!lines.is_empty()).then(|| format!("# Tools\n\n{}", lines.join("\n")));
    section(SectionName::Tools, text, None, "no tools")
}

fn skills(material: &PromptSources<'_>) -> Section {
    let (files, folders): (Vec<&Skill>, Vec<&Skill>) =
        material.skills.iter().partition(|skill| skill.form == SkillForm::File);
    let mut parts: Vec<String> = files
        .iter()
        .map(|skill| format!("## {}\n\n{}", skill.name.value, skill.body.value))
        .collect();
    if !folders.is_empty() {
        let entries: Vec<String> = folders.iter().map(|skill| catalogue_entry(skill)).collect();
        parts.push(format!(
            "Load one of these in full with load_skill when its description fits.\n\
             <available_skills>\n{}\n</available_skills>",
            entries.join("\n")
        ));
    }
    let text = (!parts.is_empty()).then(|| format!("# Skills\n\n{}", parts.join("\n\n")));
    let files: Vec<&str> = material.skills.iter().map(|skill| &*skill.body.origin.file).collect();
    section(SectionName::Skills, text, (!files.is_empty()).then(|| files.join(", ")), "no skills")
}

fn catalogue_entry(skill: &Skill) -> String {
    let (name, description) =
        (escaped(skill.id.as_str()), escaped(&one_line(&skill.description.value)));
    format!("<skill><name>{name}</name><description>{description}</description></skill>")
}

fn rules(material: &PromptSources<'_>) -> Section {
    from_file(SectionName::Rules, material.agent.texts.rules.as_ref(), "no AGENTS.md")
}

fn hook_output(material: &PromptSources<'_>) -> Section {
    let text = material.hook_output.map(str::to_owned);
    let source = text.as_ref().map(|_| Origin::named("hook before_inference").to_string());
    let mut section = section(SectionName::HookOutput, text, source, "no hook ran");
    section.stable = false;
    section
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
