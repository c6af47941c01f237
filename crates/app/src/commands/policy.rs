//! `agentry policy explain`: the verdict of each stage about a call, and the deciding rule.
//!
//! Exit 0: the call would be allowed. Exit 3: denied. Exit 4: it would need approval.
//!
//! Must never: run the call.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use agentry_agentfile::agent::Agent;
use agentry_agentfile::diagnostic::suggestion;
use agentry_agentfile::library::Library;
use agentry_agentfile::skill::SkillLevel;
use agentry_agentfile::task::Task;
use agentry_kernel::authority::{self, Authority};
use agentry_protocol::call_facts::CallFacts;
use agentry_protocol::confinement::Confinement;
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolCall;
use agentry_protocol::verdict::{Finding, Ruling, Verdict};
use agentry_protocol::{CallId, SkillId};
use agentry_runtime::host::tool_source::{ToolGrant, ToolScope};
use agentry_runtime::turn::call_facts;
use agentry_tools::{Toolset, Workspace};
use clap::Args;
use serde_json::{Value, json};

use super::{AgentSelection, OutputFormat, show_agent};
use crate::bootstrap;
use crate::cli_context::{CliContext, tool_registry};
use crate::diagnostics::visible_line;
use crate::fault::{Blame, Fault};

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    which: AgentSelection,
    /// The tool, by any of its names
    #[arg(long, value_name = "NAME")]
    tool: String,
    /// The arguments of the call, as JSON
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: String,
    /// The task that the call belongs to
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// The file of the task step [default: the first step]
    #[arg(long, value_name = "FILE", requires = "task")]
    step: Option<String>,
    /// An active skill (repeatable, in the order of loading)
    #[arg(long = "skill", value_name = "ID")]
    skills: Vec<String>,
    /// Output format of the report
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let tool = ToolName::canonical(&options.tool);
    let input = serde_json::from_str(&options.args).map_err(|error| {
        Fault::new(Blame::Caller, format!("--args is not JSON: {error}"))
            .hint("write the arguments as an object, such as {\"command\": \"git status\"}")
    })?;
    let input = agentry_tools::normalize_arguments(&tool, input);
    let call = ToolCall { id: CallId::from_number(0), tool, input };
    let loaded = host.load(&options.which.dir, SkillLevel::Extended)?;
    let agent = show_agent::choose(&loaded, &options.which)?;
    let step = step(&loaded.library, options)?;
    let level = bootstrap::wanted_level(&loaded);
    let definitions = bootstrap::definitions(host, &loaded, &loaded.root, level)?;
    let scope = ToolScope { definitions: &definitions, agent, step };
    let tools = tool_registry(Arc::new(Toolset::builtin()));
    let toolset = tools.toolset(&scope).map_err(bootstrap::fault)?;
    let specs: Vec<_> = toolset.granted(ToolGrant::Listed).cloned().collect();
    let confinement = Confinement { level, ..Confinement::most_restricted() };
    let mut authority = authority::of_agent(agent, &loaded.library, &specs, step, confinement);
    set_place(&mut authority, host, &options.which.dir);
    let active = active(&authority, options)?;
    let findings = authority.chain_at(&call, &facts(&options.which.dir, &call), &active);
    let verdict = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Deny);
    let ruling = Ruling { verdict, findings };
    let mut out = crate::output::stdout().lock();
    match options.format {
        OutputFormat::Json => {
            let value = as_json(agent, &call, &ruling);
            writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        }
        OutputFormat::Text => write_text(&mut out, agent, &call, &ruling)?,
    }
    Ok(ExitCode::from(match verdict {
        Verdict::Allow => 0,
        Verdict::Deny => 3,
        Verdict::Ask => 4,
    }))
}

/// Returns the requested task and step: the first step unless a file is named.
fn step<'a>(library: &'a Library, options: &Options) -> Result<Option<(&'a Task, usize)>, Fault> {
    let Some(id) = &options.task else { return Ok(None) };
    let Some(task) = library.tasks.get(id) else {
        if let Some(file) = library.broken_tasks.get(id) {
            let what = format!("the task `{id}` ({file}) does not load");
            return Err(Fault::new(Blame::Agent, what).hint("`agentry check` shows why"));
        }
        let known: Vec<&str> = library.tasks.keys().map(String::as_str).collect();
        let what = format!("{} has no task `{id}`", options.which.dir.display());
        return Err(Fault::new(Blame::Caller, what).hint(suggestion(id, &known)));
    };
    let Some(file) = &options.step else { return Ok(Some((task, 0))) };
    let Some(at) = task.steps.iter().position(|step| step.file == *file) else {
        let known: Vec<&str> = task.steps.iter().map(|step| step.file.as_str()).collect();
        let what = format!("the task `{id}` has no step `{file}`");
        return Err(Fault::new(Blame::Caller, what).hint(suggestion(file, &known)));
    };
    Ok(Some((task, at)))
}

fn active(authority: &Authority, options: &Options) -> Result<Vec<SkillId>, Fault> {
    let active: Vec<SkillId> = options.skills.iter().map(SkillId::new).collect();
    match active.iter().find(|id| !authority.skills.contains_key(*id)) {
        None => Ok(active),
        Some(id) => {
            let known: Vec<&str> = authority.skills.keys().map(SkillId::as_str).collect();
            let what = format!("the agent has no skill `{id}`");
            Err(Fault::new(Blame::Caller, what).hint(suggestion(id.as_str(), &known)))
        }
    }
}

/// Sets the named directory as the workspace, and the user's home.
fn set_place(authority: &mut Authority, host: &CliContext, directory: &Path) {
    let full = directory.canonicalize();
    let workspace = full.as_deref().unwrap_or(directory);
    authority.place.workspace = workspace.display().to_string();
    let home = host.environment.home.as_ref();
    authority.place.home = home.map(|home| home.display().to_string());
}

/// Returns the resolved paths of the call, as the tools would resolve them.
fn facts(directory: &Path, call: &ToolCall) -> CallFacts {
    let paths = Workspace::open(directory).map(|workspace| call_facts::paths(&workspace, call));
    CallFacts { paths: paths.unwrap_or_default(), ..CallFacts::default() }
}

fn as_json(agent: &Agent, call: &ToolCall, ruling: &Ruling) -> Value {
    json!({
        "agent": agent.id,
        "tool": call.tool,
        "args": call.input,
        "verdict": ruling.verdict,
        "stage": ruling.deciding().map(|finding| finding.stage),
        "findings": ruling.findings,
    })
}

fn write_text(
    out: &mut dyn Write,
    agent: &Agent,
    call: &ToolCall,
    ruling: &Ruling,
) -> std::io::Result<()> {
    writeln!(out, "agent  {}", visible_line(agent.id.as_str()))?;
    writeln!(
        out,
        "call   {} {}\n",
        visible_line(call.tool.as_str()),
        visible_line(&call.input.to_string())
    )?;
    for finding in &ruling.findings {
        let Finding { stage, verdict, why, rule } = finding;
        let rule = rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
        let (stage, verdict) = (stage.to_string(), verdict.to_string());
        writeln!(out, "{stage:<12} {verdict:<6} {}", visible_line(&format!("{why}{rule}")))?;
    }
    let stage = ruling.deciding().map(|finding| format!(", by the stage {}", finding.stage));
    let stage = stage.filter(|_| ruling.verdict != Verdict::Allow).unwrap_or_default();
    writeln!(out, "\nverdict: {}{stage}", ruling.verdict)
}
