//! `agentry check`: all findings, each with excerpt, caret, code and fix.
//!
//! Exit 0: no errors. Exit 1: errors. Exit 2: the command was wrong.
//!
//! Must never: stop at the first defect, or change a file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use agentry_agentfile::diagnostic::{Diagnostic, DiagnosticCode, FindingText, Findings, Severity};
use agentry_agentfile::file_tree::lies_in;
use agentry_agentfile::library::Library;
use agentry_agentfile::skill::SkillLevel;
use agentry_runtime::definitions::project_loader::{LoadedProject, is_flag, is_of_home};
use clap::{Args, ValueEnum};

use super::OutputFormat;
use crate::cli_context::CliContext;
use crate::diagnostics::{self, FindingCounts, plural};
use crate::fault::Fault;

#[derive(Args)]
pub(crate) struct Options {
    /// Directories or files to check
    #[arg(default_value = ".")]
    paths: Vec<PathBuf>,
    /// Output format of the findings
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// The rules for reading skills
    #[arg(long, value_enum, default_value_t = SkillLevelArg::Extended)]
    skills: SkillLevelArg,
}

/// Rules for reading skills.
#[derive(Clone, Copy, ValueEnum)]
enum SkillLevelArg {
    /// The Agent Skills specification; deviations are errors
    Spec,
    /// With our extensions; tolerant
    Extended,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let level = match options.skills {
        SkillLevelArg::Spec => SkillLevel::Spec,
        SkillLevelArg::Extended => SkillLevel::Extended,
    };
    let mut all = Findings::default();
    let mut only: Vec<Option<String>> = Vec::new();
    let mut tally = CheckCounts::default();
    for path in &options.paths {
        let loaded = host.load(path, level)?;
        let LoadedProject { library, mut findings, only: below, .. } = loaded;
        tally.add(&library, below.as_deref());
        let nothing = library.is_empty() && library.mcp.is_empty() && library.rules.is_none();
        if nothing && !findings.has_errors() && library.settings.all().is_empty() {
            let text = FindingText::new("no agent, skill, task or setting was found here")
                .help("create an agent with `agentry init`, or name another directory");
            findings.about(DiagnosticCode::NothingHere, path.display().to_string(), text);
        }
        all.append(findings);
        only.push(below);
    }
    if options.strict {
        all.promote_warnings();
    }
    let (own, shown): (Vec<&Diagnostic>, Vec<&Diagnostic>) = all
        .sorted()
        .into_iter()
        .filter(|one| is_wanted(&one.file, &only))
        .partition(|one| is_of_home(&one.file) && one.code != DiagnosticCode::DuplicateId);
    let mut out = crate::output::stdout().lock();
    let count = match options.format {
        OutputFormat::Json => diagnostics::json(&shown, &mut out)?,
        OutputFormat::Text => {
            let count = diagnostics::text(&all, &shown, &mut out)?;
            if !own.is_empty() {
                let number = plural(own.len(), "finding");
                writeln!(out, "your own packs have {number}; `agentry check ~` shows them")?;
            }
            writeln!(out, "{}", summary(count, &tally))?;
            count
        }
    };
    // Errors beyond the limit of findings per file are not shown, but they count.
    let mut files = all.not_shown().map(|(file, _)| file);
    let counts = |file: &str| is_wanted(file, &only) && !is_of_home(file);
    let is_hidden = files.any(|file| counts(file) && all.has_errors_in(file));
    let is_of_flag = |one: &&&Diagnostic| is_flag(&one.file) && one.severity == Severity::Error;
    if shown.iter().find(is_of_flag).is_some() {
        return Ok(ExitCode::from(2));
    }
    Ok(if count.errors == 0 && !is_hidden { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns true if findings of a file are shown; a part of a pack shows only its own findings.
fn is_wanted(file: &str, only: &[Option<String>]) -> bool {
    only.iter().any(|below| below.as_deref().is_none_or(|below| lies_in(file, below)))
}

#[derive(Default)]
struct CheckCounts {
    agents: usize,
    skills: usize,
    tasks: usize,
}

impl CheckCounts {
    fn add(&mut self, library: &Library, only: Option<&str>) {
        let counts =
            |file: &str| !is_of_home(file) && only.is_none_or(|below| lies_in(file, below));
        let own = library.own_skills.values().flatten();
        let skills = library.skills.values().chain(own);
        let tasks = library.tasks.values().filter_map(|task| task.steps.first());
        let broken =
            |files: &BTreeMap<String, String>| files.values().filter(|file| counts(file)).count();
        self.agents += library.agents.values().filter(|agent| counts(&agent.directory)).count()
            + broken(&library.broken_agents);
        self.skills += skills.filter(|skill| counts(&skill.body.origin.file)).count()
            + broken(&library.broken_skills);
        self.tasks += tasks.filter(|step| counts(&step.body.origin.file)).count()
            + broken(&library.broken_tasks);
    }
}

fn summary(count: FindingCounts, tally: &CheckCounts) -> String {
    let what = format!(
        "{}, {}, {}",
        plural(tally.agents, "agent"),
        plural(tally.skills, "skill"),
        plural(tally.tasks, "task")
    );
    let findings: Vec<String> =
        [(count.errors, "error"), (count.warnings, "warning"), (count.notes, "note")]
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, noun)| plural(number, noun))
            .collect();
    if findings.is_empty() {
        format!("checked {what}: no findings")
    } else {
        format!("checked {what}: {}", findings.join(", "))
    }
}
