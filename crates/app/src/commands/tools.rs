//! `agentry tools`: what an agent can call; its own tools made and tried.
//!
//! Must never: let a tool do more here than in a turn.

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
    /// All tools of an agent: the host's and its own, and why those are left out that it does not get
    List(list::Options),
    /// Call one of the agent's own tools, in the sandbox, exactly as a turn would
    #[command(after_help = "\
Exit codes: 0 the tool answered, 1 it did not work, 2 the arguments do not fit, 3 it may not run.
Only tools that the agent brings can be tried; those of the host are called in turns.

Example:
  agentry tools run fortune --args '{\"sign\": \"leo\"}'")]
    Run(tool_run::Options),
    /// Write a tool to begin with: tools/NAME.yml and a program beside it
    New(scaffold::Options),
}

/// Which agent is meant.
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
