//! `agentry config show`: the effective settings, and the origin of each.
//!
//! Must never: show a secret; settings hold none.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use agentry_agentfile::diagnostic::Findings;
use agentry_runtime::definitions::path_target::shown;
use agentry_runtime::definitions::tree_reader;
use clap::Args;
use serde_json::{Value, json};

use super::OutputFormat;
use crate::address_trust;
use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::diagnostics;
use crate::fault::{Blame, Fault};

#[derive(Args)]
pub(crate) struct Options {
    /// The project directory
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Show the origin of each value
    #[arg(long)]
    origin: bool,
    /// Output format of the settings
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let dir = &options.dir;
    let project = tree_reader::read_project(dir, &shown(dir)).map_err(|error| {
        Fault::new(Blame::Caller, format!("cannot read {}: {error}", dir.display()))
    })?;
    let mut findings = Findings::default();
    let settings = host.settings(&project, &mut findings);
    let trusts = bootstrap::address_trust(host, dir)?;
    let untrusted = address_trust::untrusted(&host.environment, &settings, &trusts);
    let mut out = crate::output::stdout().lock();
    let mut err = crate::output::stderr().lock();
    diagnostics::text(&findings, &findings.sorted(), &mut err)?;
    match options.format {
        OutputFormat::Json => {
            let all: serde_json::Map<String, Value> = settings
                .all()
                .into_iter()
                .map(|(key, value, origin)| (key, json!({ "value": value, "origin": origin })))
                .collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        OutputFormat::Text => {
            let all = settings.all();
            if all.is_empty() {
                writeln!(out, "# nothing is set; the built-in values apply")?;
            }
            for (key, value, origin) in all {
                let provider = key.split('.').nth(1).filter(|_| key.starts_with("providers."));
                let is_refused = untrusted.iter().any(|one| {
                    provider == Some(one.provider.as_str()) && one.origin.file == origin.file
                });
                let note = if is_refused { ", not trusted, so not used" } else { "" };
                if options.origin || is_refused {
                    writeln!(out, "{key} = {value}  # {origin}{note}")?
                } else {
                    writeln!(out, "{key} = {value}")?
                }
            }
        }
    }
    trusts.warn(&untrusted);
    Ok(if findings.has_errors() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
