//! `agentry tools`: lists an agent's tools; creates and tries its own.
//!
//! Must never: give a tool more permissions than in a turn.

mod list;
mod scaffold;
mod tool_run;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli_context::CliContext;
use crate::fault::Fault;

#[derive(Subcommand)]
pub(crate) enum ToolsCommand {
    /// List an agent's tools, and why others are left out
    List(list::Options),
    /// Call an agent's own tool in the sandbox, as a turn would
    #[command(after_help = "\
Exit codes: 0 the tool answered, 1 it failed, 2 invalid arguments, 3 the tool may not run.
Only the agent's own tools can be tried, not those of the host.

Examples:
  agentry tools run fortune --args '{\"sign\": \"leo\"}'")]
    Run(tool_run::Options),
    /// Create a tool: tools/NAME.yml and a program beside it
    New(scaffold::Options),
}

/// Selection of an agent by directory and id.
#[derive(Args)]
struct AgentDirOptions {
    /// The agent's directory, or a project that holds agents
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// The agent, if the directory holds several
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

pub(crate) fn run(host: &CliContext, what: &ToolsCommand) -> Result<ExitCode, Fault> {
    match what {
        ToolsCommand::List(options) => list::run(host, options),
        ToolsCommand::Run(options) => tool_run::run(host, options),
        ToolsCommand::New(options) => scaffold::run(host, options),
    }
}
