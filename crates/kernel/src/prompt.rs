//! The system prompt: seven sections, from what never changes to what changes each turn.
//!
//! Providers bill a prompt's beginning once as long as its bytes stay the same. Therefore the order is
//! fixed, every section is a pure function of the agent's files, and whatever belongs to the moment goes
//! last. The layers of a context folder are the same sections under their own names.
//!
//! Must never: put the time, an id or anything else of the moment before the tail.

use agentry_agentfile::agent::{Agent, Persona};
use agentry_agentfile::skill::{Skill, SkillForm};
use agentry_agentfile::source::{Origin, SourcedValue};
use agentry_agentfile::template as template_text;
use agentry_protocol::ContentHash;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::template::TemplateRequest;
use crate::tokens;

/// What a prompt is made of.
pub struct PromptSources<'a> {
    /// The agent.
    pub agent: &'a Agent,
    /// The persona it wears; none means the root SOUL.md.
    pub persona: Option<&'a Persona>,
    /// The agent's skills.
    pub skills: Vec<&'a Skill>,
    /// The rendered template, if the agent has one.
    pub template: Option<&'a str>,
    /// What a hook adds for this turn.
    pub hook_output: Option<&'a str>,
}

/// A prompt in its sections.
#[derive(Clone, Debug, Serialize)]
pub struct Prompt {
    /// The sections in order; those that are left out say why.
    pub sections: Vec<Section>,
    /// The length of the beginning that stays the same from turn to turn.
    pub stable_bytes: usize,
    /// The hash of that beginning.
    pub stable_hash: ContentHash,
}

/// One section.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// Which one.
    pub name: SectionName,
    /// The file or files it comes from.
    pub source: Option<String>,
    /// Whether it stays the same from turn to turn.
    pub stable: bool,
    /// Why it is left out, if it is.
    pub left_out: Option<&'static str>,
    /// Its length.
    pub bytes: usize,
    /// About how many tokens it has.
    pub tokens: usize,
    /// Its text.
    pub text: String,
}

/// The sections by name, in their order.
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
    /// What the tools do.
    Tools,
    /// Skills: single files in full, folders by name and description.
    Skills,
    /// AGENTS.md of the workspace.
    Rules,
    /// What a hook adds for this turn.
    HookOutput,
}

impl SectionName {
    /// The name in words.
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
    /// The whole text.
    pub fn text(&self) -> String {
        joined(&self.sections)
    }

    /// The beginning that stays the same from turn to turn.
    pub fn stable_text(&self) -> String {
        joined(stable(&self.sections))
    }
}

/// Puts the sections together.
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

/// The template to render, with its values. `None` if the agent has no template.
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

/// What of the moment a template may name.
#[derive(Clone, Copy, Debug, Default)]
pub struct TemplateIds<'a> {
    /// The session's id.
    pub session: Option<&'a str>,
    /// The turn's id.
    pub turn: Option<&'a str>,
}

/// The template that holds: a persona's own, else the root one.
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
