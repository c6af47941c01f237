//! `agentry access policies`: lists, shows, validates, applies and switches policies.
//!
//! Must never: write a set of policies that has an error, or change more of a file than requested.

mod change;
mod list;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::check;
use super::policy_files::read_policy_files;
use crate::cli_context::CliContext;
use crate::commands::OutputFormat;
use crate::fault::{Blame, Fault};

#[derive(Subcommand)]
pub(crate) enum PoliciesCommand {
    /// List all policies, yours and the built-in ones
    List(PolicyListOptions),
    /// Print a policy as written in its file
    Show(PolicyNameOptions),
    /// Copy a file of policies into the project, after a check
    Apply(ApplyOptions),
    /// Switch a policy on, in its file
    Enable(PolicyNameOptions),
    /// Switch a policy off, in its file
    Disable(PolicyNameOptions),
    /// Check a file or directory of policies not yet in use
    Validate(ValidateOptions),
}

#[derive(Args)]
pub(crate) struct PolicyListOptions {
    /// Sort by priority instead of by name
    #[arg(long)]
    priority: bool,
    /// The project directory
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct PolicyNameOptions {
    /// The name of the policy
    name: String,
    /// The project directory
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct ApplyOptions {
    /// The file of policies
    file: PathBuf,
    /// The project directory
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct ValidateOptions {
    /// The file or directory of policies
    path: PathBuf,
    /// Output format of the findings
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(host: &CliContext, what: &PoliciesCommand) -> Result<ExitCode, Fault> {
    match what {
        PoliciesCommand::List(options) => list::run(host, options),
        PoliciesCommand::Show(options) => list::show(host, options),
        PoliciesCommand::Apply(options) => change::apply(host, options),
        PoliciesCommand::Enable(options) => change::switch(host, options, true),
        PoliciesCommand::Disable(options) => change::switch(host, options, false),
        PoliciesCommand::Validate(options) => validate(options),
    }
}

/// Checks the policies of a file or directory together with the built-in policies.
fn validate(options: &ValidateOptions) -> Result<ExitCode, Fault> {
    let (rules, findings) = read_policy_files(&options.path)?;
    if rules.files().next().is_none() && rules.broken.is_empty() {
        let what = format!("there is no policy in {}", options.path.display());
        return Err(Fault::new(Blame::Caller, what).hint(
            "name a file that ends in .yml, .yaml or .json, or a directory with such files",
        ));
    }
    check::report(&rules, &findings, options.format)
}
