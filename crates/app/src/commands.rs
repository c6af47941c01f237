//! The command line: one file for each command.
//!
//! Must never: do the work of a command; it only declares and dispatches commands.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::cli_context::CliContext;
use crate::fault::Fault;

mod access;
mod answer;
mod audit;
mod cancel;
mod chat;
mod check;
mod compact;
mod completions;
mod config;
mod console;
mod doctor;
mod entities;
mod explain;
mod fork;
mod grants;
mod help;
mod hooks;
mod init;
mod ledger;
mod model_fetch;
mod models;
mod policy;
mod pull;
mod replay;
mod requests;
mod resume;
mod run;
mod sandbox;
mod schema;
mod secret;
mod send;
mod serve;
mod show_agent;
mod show_prompt;
mod show_record;
mod stdio;
mod token;
mod tools;
mod trace;
mod trust;

/// Runs agents defined as files in git: governed, confined, durable, replayable.
#[derive(Parser)]
#[command(name = "agentry", version, after_help = help::AGENTRY)]
pub(crate) struct Cli {
    /// Set a setting, such as agent.model=gpt-4.1 (repeatable)
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE", global = true)]
    config: Vec<String>,
    /// When to use color
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true)]
    pub(crate) color: Color,
    #[command(subcommand)]
    verb: Option<CliCommand>,
}

impl Cli {
    /// Reads the command line; ends the process with help or an error if it is not to be run.
    pub(crate) fn read() -> Self {
        let command = Self::command();
        let template = help::template(&command);
        let mut matches = command.help_template(template).get_matches();
        Self::from_arg_matches_mut(&mut matches)
            .unwrap_or_else(|error| error.format(&mut Self::command()).exit())
    }
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
    /// Applies the choice to all output of this process.
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
enum CliCommand {
    /// Create an agent in a new directory, with git history
    #[command(after_help = help::INIT)]
    Init(init::Options),
    /// Chat with an agent in the terminal (default command)
    #[command(after_help = help::CHAT)]
    Chat(chat::Options),
    /// Run a prompt or a task to its end
    #[command(after_help = help::RUN)]
    Run(run::Options),
    /// Drive an agent from a program, in JSON lines
    #[command(after_help = help::STDIO)]
    Stdio(stdio::Options),
    /// Run the server: HTTP API, web console and channels
    #[command(after_help = help::SERVE)]
    Serve(serve::Options),
    /// Open the web console of the running server
    Console(console::Options),
    /// Create, list and revoke access tokens of the server
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Send a message to an agent as a channel would
    #[command(after_help = help::SEND)]
    Send(send::Options),
    /// Show how an event was handled, stage by stage
    Trace(trace::Options),
    /// Check agents, skills, tasks and settings for errors
    #[command(after_help = help::CHECK)]
    Check(check::Options),
    /// Resume paused or interrupted runs
    Resume(resume::Options),
    /// Cancel a run
    Cancel(cancel::Options),
    /// List the approvals that wait for an answer
    Approvals(answer::ApprovalListOptions),
    /// Answer an approval
    #[command(after_help = help::ANSWER)]
    Answer(answer::Options),
    /// List and answer requests for permission
    #[command(subcommand)]
    Requests(requests::RequestsCommand),
    /// Give people extra permissions for a time, and revoke them
    #[command(subcommand)]
    Grants(grants::GrantsCommand),
    /// Start a new session from an earlier turn
    Fork(fork::Options),
    /// Summarize older turns of a session to free context
    Compact(compact::Options),
    /// Replay a recorded run against the current code and files
    #[command(after_help = help::REPLAY)]
    Replay(replay::Options),
    /// Verify the ledger, or accept a loss of entries
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Show runs, sessions and turns, or a resolved agent
    #[command(after_help = help::SHOW)]
    Show(ShowRecordCommand),
    /// Check the sandbox and the ledger of this machine
    #[command(after_help = help::DOCTOR)]
    Doctor(doctor::Options),
    /// Try the sandbox, or explain what an agent may do in it
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Explain which rule decides about a tool call
    #[command(subcommand, after_help = help::POLICY)]
    Policy(PolicyCommand),
    /// Test, check, change and replay access policies
    #[command(subcommand, visible_alias = "acl", after_help = help::ACCESS)]
    Access(access::AccessCommand),
    /// List and change known people and their identities
    #[command(subcommand)]
    Entities(entities::EntitiesCommand),
    /// List, export and count access decisions
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Review and trust the programs that agents bring
    Trust(trust::Options),
    /// List an agent's tools; create and try its own
    #[command(subcommand, after_help = help::TOOLS)]
    Tools(tools::ToolsCommand),
    /// Register, inspect and switch event hooks
    ///
    /// The hooks of an agent's own turns live in its directory; `agentry show agent` lists them.
    #[command(subcommand, after_help = help::HOOKS)]
    Hooks(hooks::HooksCommand),
    /// Store secrets, and list who receives them
    #[command(subcommand, after_help = help::SECRET)]
    Secret(secret::SecretCommand),
    /// Show providers, their models and an agent's choice
    Models(models::Options),
    /// Download a model that runs on this machine
    Pull(pull::Options),
    /// Explain a diagnostic code, such as E0401
    Explain(explain::Options),
    /// Print the JSON Schema of a definition file
    Schema(schema::Options),
    /// Show the settings and where each was made
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    Completions(completions::Options),
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
struct ShowRecordCommand {
    #[command(subcommand)]
    what: Option<ShowCommand>,
    #[command(flatten)]
    record: show_record::Options,
}

#[derive(Subcommand)]
enum ShowCommand {
    /// Show the resolved agent, with the origin of each value
    Agent(show_agent::Options),
    /// Show the prompt: its sections, their sizes and the text
    Prompt(show_prompt::Options),
    /// Show a run: its steps, calls and outcomes
    Run(show_record::Options),
    /// Show a session: all entries of its turns
    Session(show_record::Options),
    /// Show a turn: its inputs and its moves
    Turn(show_record::Options),
}

#[derive(Subcommand)]
enum LedgerCommand {
    /// Verify that the ledger is unchanged and complete
    Verify(ledger::Options),
    /// Record that entries were lost, and continue without them
    AcceptLoss(ledger::AcceptOptions),
}

#[derive(Subcommand)]
enum SandboxCommand {
    /// Run a command in the sandbox
    Run(sandbox::SandboxRunOptions),
    /// Explain what an agent may read, write, reach and spend
    Explain(sandbox::SandboxExplainOptions),
}

#[derive(Subcommand)]
enum PolicyCommand {
    /// Show the verdict of each stage and the deciding rule
    Explain(policy::Options),
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Show all settings that are set, and which layer set each
    Show(config::Options),
}

/// Output format of a result.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Selection of an agent by directory and id.
#[derive(Args)]
struct AgentSelection {
    /// The agent's directory, or a project that holds agents
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The agent, if the directory holds several
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

/// Runs the command; without one, `chat`.
pub(crate) fn run(cli: Cli) -> Result<ExitCode, Fault> {
    let host = CliContext::new(cli.config);
    // Without a command, `agentry` starts a chat.
    let verb = cli.verb.unwrap_or_else(|| CliCommand::Chat(chat::Options::alone()));
    match verb {
        CliCommand::Chat(options) => chat::run(&host, options),
        CliCommand::Init(options) => init::run(&host, options),
        CliCommand::Run(options) => run::run(&host, options),
        CliCommand::Stdio(options) => stdio::run(&host, &options),
        CliCommand::Serve(options) => serve::run(&host, options),
        CliCommand::Console(options) => console::run(&host, &options),
        CliCommand::Token(tokens) => token::run(&host, tokens),
        CliCommand::Send(options) => send::run(&host, options),
        CliCommand::Trace(options) => trace::run(&host, &options),
        CliCommand::Check(options) => check::run(&host, &options),
        CliCommand::Resume(options) => resume::run(&host, &options),
        CliCommand::Cancel(options) => cancel::run(&host, &options),
        CliCommand::Approvals(options) => answer::list(&host, &options),
        CliCommand::Answer(options) => answer::run(&host, &options),
        CliCommand::Requests(what) => requests::run(&host, &what),
        CliCommand::Grants(what) => grants::run(&host, &what),
        CliCommand::Fork(options) => fork::run(&host, &options),
        CliCommand::Compact(options) => compact::run(&host, &options),
        CliCommand::Replay(options) => replay::run(&host, &options),
        CliCommand::Ledger(LedgerCommand::Verify(options)) => ledger::run(&host, &options),
        CliCommand::Ledger(LedgerCommand::AcceptLoss(options)) => {
            ledger::accept_loss(&host, &options)
        }
        CliCommand::Show(show) => run_show(&host, &show),
        CliCommand::Doctor(options) => doctor::run(&host, &options),
        CliCommand::Sandbox(SandboxCommand::Run(options)) => sandbox::run(&host, &options),
        CliCommand::Sandbox(SandboxCommand::Explain(options)) => sandbox::explain(&host, &options),
        CliCommand::Policy(PolicyCommand::Explain(options)) => policy::run(&host, &options),
        CliCommand::Access(what) => access::run(&host, &what),
        CliCommand::Entities(what) => entities::run(&host, &what),
        CliCommand::Audit(what) => audit::run(&host, &what),
        CliCommand::Trust(options) => trust::run(&host, &options),
        CliCommand::Tools(what) => tools::run(&host, &what),
        CliCommand::Hooks(what) => hooks::run(&host, &what),
        CliCommand::Secret(what) => secret::run(&host, &what),
        CliCommand::Models(options) => models::run(&host, &options),
        CliCommand::Pull(options) => pull::run(&host, &options),
        CliCommand::Explain(options) => explain::run(&options),
        CliCommand::Schema(options) => schema::run(&options),
        CliCommand::Config(ConfigCommand::Show(options)) => config::run(&host, &options),
        CliCommand::Completions(options) => completions::run(&options),
    }
}

fn run_show(host: &CliContext, show: &ShowRecordCommand) -> Result<ExitCode, Fault> {
    use show_record::Kind;
    match &show.what {
        None => show_record::run(host, Kind::Any, &show.record),
        Some(ShowCommand::Agent(options)) => show_agent::run(host, options),
        Some(ShowCommand::Prompt(options)) => show_prompt::run(host, options),
        Some(ShowCommand::Run(options)) => show_record::run(host, Kind::Run, options),
        Some(ShowCommand::Session(options)) => show_record::run(host, Kind::Session, options),
        Some(ShowCommand::Turn(options)) => show_record::run(host, Kind::Turn, options),
    }
}
