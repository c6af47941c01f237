//! `agentry show agent`: the resolved agent, each value with its origin.
//!
//! Must never: show an agent that does not load as if it did.

use std::io::{self, Write};
use std::process::ExitCode;

use agentry_agentfile::agent::Agent;
use agentry_agentfile::library::Library;
use agentry_agentfile::skill::SkillLevel;
use agentry_runtime::definitions::agent_choice::choose_agent;
use agentry_runtime::definitions::project_loader::LoadedProject;
use clap::Args;
use serde_json::json;

use super::{AgentSelection, OutputFormat};
use crate::agent_report::{self, ReportLine, ReportSection};
use crate::cli_context::CliContext;
use crate::diagnostics;
use crate::fault::Fault;

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

/// Returns the selected agent: by id, by its directory, the default, or the only one.
pub(super) fn choose<'a>(
    loaded: &'a LoadedProject,
    which: &AgentSelection,
) -> Result<&'a Agent, Fault> {
    Ok(choose_agent(loaded, &which.dir, which.agent.as_deref())?)
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
