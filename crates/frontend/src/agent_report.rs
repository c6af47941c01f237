//! The resolved agent: a line for each value, with its origin.
//!
//! Must never: leave out a value that affects the agent.

use agentry_agentfile::agent::{Agent, HookSwitch, ToolKind};
use agentry_agentfile::approval_rule::ApprovalRule;
use agentry_agentfile::library::Library;
use agentry_agentfile::source::Origin;
use serde_json::json;

use crate::diagnostics;

/// A section of the report: lines on one topic.
pub struct ReportSection {
    /// The topic of the section.
    pub title: String,
    /// The lines, in the order of output.
    pub lines: Vec<ReportLine>,
}

/// A line of the report: one value.
pub struct ReportLine {
    /// The name of the value.
    pub name: String,
    /// The value, on one line.
    pub value: String,
    /// The file and line of the value; None for a derived value.
    pub origin: Option<Origin>,
}

/// Returns all values of an agent, by section.
pub fn of(library: &Library, agent: &Agent) -> Vec<ReportSection> {
    let mut page = AgentReport { parts: Vec::new() };
    page.write(library, agent);
    page.parts
}

struct AgentReport {
    parts: Vec<ReportSection>,
}

impl AgentReport {
    fn write(&mut self, library: &Library, agent: &Agent) {
        let form = serde_json::to_value(agent.form)
            .ok()
            .and_then(|form| Some(form.as_str()?.replace('_', " ")));
        self.head(&format!("{} ({})", agent.id, form.unwrap_or_default()));
        self.line(
            "directory",
            if agent.directory.is_empty() { "." } else { &agent.directory },
            None,
        );
        self.line("hash", agent.hash.as_str(), None);
        self.line("name", &agent.identity.name.value, Some(&agent.identity.name.origin));
        if let Some(text) = &agent.identity.description {
            self.line("description", &text.value, Some(&text.origin));
        }
        if let Some(metadata) = &agent.identity.metadata {
            self.line("metadata", &metadata.value.to_string(), Some(&metadata.origin));
        }
        self.texts(agent);
        self.models(agent);
        self.powers(agent);
        self.voices(agent);
        self.skills(library, agent);
        self.values(agent);
    }

    fn texts(&mut self, agent: &Agent) {
        self.head("texts");
        let texts = &agent.texts;
        for (name, text) in [
            ("instructions", &texts.instructions),
            ("soul", &texts.soul),
            ("user", &texts.user),
            ("template", &texts.template),
            ("rules", &texts.rules),
        ] {
            if let Some(text) = text {
                self.line(name, &diagnostics::plural(text.value.len(), "byte"), Some(&text.origin));
            }
        }
        if let Some(name) = &texts.user_name {
            self.line("user.name", &name.value, Some(&name.origin));
        }
    }

    fn models(&mut self, agent: &Agent) {
        self.head("models");
        for (at, model) in agent.models.candidates.iter().enumerate() {
            self.line(&format!("choice {}", at + 1), &model.value, Some(&model.origin));
        }
        for model in &agent.models.allowed {
            self.line("also allowed", &model.value, Some(&model.origin));
        }
        if let Some(value) = &agent.models.temperature {
            self.line("temperature", &value.value.to_string(), Some(&value.origin));
        }
        if let Some(value) = &agent.models.max_tokens {
            self.line("max_tokens", &value.value.to_string(), Some(&value.origin));
        }
        if agent.models.candidates.is_empty() {
            self.line("(none named)", "the host's default is used", None);
        }
    }

    fn powers(&mut self, agent: &Agent) {
        let powers = &agent.powers;
        self.head("tools");
        for tool in &powers.toolset {
            let kind = match &tool.kind {
                ToolKind::Host => String::new(),
                ToolKind::Custom(custom) => format!(", custom, runs {}", custom.program),
                ToolKind::Mcp { server } => format!(", of MCP server {server}"),
            };
            let risk = format!("{:?} risk", tool.risk).to_lowercase();
            self.line(tool.name.as_str(), &format!("{risk}{kind}"), Some(&tool.origin));
        }
        if powers.toolset.is_empty() {
            self.line("(none)", "the agent requests no tool that is available", None);
        }
        for one in &powers.left_out {
            self.line(
                &format!("- {}", one.name),
                &format!("left out: {}", one.why),
                Some(&one.origin),
            );
        }
        self.head("approval");
        for rule in powers.tool_rules.iter().chain(&powers.task_rules) {
            self.line(&rule.subject, &rule_words(rule), Some(&rule.origin));
        }
        self.line("(anything else)", "needs approval", None);
        let access = &powers.access;
        self.head("access");
        let on = if access.enabled.value { "on" } else { "off" };
        self.line("tools", on, Some(&access.enabled.origin));
        self.line("mode", &word(access.mode.value), Some(&access.mode.origin));
        let shell = &access.shell;
        self.line("shell mode", &word(shell.mode.value), Some(&shell.mode.origin));
        for prefix in &shell.allowed_prefixes {
            self.line("shell prefix", &prefix.value, Some(&prefix.origin));
        }
        self.line(
            "shell timeout",
            &format!("{} ms", shell.timeout_ms.value),
            Some(&shell.timeout_ms.origin),
        );
        let output = format!("{} characters", shell.max_output_chars.value);
        self.line("shell output", &output, Some(&shell.max_output_chars.origin));
        self.line(
            "any directory",
            &shell.allow_any_cwd.value.to_string(),
            Some(&shell.allow_any_cwd.origin),
        );
        self.sandbox(agent);
        let capabilities = &powers.capabilities;
        let (own, others) = (&capabilities.self_modify, &capabilities.spawn_subagents);
        self.line("self_modify", &own.value.to_string(), Some(&own.origin));
        self.line("spawn_subagents", &others.value.to_string(), Some(&others.origin));
    }

    /// Adds the sandbox settings that the agent's files request, before the operator's limits.
    fn sandbox(&mut self, agent: &Agent) {
        for layer in &agent.powers.confinement {
            for (key, value, origin) in layer.all() {
                self.line(&format!("asks {key}"), &value.to_string(), Some(&origin));
            }
        }
    }

    fn voices(&mut self, agent: &Agent) {
        if !agent.personas.available.is_empty() {
            self.head("personas");
            let default = agent.personas.default.as_ref();
            self.line(
                "default",
                default.map_or("root SOUL.md", |one| one.value.as_str()),
                default.map(|one| &one.origin),
            );
            let router = &agent.personas.router;
            self.line("router", &word(router.value), Some(&router.origin));
            for persona in &agent.personas.available {
                let parts: Vec<&str> =
                    [("SOUL.md", persona.soul.is_some()), ("template", persona.template.is_some())]
                        .into_iter()
                        .filter_map(|(name, there)| there.then_some(name))
                        .collect();
                self.line(persona.id.as_str(), &parts.join(" and "), Some(&persona.origin));
            }
        }
        if !agent.powers.hooks.is_empty() {
            self.head("hooks");
            for hook in &agent.powers.hooks {
                let runs = match &hook.switch {
                    HookSwitch::On(spec) => spec.program.as_str(),
                    HookSwitch::Off => "off",
                };
                self.line(hook.moment.as_str(), runs, Some(&hook.origin));
            }
        }
    }

    fn skills(&mut self, library: &Library, agent: &Agent) {
        if !agent.skills.is_empty() {
            self.head("skills");
            for id in &agent.skills {
                let skill = library.skill(agent, id.value.as_str());
                let text = skill.map_or("", |skill| skill.description.value.as_str());
                self.line(id.value.as_str(), text, Some(&id.origin));
            }
        }
        if !agent.tasks.is_empty() {
            self.head("tasks");
            for id in &agent.tasks {
                let task = library.tasks.get(id.value.as_str());
                let steps = task.map_or(0, |task| task.steps.len());
                self.line(id.value.as_str(), &diagnostics::plural(steps, "step"), Some(&id.origin));
            }
        }
    }

    fn values(&mut self, agent: &Agent) {
        let values = &agent.values;
        if values.facts.is_none()
            && values.args.is_empty()
            && values.lorebook.is_none()
            && values.diary.is_empty()
        {
            return;
        }
        self.head("values");
        if let Some(facts) = &values.facts {
            self.line("facts", &facts.value.to_string(), Some(&facts.origin));
        }
        if let Some(lorebook) = &values.lorebook {
            self.line("lorebook", &lorebook.value.to_string(), Some(&lorebook.origin));
        }
        for page in &values.diary {
            self.line(
                "diary",
                &format!("{} ({})", page.day, diagnostics::plural(page.bytes, "byte")),
                None,
            );
        }
        for (key, value) in &values.args {
            self.line(&format!("args.{key}"), &value.value.to_string(), Some(&value.origin));
        }
    }

    fn head(&mut self, text: &str) {
        self.parts.push(ReportSection { title: text.to_owned(), lines: Vec::new() });
    }

    fn line(&mut self, name: &str, value: &str, origin: Option<&Origin>) {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = ReportLine { name: name.to_owned(), value, origin: origin.cloned() };
        if let Some(part) = self.parts.last_mut() {
            part.lines.push(line);
        }
    }
}

/// Describes the verdict and the condition of an approval rule.
pub fn rule_words(rule: &ApprovalRule) -> String {
    let verdict = if rule.allow { "allowed" } else { "needs approval" };
    if rule.when.is_empty() {
        return verdict.to_owned();
    }
    format!("{verdict} when {}", json!(rule.when))
}

fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}
