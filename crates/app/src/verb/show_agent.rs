//! `agentry show agent`: what an agent resolves to, each value with its origin.
//!
//! Must never: show an agent that does not load as if it did.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use agentry_agentfile::agent::{Agent, HookSwitch, ToolKind};
use agentry_agentfile::diagnostic::{Severity, suggestion};
use agentry_agentfile::library::Library;
use agentry_agentfile::scope::Rule;
use agentry_agentfile::skill::SkillLevel;
use agentry_agentfile::source::Origin;
use clap::Args;
use serde_json::json;

use super::{Format, Which};
use crate::fault::{Blame, Fault};
use crate::host::{Host, Loaded};
use crate::render;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    which: Which,
    /// How the agent is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(host: &Host, options: &Options) -> Result<ExitCode, Fault> {
    let loaded = host.load(&options.which.dir, SkillLevel::Extended)?;
    let agent = choose(&loaded, &options.which)?;
    let mut out = anstream::stdout().lock();
    match options.format {
        Format::Json => {
            writeln!(out, "{}", serde_json::to_string_pretty(&as_json(&loaded.library, agent))?)?
        }
        Format::Text => Page { out: &mut out }.write(&loaded.library, agent)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The agent of this id, or the only one or the default.
pub(crate) fn by_name<'a>(loaded: &'a Loaded, agent: Option<&str>) -> Result<&'a Agent, Fault> {
    choose(loaded, &Which { dir: PathBuf::from("."), agent: agent.map(str::to_owned) })
}

/// The agent that was asked for: by id, by its directory, as the default, or as the only one.
pub(super) fn choose<'a>(loaded: &'a Loaded, which: &Which) -> Result<&'a Agent, Fault> {
    if let Some(fault) = loaded.settings_fault() {
        return Err(fault);
    }
    let library = &loaded.library;
    let broken_ids = library.broken_agents.keys();
    let known: Vec<&str> = library.agents.keys().chain(broken_ids).map(String::as_str).collect();
    let default = library.settings.config.agent.default.clone();
    let wanted = which.agent.clone().or_else(|| loaded.asked.clone()).or(default);
    let place = which.dir.display();
    if let Some(id) = wanted {
        return match (library.agents.get(&id), library.broken_agents.get(&id)) {
            (Some(agent), _) => Ok(agent),
            (None, Some(file)) => Err(broken(loaded, &id, file)),
            (None, None) => Err(Fault::new(Blame::Caller, format!("{place} has no agent `{id}`"))
                .hint(suggestion(&id, &known))),
        };
    }
    let mut agents = library.agents.values();
    match (agents.next(), agents.next(), library.broken_agents.iter().next()) {
        (Some(agent), None, None) => Ok(agent),
        (None, None, Some((id, file))) => Err(broken(loaded, id, file)),
        (None, None, None) => {
            let found = loaded.findings.sorted();
            let error = found.iter().find(|one| one.severity == Severity::Error);
            let why = error.map(|one| format!(": {} {} {}", one.file, one.code, one.message));
            let what = format!("no agent was found in {place}{}", why.unwrap_or_default());
            Err(Fault::new(Blame::Caller, what).hint("make one with `agentry init <dir>`"))
        }
        _ => {
            let mut all: Vec<String> = library.agents.keys().cloned().collect();
            all.extend(library.broken_agents.keys().map(|id| format!("{id} (does not load)")));
            all.sort();
            Err(Fault::new(
                Blame::Caller,
                format!("{place} has several agents: {}", all.join(", ")),
            )
            .hint("choose one with --agent"))
        }
    }
}

fn broken(loaded: &Loaded, id: &str, file: &str) -> Fault {
    const SHOWN: usize = 5;
    let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
    let directory = directory.trim_end_matches("context").trim_end_matches('/');
    let is_own = |path: &str| {
        let below = path.strip_prefix(directory);
        below.is_some_and(|rest| directory.is_empty() || rest.starts_with('/'))
    };
    let sorted = loaded.findings.sorted();
    let all: Vec<String> = sorted
        .iter()
        .filter(|one| one.severity == Severity::Error && is_own(&one.file))
        .map(|one| format!("\n  {}", render::brief(one)))
        .collect();
    let mut more = all.iter().take(SHOWN).cloned().collect::<String>();
    if all.len() > SHOWN {
        more.push_str(&format!("\n  and {} more", all.len() - SHOWN));
    }
    let more = if more.is_empty() { more } else { format!(":{more}") };
    Fault::new(Blame::Agent, format!("the agent `{id}` ({file}) does not load{more}"))
        .hint("`agentry check` shows all that is wrong with it")
}

fn as_json(library: &Library, agent: &Agent) -> serde_json::Value {
    let skills: Vec<_> =
        agent.skills.iter().filter_map(|id| library.skill(agent, id.value.as_str())).collect();
    let tasks: Vec<_> =
        agent.tasks.iter().filter_map(|id| library.tasks.get(id.value.as_str())).collect();
    let mut value = json!(agent);
    value["skill_definitions"] = json!(skills);
    value["task_definitions"] = json!(tasks);
    value["mcp_servers"] = json!(library.mcp);
    value
}

struct Page<'a> {
    out: &'a mut dyn Write,
}

impl Page<'_> {
    fn write(&mut self, library: &Library, agent: &Agent) -> io::Result<()> {
        let form = serde_json::to_value(agent.form)
            .ok()
            .and_then(|form| Some(form.as_str()?.replace('_', " ")));
        self.head(&format!("{} ({})", agent.id, form.unwrap_or_default()))?;
        self.line(
            "directory",
            if agent.directory.is_empty() { "." } else { &agent.directory },
            None,
        )?;
        self.line("hash", agent.hash.as_str(), None)?;
        self.line("name", &agent.identity.name.value, Some(&agent.identity.name.origin))?;
        if let Some(text) = &agent.identity.description {
            self.line("description", &text.value, Some(&text.origin))?;
        }
        if let Some(metadata) = &agent.identity.metadata {
            self.line("metadata", &metadata.value.to_string(), Some(&metadata.origin))?;
        }
        self.texts(agent)?;
        self.models(agent)?;
        self.powers(agent)?;
        self.voices(agent)?;
        self.skills(library, agent)?;
        self.values(agent)
    }

    fn texts(&mut self, agent: &Agent) -> io::Result<()> {
        self.head("texts")?;
        let texts = &agent.texts;
        for (name, text) in [
            ("instructions", &texts.instructions),
            ("soul", &texts.soul),
            ("user", &texts.user),
            ("template", &texts.template),
            ("rules", &texts.rules),
        ] {
            if let Some(text) = text {
                self.line(name, &render::plural(text.value.len(), "byte"), Some(&text.origin))?;
            }
        }
        match &texts.user_name {
            Some(name) => self.line("user.name", &name.value, Some(&name.origin)),
            None => Ok(()),
        }
    }

    fn models(&mut self, agent: &Agent) -> io::Result<()> {
        self.head("models")?;
        for (at, model) in agent.models.candidates.iter().enumerate() {
            self.line(&format!("choice {}", at + 1), &model.value, Some(&model.origin))?;
        }
        for model in &agent.models.allowed {
            self.line("also allowed", &model.value, Some(&model.origin))?;
        }
        if let Some(value) = &agent.models.temperature {
            self.line("temperature", &value.value.to_string(), Some(&value.origin))?;
        }
        if let Some(value) = &agent.models.max_tokens {
            self.line("max_tokens", &value.value.to_string(), Some(&value.origin))?;
        }
        if agent.models.candidates.is_empty() {
            self.line("(none named)", "the host's default is used", None)?;
        }
        Ok(())
    }

    fn powers(&mut self, agent: &Agent) -> io::Result<()> {
        let powers = &agent.powers;
        self.head("tools")?;
        for tool in &powers.toolset {
            let kind = match &tool.kind {
                ToolKind::Host => String::new(),
                ToolKind::Custom(custom) => format!(", custom, runs {}", custom.program),
                ToolKind::Mcp { server } => format!(", of MCP server {server}"),
            };
            let risk = format!("{:?} risk", tool.risk).to_lowercase();
            self.line(tool.name.as_str(), &format!("{risk}{kind}"), Some(&tool.origin))?;
        }
        if powers.toolset.is_empty() {
            self.line("(none)", "the agent asks for none that can be offered", None)?;
        }
        for one in &powers.left_out {
            self.line(
                &format!("- {}", one.name),
                &format!("left out: {}", one.why),
                Some(&one.origin),
            )?;
        }
        self.head("approval")?;
        for rule in powers.tool_rules.iter().chain(&powers.task_rules) {
            self.line(&rule.subject, &rule_words(rule), Some(&rule.origin))?;
        }
        self.line("(anything else)", "a person is asked", None)?;
        let access = &powers.access;
        self.head("access")?;
        let on = if access.enabled.value { "on" } else { "off" };
        self.line("tools", on, Some(&access.enabled.origin))?;
        self.line("mode", &word(access.mode.value), Some(&access.mode.origin))?;
        let shell = &access.shell;
        self.line("shell mode", &word(shell.mode.value), Some(&shell.mode.origin))?;
        for prefix in &shell.allowed_prefixes {
            self.line("shell prefix", &prefix.value, Some(&prefix.origin))?;
        }
        self.line(
            "shell timeout",
            &format!("{} ms", shell.timeout_ms.value),
            Some(&shell.timeout_ms.origin),
        )?;
        let output = format!("{} characters", shell.max_output_chars.value);
        self.line("shell output", &output, Some(&shell.max_output_chars.origin))?;
        self.line(
            "any directory",
            &shell.allow_any_cwd.value.to_string(),
            Some(&shell.allow_any_cwd.origin),
        )?;
        self.sandbox(agent)?;
        let capabilities = &powers.capabilities;
        let (own, others) = (&capabilities.self_modify, &capabilities.spawn_subagents);
        self.line("self_modify", &own.value.to_string(), Some(&own.origin))?;
        self.line("spawn_subagents", &others.value.to_string(), Some(&others.origin))
    }

    /// What its files ask of the sandbox; what holds is the operator's to say.
    fn sandbox(&mut self, agent: &Agent) -> io::Result<()> {
        for layer in &agent.powers.confinement {
            for (key, value, origin) in layer.all() {
                self.line(&format!("asks {key}"), &value.to_string(), Some(&origin))?;
            }
        }
        Ok(())
    }

    fn voices(&mut self, agent: &Agent) -> io::Result<()> {
        if !agent.personas.available.is_empty() {
            self.head("personas")?;
            let default = agent.personas.default.as_ref();
            self.line(
                "default",
                default.map_or("root SOUL.md", |one| one.value.as_str()),
                default.map(|one| &one.origin),
            )?;
            let router = &agent.personas.router;
            self.line("router", &word(router.value), Some(&router.origin))?;
            for persona in &agent.personas.available {
                let parts: Vec<&str> =
                    [("SOUL.md", persona.soul.is_some()), ("template", persona.template.is_some())]
                        .into_iter()
                        .filter_map(|(name, there)| there.then_some(name))
                        .collect();
                self.line(persona.id.as_str(), &parts.join(" and "), Some(&persona.origin))?;
            }
        }
        if !agent.powers.hooks.is_empty() {
            self.head("hooks")?;
            for hook in &agent.powers.hooks {
                let runs = match &hook.switch {
                    HookSwitch::On(spec) => spec.program.as_str(),
                    HookSwitch::Off => "off",
                };
                self.line(hook.moment.as_str(), runs, Some(&hook.origin))?;
            }
        }
        Ok(())
    }

    fn skills(&mut self, library: &Library, agent: &Agent) -> io::Result<()> {
        if !agent.skills.is_empty() {
            self.head("skills")?;
            for id in &agent.skills {
                let skill = library.skill(agent, id.value.as_str());
                let text = skill.map_or("", |skill| skill.description.value.as_str());
                self.line(id.value.as_str(), text, Some(&id.origin))?;
            }
        }
        if !agent.tasks.is_empty() {
            self.head("tasks")?;
            for id in &agent.tasks {
                let task = library.tasks.get(id.value.as_str());
                let steps = task.map_or(0, |task| task.steps.len());
                self.line(id.value.as_str(), &render::plural(steps, "step"), Some(&id.origin))?;
            }
        }
        Ok(())
    }

    fn values(&mut self, agent: &Agent) -> io::Result<()> {
        let values = &agent.values;
        if values.facts.is_none()
            && values.args.is_empty()
            && values.lorebook.is_none()
            && values.diary.is_empty()
        {
            return Ok(());
        }
        self.head("values")?;
        if let Some(facts) = &values.facts {
            self.line("facts", &facts.value.to_string(), Some(&facts.origin))?;
        }
        if let Some(lorebook) = &values.lorebook {
            self.line("lorebook", &lorebook.value.to_string(), Some(&lorebook.origin))?;
        }
        for page in &values.diary {
            self.line(
                "diary",
                &format!("{} ({})", page.day, render::plural(page.bytes, "byte")),
                None,
            )?;
        }
        for (key, value) in &values.args {
            self.line(&format!("args.{key}"), &value.value.to_string(), Some(&value.origin))?;
        }
        Ok(())
    }

    fn head(&mut self, text: &str) -> io::Result<()> {
        let bold = anstyle::Style::new().bold();
        writeln!(self.out, "{bold}{}{bold:#}", render::visible_line(text))
    }

    fn line(&mut self, name: &str, value: &str, origin: Option<&Origin>) -> io::Result<()> {
        let dim = anstyle::Style::new().dimmed();
        let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let (name, value) = (render::visible_line(name), render::visible_line(&line));
        match origin {
            Some(origin) => {
                let origin = render::visible_line(&origin.to_string());
                writeln!(self.out, "  {name:<20} {value}  {dim}{origin}{dim:#}")
            }
            None => writeln!(self.out, "  {name:<20} {value}"),
        }
    }
}

fn rule_words(rule: &Rule) -> String {
    let verdict = if rule.allow { "goes ahead" } else { "a person is asked" };
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
