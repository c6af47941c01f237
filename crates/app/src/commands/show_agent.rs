//! `agentry show agent`: the resolved agent, each value with its origin.
//!
//! Must never: show an agent that does not load as if it did.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use agentry_agentfile::agent::Agent;
use agentry_agentfile::diagnostic::{Severity, suggestion};
use agentry_agentfile::library::Library;
use agentry_agentfile::skill::SkillLevel;
use clap::Args;
use serde_json::json;

use super::{AgentSelection, OutputFormat};
use crate::agent_report::{self, ReportLine, ReportSection};
use crate::cli_context::{CliContext, LoadedProject};
use crate::diagnostics;
use crate::fault::{Blame, Fault};

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    which: AgentSelection,
    /// Output format of the agent
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let loaded = host.load(&options.which.dir, SkillLevel::Extended)?;
    let agent = choose(&loaded, &options.which)?;
    let mut out = crate::output::stdout().lock();
    match options.format {
        OutputFormat::Json => {
            writeln!(out, "{}", serde_json::to_string_pretty(&as_json(&loaded.library, agent))?)?
        }
        OutputFormat::Text => write(&mut out, &agent_report::of(&loaded.library, agent))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the agent with this id; without an id, the default or only one.
pub(crate) fn by_name<'a>(
    loaded: &'a LoadedProject,
    agent: Option<&str>,
) -> Result<&'a Agent, Fault> {
    choose(loaded, &AgentSelection { dir: PathBuf::from("."), agent: agent.map(str::to_owned) })
}

/// Returns the selected agent: by id, by its directory, the default, or the only one.
pub(super) fn choose<'a>(
    loaded: &'a LoadedProject,
    which: &AgentSelection,
) -> Result<&'a Agent, Fault> {
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
            Err(Fault::new(Blame::Caller, what).hint("create one with `agentry init <dir>`"))
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

fn broken(loaded: &LoadedProject, id: &str, file: &str) -> Fault {
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
        .map(|one| format!("\n  {}", diagnostics::brief(one)))
        .collect();
    let mut more = all.iter().take(SHOWN).cloned().collect::<String>();
    if all.len() > SHOWN {
        more.push_str(&format!("\n  and {} more", all.len() - SHOWN));
    }
    let more = if more.is_empty() { more } else { format!(":{more}") };
    Fault::new(Blame::Agent, format!("the agent `{id}` ({file}) does not load{more}"))
        .hint("`agentry check` shows all its errors")
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

fn write(out: &mut dyn Write, parts: &[ReportSection]) -> io::Result<()> {
    let (bold, dim) = (anstyle::Style::new().bold(), anstyle::Style::new().dimmed());
    for ReportSection { title, lines } in parts {
        writeln!(out, "{bold}{}{bold:#}", diagnostics::visible_line(title))?;
        for ReportLine { name, value, origin } in lines {
            let (name, value) = (diagnostics::visible_line(name), diagnostics::visible_line(value));
            match origin {
                Some(origin) => {
                    let origin = diagnostics::visible_line(&origin.to_string());
                    writeln!(out, "  {name:<20} {value}  {dim}{origin}{dim:#}")?;
                }
                None => writeln!(out, "  {name:<20} {value}")?,
            }
        }
    }
    Ok(())
}
