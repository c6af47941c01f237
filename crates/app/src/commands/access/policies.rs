//! `agentry access policies`: see policies, and change which hold.
//!
//! Must never: write policies of which one has an error, or change more of a file than was asked for.

mod change;
mod list;

use std::path::PathBuf;
use std::process::ExitCode;

use agentry_agentfile::access;
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::{FileContent, FileTree, FileTreeEntry};
use agentry_runtime::tree_reader;
use clap::{Args, Subcommand};

use super::check;
use crate::cli_context::{CliContext, shown};
use crate::commands::OutputFormat;
use crate::fault::{Blame, Fault};
use crate::policies::lint_policies;

#[derive(Subcommand)]
pub(crate) enum PoliciesCommand {
    /// List all policies, yours and those that ship
    List(PolicyListOptions),
    /// Print a policy as it stands in its file
    Show(PolicyNameOptions),
    /// Copy a file of policies into the project, if all policies hold together with it
    Apply(ApplyOptions),
    /// Switch a policy on, in its file
    Enable(PolicyNameOptions),
    /// Switch a policy off, in its file
    Disable(PolicyNameOptions),
    /// Say what is wrong with a file or a directory of policies that are not used yet
    Validate(ValidateOptions),
}

#[derive(Args)]
pub(crate) struct PolicyListOptions {
    /// The first in rank first, instead of by name
    #[arg(long)]
    priority: bool,
    /// The project
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct PolicyNameOptions {
    /// The policy
    name: String,
    /// The project
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct ApplyOptions {
    /// The file
    file: PathBuf,
    /// The project
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct ValidateOptions {
    /// The file or directory
    path: PathBuf,
    /// How findings are printed
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

/// What stands in the file or directory is held together with the policies that ship.
fn validate(options: &ValidateOptions) -> Result<ExitCode, Fault> {
    let (rules, findings) = read_alone(&options.path)?;
    if rules.files().next().is_none() && rules.broken.is_empty() {
        let what = format!("there is no policy in {}", options.path.display());
        return Err(Fault::new(Blame::Caller, what)
            .hint("name a file that ends in .yml, .yaml or .json, or a directory with some"));
    }
    check::report(&rules, &findings, options.format)
}

/// The policies of a file, of a directory of such files, or of a project, and nobody else's.
pub(super) fn read_alone(path: &std::path::Path) -> Result<(access::PolicySet, Findings), Fault> {
    let cannot = |error: std::io::Error| {
        Fault::new(Blame::Caller, format!("cannot read {}: {error}", path.display()))
            .hint("name a file or directory that exists and that you may read")
    };
    let mut findings = Findings::default();
    let metadata = std::fs::metadata(path).map_err(cannot)?;
    let rules = if metadata.is_file() {
        let mut tree = FileTree::new("");
        let bytes = std::fs::read(path).map_err(cannot)?;
        tree.insert(shown(path), FileTreeEntry::File(FileContent::new(bytes, false)));
        access::read_directory(&tree, &mut findings)
    } else {
        let project = tree_reader::read_project(path, &shown(path)).map_err(cannot)?;
        match project.below(&access::directory()).next() {
            Some(_) => access::read(&[&project], &mut findings),
            None => {
                let tree = tree_reader::read_whole(path, &shown(path)).map_err(cannot)?;
                access::read_directory(&tree, &mut findings)
            }
        }
    };
    lint_policies(&rules, &mut findings);
    Ok((rules, findings))
}
