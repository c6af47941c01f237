//! `agentry tools list`: an agent's tools, and the reasons why others are left out.
//!
//! Must never: show a tool as usable that would be refused.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use agentry_agentfile::agent::{Agent, OfferedTool, ToolKind};
use agentry_agentfile::skill::SkillLevel;
use agentry_runtime::definitions::agent_choice::choose_agent;
use agentry_runtime::definitions::trust::TrustStatus;
use clap::Args;
use serde::Serialize;

use super::AgentDirOptions;
use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::commands::OutputFormat;
use crate::diagnostics::visible_line;
use crate::fault::Fault;
use crate::trust::TrustReview;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    whose: AgentDirOptions,
    /// Output format of the list
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

/// A row of the list.
#[derive(Serialize)]
struct ToolListing {
    name: String,
    /// `host`, `own` or `mcp`; None for a tool that is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<String>,
    offered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    /// For an own tool: true if the owner trusts its current files.
    #[serde(skip_serializing_if = "Option::is_none")]
    trusted: Option<bool>,
}

pub(super) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let directory = bootstrap::enter_project(&options.whose.dir)?;
    let loaded = host.load(Path::new("."), SkillLevel::Extended)?;
    let agent = choose_agent(&loaded, Path::new("."), options.whose.agent.as_deref())?;
    let definitions =
        bootstrap::definitions(host, &loaded, &directory, bootstrap::wanted_level(&loaded))?;
    let is_trusted = if bootstrap::has_ledger(host) {
        let ledger = bootstrap::open_ledger(host)?;
        match TrustReview::at(host, &ledger, &loaded, &definitions).standing(agent)? {
            TrustStatus::Trusted(_) => true,
            TrustStatus::Nothing | TrustStatus::Changed(_) | TrustStatus::Unseen => false,
        }
    } else {
        false
    };
    let lines = lines(agent, is_trusted);
    let mut out = crate::output::stdout().lock();
    match options.format {
        OutputFormat::Json => writeln!(out, "{}", serde_json::to_string_pretty(&lines)?)?,
        OutputFormat::Text => lines.iter().try_for_each(|line| write(line, &mut out))?,
    }
    if options.format == OutputFormat::Text && lines.is_empty() {
        writeln!(out, "the agent `{}` has no tools", agent.id)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(agent: &Agent, is_trusted: bool) -> Vec<ToolListing> {
    let offered = agent.powers.toolset.iter().map(|tool| offered(tool, is_trusted));
    let left_out = agent.powers.left_out.iter().map(|one| ToolListing {
        name: one.name.clone(),
        from: None,
        category: None,
        risk: None,
        offered: false,
        why: Some(one.why.clone()),
        program: None,
        trusted: None,
    });
    offered.chain(left_out).collect()
}

fn offered(tool: &OfferedTool, is_trusted: bool) -> ToolListing {
    let (from, program) = match &tool.kind {
        ToolKind::Host => ("host", None),
        ToolKind::Custom(custom) => ("own", Some(custom.program.clone())),
        ToolKind::Mcp { .. } => ("mcp", None),
    };
    ToolListing {
        name: tool.name.as_str().to_owned(),
        from: Some(from),
        category: Some(format!("{:?}", tool.category).to_lowercase()),
        risk: Some(format!("{:?}", tool.risk).to_lowercase()),
        offered: true,
        why: None,
        trusted: program.is_some().then_some(is_trusted),
        program,
    }
}

fn write(line: &ToolListing, out: &mut dyn Write) -> std::io::Result<()> {
    let ToolListing { name, from, category, risk, why, program, trusted, .. } = line;
    let word = |word: &Option<String>| word.clone().unwrap_or_default();
    let mut text = match why {
        Some(why) => format!("left out: {why}"),
        None => {
            let (category, risk) = (word(category), word(risk));
            format!("{:<4}  {category:<6}  {risk} risk", from.unwrap_or_default())
        }
    };
    if let Some(program) = program {
        text.push_str(&format!(", runs {program}"));
    }
    match trusted {
        Some(true) => text.push_str(", trusted"),
        Some(false) => text.push_str(", not trusted: run `agentry trust` to review it"),
        None => {}
    }
    writeln!(out, "{:<16}  {}", visible_line(name), visible_line(&text))
}
