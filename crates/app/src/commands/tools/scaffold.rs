//! `agentry tools new`: writes a tool from a template.
//!
//! Must never: overwrite a file, or trust files that the owner did not write.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use agentry_agentfile::agent::Agent;
use agentry_agentfile::limits::TOOL_NAME_CHARS_MAX;
use agentry_agentfile::program::{self, edit};
use agentry_agentfile::skill::SkillLevel;
use agentry_agentfile::source::SourceText;
use agentry_protocol::tool;
use agentry_runtime::Definitions;
use agentry_runtime::definitions::agent_choice::choose_agent;
use agentry_runtime::definitions::project_loader::LoadedProject;
use agentry_runtime::definitions::trust::{TrustStatus, trust_arguments};
use clap::{Args, ValueEnum};

use super::AgentDirOptions;
use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::confirmation::ConfirmationKeeper;
use crate::diagnostics::visible_line;
use crate::fault::{Blame, Fault};
use crate::trust::TrustReview;

/// Files that are reviewed together with programs but run nothing by themselves.
const DEFINITIONS: [&str; 4] = ["agent.yml", "agentry.toml", "tool-access.json", ".mcp.json"];

#[derive(Args)]
pub(crate) struct Options {
    /// The tool's name: letters, digits, `_` and `-`
    name: String,
    /// The language of the program
    #[arg(long, value_enum)]
    lang: Language,
    #[command(flatten)]
    whose: AgentDirOptions,
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    /// Any POSIX shell
    Sh,
    /// Python 3
    Python,
    /// Ruby
    Ruby,
    /// Node
    Node,
}

impl Language {
    /// Returns the file extension and the template of a tool.
    fn template(self) -> (&'static str, &'static str) {
        match self {
            Self::Sh => ("sh", include_str!("../../../../../sdk/templates/tool.sh")),
            Self::Python => ("py", include_str!("../../../../../sdk/templates/tool.py")),
            Self::Ruby => ("rb", include_str!("../../../../../sdk/templates/tool.rb")),
            Self::Node => ("js", include_str!("../../../../../sdk/templates/tool.js")),
        }
    }
}

const SCHEMA: &str = include_str!("../../../../../sdk/templates/tool.yml");

pub(super) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let name = options.name.as_str();
    refuse_name(name)?;
    let ledger = bootstrap::open_ledger(host)?;
    let directory = bootstrap::enter_project(&options.whose.dir)?;
    let (loaded, definitions) = read(host, &directory)?;
    let agent = choose_agent(&loaded, Path::new("."), options.whose.agent.as_deref())?;
    let home = definitions.directory(agent);
    let manifest = home.join(program::FILE);
    if !manifest.is_file() {
        let what = format!("the agent `{}` has no {}", agent.id, program::FILE);
        return Err(Fault::new(Blame::Caller, what)
            .hint("only an agent with this file can list own tools; `agentry init` creates one"));
    }
    let keeping = ConfirmationKeeper::before(&ledger, &loaded)?;
    let was_owners = was_owners(&TrustReview::at(host, &ledger, &loaded, &definitions), agent)?;
    refuse_existing(&home.join("tools"), name)?;
    let (ending, text) = options.lang.template();
    let schema = home.join(format!("tools/{name}.yml"));
    let program = home.join(format!("tools/{name}.{ending}"));
    write(&schema, &SCHEMA.replace("{{name}}", name), 0o644)?;
    write(&program, &text.replace("{{name}}", name), 0o755)?;
    let mut out = crate::output::stdout().lock();
    writeln!(out, "wrote tools/{name}.yml and tools/{name}.{ending}")?;
    if !listed(&manifest, name)? {
        let line = format!("{name} is not listed yet; add it to {}:", manifest.display());
        writeln!(out, "{}\n  tools:\n    custom: [{name}]", visible_line(&line))?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "listed {name} under tools.custom in agent.yml")?;
    let (loaded, definitions) = read(host, &directory)?;
    let agent = choose_agent(&loaded, Path::new("."), Some(agent.id.as_str()))?;
    let review = TrustReview::at(host, &ledger, &loaded, &definitions);
    settle(&review, agent, was_owners, &mut out)?;
    keeping.after(host, &ledger, &loaded)?;
    let here = if options.whose.dir.as_os_str() == "." {
        String::new()
    } else {
        format!(" -C {}", visible_line(&options.whose.dir.display().to_string()))
    };
    writeln!(out, "try it: agentry tools run {name}{here} --args '{{\"text\": \"world\"}}'")?;
    Ok(ExitCode::SUCCESS)
}

/// Trusts the new tool if all programs were trusted before; else asks for a review.
fn settle(
    review: &TrustReview<'_>,
    agent: &Agent,
    was_owners: bool,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    if was_owners {
        review.record(review.seen(agent)?)
    } else {
        let place = trust_arguments(review.definitions, agent);
        writeln!(out, "it does not run until you review all programs: agentry trust {place}")?;
        Ok(())
    }
}

/// Returns true if all programs were trusted before, or if there were none.
fn was_owners(looking: &TrustReview<'_>, agent: &Agent) -> Result<bool, Fault> {
    Ok(match looking.standing(agent)? {
        TrustStatus::Trusted(_) => true,
        TrustStatus::Changed(_) | TrustStatus::Unseen => false,
        // A program without a definition may still be read by the new tool.
        TrustStatus::Nothing => {
            let directory = looking.definitions.directory(agent);
            let Ok(manifest) = agentry_runtime::definitions::trust::read(&directory, agent) else {
                return Ok(false);
            };
            let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
            manifest.files.keys().all(|path| DEFINITIONS.contains(&name(path).as_str()))
        }
    })
}

fn read(host: &CliContext, directory: &Path) -> Result<(LoadedProject, Definitions), Fault> {
    let loaded = host.load(Path::new("."), SkillLevel::Extended)?;
    let definitions =
        bootstrap::definitions(host, &loaded, directory, bootstrap::wanted_level(&loaded))?;
    Ok((loaded, definitions))
}

fn refuse_name(name: &str) -> Result<(), Fault> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !begins_well || !name.chars().all(is_plain) || name.len() > TOOL_NAME_CHARS_MAX {
        let what = format!("`{name}` cannot be the name of a tool");
        return Err(Fault::new(Blame::Caller, what).hint(format!(
            "use up to {TOOL_NAME_CHARS_MAX} letters, digits, `_` and `-`, beginning with a letter"
        )));
    }
    match tool::find_known_tool(name) {
        None => Ok(()),
        Some(known) => {
            let what = format!("`{name}` is a name of the host tool `{}`", known.name);
            Err(Fault::new(Blame::Caller, what).hint("give your tool another name"))
        }
    }
}

fn refuse_existing(tools: &Path, name: &str) -> Result<(), Fault> {
    let entries = match fs::read_dir(tools) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot_write(tools, &error)),
    };
    for entry in entries {
        let entry = entry.map_err(|error| cannot_write(tools, &error))?.file_name();
        let entry = entry.to_string_lossy();
        if entry == name || entry.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')) {
            let what = format!("{} already exists", tools.join(&*entry).display());
            return Err(Fault::new(Blame::Caller, what)
                .hint("choose another name, or remove it; nothing was written"));
        }
    }
    Ok(())
}

/// Writes a new file with a mode; fails if the file exists.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), Fault> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(|error| cannot_write(directory, &error))?;
    let opened = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| cannot_write(path, &error))
}

/// Lists the tool in the agent's definition. Returns false if that would change more of the file.
fn listed(manifest: &Path, name: &str) -> Result<bool, Fault> {
    let text = fs::read_to_string(manifest).map_err(|error| {
        Fault::new(Blame::Caller, format!("cannot read {}: {error}", manifest.display()))
    })?;
    let source = SourceText::new(program::FILE, text);
    let Some(text) = edit::with_custom_tool(&source, name) else { return Ok(false) };
    fs::write(manifest, text).map_err(|error| cannot_write(manifest, &error))?;
    Ok(true)
}

fn cannot_write(path: &Path, error: &io::Error) -> Fault {
    Fault::new(Blame::Machine, format!("cannot write {}: {error}", path.display()))
}
