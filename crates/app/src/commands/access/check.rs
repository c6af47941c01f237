//! `agentry access check`: all findings about the access policies.
//!
//! Exit 0: no errors. Exit 2: errors; the policies allow no access until they are fixed.
//!
//! Must never: change a file.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use agentry_agentfile::access::{PolicySet, STOCK, bundled_policies};
use agentry_agentfile::diagnostic::{Diagnostic, Findings};
use agentry_agentfile::skill::SkillLevel;
use clap::Args;

use crate::cli_context::CliContext;
use crate::commands::OutputFormat;
use crate::diagnostics::{self, plural};
use crate::fault::Fault;
use crate::timezone;

#[derive(Args)]
pub(crate) struct Options {
    /// The project directory
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Output format of the findings
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let loaded = host.load(&options.dir, SkillLevel::Extended)?;
    if let Some(fault) = loaded.settings_error().map(Fault::from) {
        return Err(fault.in_a_definition());
    }
    timezone::of(&loaded.library.settings)?;
    report(&loaded.library.access, &loaded.findings, options.format)
}

/// Prints the findings about policies. Returns exit code 2 if there are errors, else 0.
pub(super) fn report(
    rules: &PolicySet,
    all: &Findings,
    format: OutputFormat,
) -> Result<ExitCode, Fault> {
    let is_about = |one: &&Diagnostic| {
        rules.files().any(|file| *file == *one.file)
            || rules.broken.contains(&one.file)
            || STOCK.iter().any(|(file, _)| **file == *one.file)
    };
    let shown: Vec<&Diagnostic> = all.sorted().into_iter().filter(is_about).collect();
    let mut out = crate::output::stdout().lock();
    let count = match format {
        OutputFormat::Json => diagnostics::json(&shown, &mut out)?,
        OutputFormat::Text => {
            let count = diagnostics::text(all, &shown, &mut out)?;
            let parts =
                [(count.errors, "error"), (count.warnings, "warning"), (count.notes, "note")];
            let found = parts.into_iter().filter(|(number, _)| *number > 0);
            let found: Vec<String> = found.map(|(number, noun)| plural(number, noun)).collect();
            let found = if found.is_empty() { "no findings".to_owned() } else { found.join(", ") };
            let files = plural(rules.files().count(), "file");
            let policies = plural(rules.own.len(), "policy").replace("policys", "policies");
            let what = if rules.broken.is_empty() {
                format!("{policies} of yours in {files} and {} built-in", bundled_policies().len())
            } else {
                files
            };
            let so =
                if count.errors > 0 { "; they allow no access until these are fixed" } else { "" };
            writeln!(out, "checked {what}: {found}{so}")?;
            count
        }
    };
    let is_broken = count.errors > 0 || !rules.broken.is_empty();
    Ok(if is_broken { ExitCode::from(2) } else { ExitCode::SUCCESS })
}
