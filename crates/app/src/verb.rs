//! The command line: one file for each verb.
//!
//! Must never: do what a verb does; it only says which there are.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::fault::Fault;
use crate::host::Host;

mod check;
mod completions;
mod config;
mod explain;
mod init;
mod schema;
mod show_agent;
mod show_prompt;

const EXAMPLES: &str = "\
Examples:
  agentry init my-agent --profile coder     make an agent from a bundled profile
  agentry check my-agent                    say what is wrong with it
  agentry show agent my-agent               show what it resolves to, and why
  agentry show prompt my-agent              show its prompt, section by section
  agentry explain E0401                     explain a finding";

/// Runs agents defined as files in git: governed, confined, durable, replayable.
#[derive(Parser)]
#[command(name = "agentry", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Override a setting, such as agent.model=gpt-4.1 (may be given several times)
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE", global = true)]
    config: Vec<String>,
    /// When to use color
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true)]
    pub(crate) color: Color,
    #[command(subcommand)]
    verb: Verb,
}

/// When to use color.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Makes it hold for all output.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

#[derive(Subcommand)]
enum Verb {
    /// Make an agent in a new directory, with git history
    Init(init::Options),
    /// Say everything that is wrong with agents, skills, tasks and settings
    Check(check::Options),
    /// Show what files resolve to
    #[command(subcommand)]
    Show(Show),
    /// Explain the code of a finding
    Explain(explain::Options),
    /// Print the JSON Schema of a definition file, for editors
    Schema(schema::Options),
    /// Look at the settings
    #[command(subcommand)]
    Config(Config),
    /// Print a completion script for a shell
    Completions(completions::Options),
}

#[derive(Subcommand)]
enum Show {
    /// The resolved agent, with the origin of each value
    Agent(show_agent::Options),
    /// The prompt: its sections, their size, and the text
    Prompt(show_prompt::Options),
}

#[derive(Subcommand)]
enum Config {
    /// All settings that were made, and which layer made each
    Show(config::Options),
}

/// How a result is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Which agent is meant.
#[derive(Args)]
struct Which {
    /// The agent's directory, or a project that holds agents
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The agent, if the directory holds several
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(cli: Cli) -> Result<ExitCode, Fault> {
    let host = Host::new(cli.config)?;
    match cli.verb {
        Verb::Init(options) => init::run(&host, options),
        Verb::Check(options) => check::run(&host, &options),
        Verb::Show(Show::Agent(options)) => show_agent::run(&host, &options),
        Verb::Show(Show::Prompt(options)) => show_prompt::run(&host, &options),
        Verb::Explain(options) => explain::run(&options),
        Verb::Schema(options) => schema::run(&options),
        Verb::Config(Config::Show(options)) => config::run(&host, &options),
        Verb::Completions(options) => completions::run(&options),
    }
}
