//! The command line: one file for each verb.
//!
//! Must never: do what a verb does; it only says which there are.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

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
mod hooks;
mod init;
mod ledger;
mod models;
mod policy;
pub(crate) mod pull;
mod replay;
mod requests;
mod resume;
mod run;
mod sandbox;
mod schema;
mod secret;
mod send;
pub(crate) mod serve;
mod show_agent;
mod show_prompt;
mod show_record;
mod stdio;
mod token;
mod tools;
mod trace;
mod trust;

pub(crate) use doctor::report as doctor_report;
pub(crate) use fork::fault as no_fork;
pub(crate) use grants::to_whom;
pub(crate) use requests::request_lines;
pub(crate) use run::{absolute_model, record_cancel, show_run};
pub(crate) use serve::log_line;
pub(crate) use show_agent::by_name as choose_agent;

const EXAMPLES: &str = "\
Examples:
  agentry                                   talk with the agent of this directory
  agentry init my-agent --profile coder     make an agent from a bundled profile
  agentry check my-agent                    say what is wrong with it
  agentry run -C my-agent \"List the files\"   run a prompt or a task
  agentry show agent my-agent               show what it resolves to, and why
  agentry show prompt my-agent              show its prompt, section by section
  agentry explain E0401                     explain a finding";

/// Runs agents defined as files in git: governed, confined, durable, replayable.
#[derive(Parser)]
#[command(name = "agentry", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Override a setting, such as agent.model=gpt-4.1 (may be given several times)
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE", global = true)]
    config: Vec<String>,
    /// When to use color
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true)]
    pub(crate) color: Color,
    #[command(subcommand)]
    verb: Option<CliCommand>,
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
enum CliCommand {
    /// Make an agent in a new directory, with git history
    Init(init::Options),
    /// Talk with an agent in the terminal; `agentry` alone does the same
    Chat(chat::Options),
    /// Run a task or a prompt to its end
    Run(run::Options),
    /// Talk with an agent in JSON lines
    Stdio(stdio::Options),
    /// Take in what comes from all channels, and answer it
    Serve(serve::Options),
    /// Open the console of the server that runs
    Console(console::Options),
    /// Make keys to the server, and take them back
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Say something to an agent the way a channel does
    Send(send::Options),
    /// Show what became of an event, stage by stage
    Trace(trace::Options),
    /// Say everything that is wrong with agents, skills, tasks and settings
    Check(check::Options),
    /// Take up runs that a process left
    Resume(resume::Options),
    /// Ask a run to end
    Cancel(cancel::Options),
    /// List what waits for an answer
    Approvals(answer::ApprovalListOptions),
    /// Answer an approval
    Answer(answer::Options),
    /// See what others ask you for, and answer them
    #[command(subcommand)]
    Requests(requests::RequestsCommand),
    /// Give others powers for a time, and take them back
    #[command(subcommand)]
    Grants(grants::GrantsCommand),
    /// Begin a new session from a turn
    Fork(fork::Options),
    /// Put the older turns of a session into one text
    Compact(compact::Options),
    /// Play a recorded run to today's program and files
    Replay(replay::Options),
    /// Look after the record
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Show a run, a session or a turn, or what files resolve to
    Show(ShowRecordCommand),
    /// Say what this machine can confine, and what to do about what is missing
    Doctor(doctor::Options),
    /// Try the sandbox, and see what an agent may do in it
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Look at what decides about calls
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Who may reach an agent and with what powers: see it, test it, change it
    #[command(subcommand, visible_alias = "acl")]
    Access(access::AccessCommand),
    /// Who is known, and by which identities
    #[command(subcommand)]
    Entities(entities::EntitiesCommand),
    /// See what was decided about who may
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Look at the programs that agents bring, and let them run as they are
    Trust(trust::Options),
    /// See an agent's tools; make and try its own
    #[command(subcommand)]
    Tools(tools::ToolsCommand),
    /// Hooks that look at events and may start work: make, see and switch them
    ///
    /// The hooks that shape an agent's turns, and its gates, stand in its own directory: `agentry show agent` shows them.
    #[command(subcommand)]
    Hooks(hooks::HooksCommand),
    /// Keep secrets, and see who may have them
    #[command(subcommand)]
    Secret(secret::SecretCommand),
    /// Show who serves which models, and which one an agent gets
    Models(models::Options),
    /// Get the weights of a model that runs on this machine
    Pull(pull::Options),
    /// Explain the code of a finding
    Explain(explain::Options),
    /// Print the JSON Schema of a definition file, for editors
    Schema(schema::Options),
    /// Look at the settings
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
    /// The resolved agent, with the origin of each value
    Agent(show_agent::Options),
    /// The prompt: its sections, their size, and the text
    Prompt(show_prompt::Options),
    /// A run: its steps, calls and outcomes
    Run(show_record::Options),
    /// A session: all that happened in it
    Session(show_record::Options),
    /// A turn: what was told and what was chosen
    Turn(show_record::Options),
}

#[derive(Subcommand)]
enum LedgerCommand {
    /// Say whether the record is what was written
    Verify(ledger::Options),
    /// Go on after entries were lost: record that they are missing
    AcceptLoss(ledger::AcceptOptions),
}

#[derive(Subcommand)]
enum SandboxCommand {
    /// Run a command in the sandbox
    Run(sandbox::SandboxRunOptions),
    /// What an agent may read, write, reach and spend
    Explain(sandbox::SandboxExplainOptions),
}

#[derive(Subcommand)]
enum PolicyCommand {
    /// What each stage says about a call, and which rule decides
    Explain(policy::Options),
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// All settings that were made, and which layer made each
    Show(config::Options),
}

/// How a result is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Which agent is meant.
#[derive(Args)]
struct AgentSelection {
    /// The agent's directory, or a project that holds agents
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The agent, if the directory holds several
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(cli: Cli) -> Result<ExitCode, Fault> {
    let host = CliContext::new(cli.config);
    // Alone it is a chat.
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
