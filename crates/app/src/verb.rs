//! The command line: one file for each verb.
//!
//! Must never: do what a verb does; it only says which there are.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::fault::Fault;
use crate::host::Host;

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
pub(crate) use serve::say;
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
    verb: Option<Verb>,
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
    Token(token::Tokens),
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
    Approvals(answer::ListOptions),
    /// Answer an approval
    Answer(answer::Options),
    /// See what others ask you for, and answer them
    #[command(subcommand)]
    Requests(requests::Requests),
    /// Give others powers for a time, and take them back
    #[command(subcommand)]
    Grants(grants::Grants),
    /// Begin a new session from a turn
    Fork(fork::Options),
    /// Put the older turns of a session into one text
    Compact(compact::Options),
    /// Play a recorded run to today's program and files
    Replay(replay::Options),
    /// Look after the record
    #[command(subcommand)]
    Ledger(LedgerVerb),
    /// Show a run, a session or a turn, or what files resolve to
    Show(Show),
    /// Say what this machine can confine, and what to do about what is missing
    Doctor(doctor::Options),
    /// Try the sandbox, and see what an agent may do in it
    #[command(subcommand)]
    Sandbox(SandboxVerb),
    /// Look at what decides about calls
    #[command(subcommand)]
    Policy(Policy),
    /// Who may reach an agent and with what powers: see it, test it, change it
    #[command(subcommand, visible_alias = "acl")]
    Access(access::Access),
    /// Who is known, and by which identities
    #[command(subcommand)]
    Entities(entities::Entities),
    /// See what was decided about who may
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Look at the programs that agents bring, and let them run as they are
    Trust(trust::Options),
    /// See an agent's tools; make and try its own
    #[command(subcommand)]
    Tools(tools::Tools),
    /// Hooks that look at events and may start work: make, see and switch them
    ///
    /// The hooks that shape an agent's turns, and its gates, stand in its own directory: `agentry show agent` shows them.
    #[command(subcommand)]
    Hooks(hooks::Hooks),
    /// Keep secrets, and see who may have them
    #[command(subcommand)]
    Secret(secret::Secret),
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
    Config(Config),
    /// Print a completion script for a shell
    Completions(completions::Options),
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
struct Show {
    #[command(subcommand)]
    what: Option<ShowWhat>,
    #[command(flatten)]
    record: show_record::Options,
}

#[derive(Subcommand)]
enum ShowWhat {
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
enum LedgerVerb {
    /// Say whether the record is what was written
    Verify(ledger::Options),
    /// Go on after entries were lost: record that they are missing
    AcceptLoss(ledger::AcceptOptions),
}

#[derive(Subcommand)]
enum SandboxVerb {
    /// Run a command in the sandbox
    Run(sandbox::RunOptions),
    /// What an agent may read, write, reach and spend
    Explain(sandbox::ExplainOptions),
}

#[derive(Subcommand)]
enum Policy {
    /// What each stage says about a call, and which rule decides
    Explain(policy::Options),
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
    let host = Host::new(cli.config);
    // Alone it is a chat.
    let verb = cli.verb.unwrap_or_else(|| Verb::Chat(chat::Options::alone()));
    match verb {
        Verb::Chat(options) => chat::run(&host, options),
        Verb::Init(options) => init::run(&host, options),
        Verb::Run(options) => run::run(&host, options),
        Verb::Stdio(options) => stdio::run(&host, &options),
        Verb::Serve(options) => serve::run(&host, options),
        Verb::Console(options) => console::run(&host, &options),
        Verb::Token(tokens) => token::run(&host, tokens),
        Verb::Send(options) => send::run(&host, options),
        Verb::Trace(options) => trace::run(&host, &options),
        Verb::Check(options) => check::run(&host, &options),
        Verb::Resume(options) => resume::run(&host, &options),
        Verb::Cancel(options) => cancel::run(&host, &options),
        Verb::Approvals(options) => answer::list(&host, &options),
        Verb::Answer(options) => answer::run(&host, &options),
        Verb::Requests(what) => requests::run(&host, &what),
        Verb::Grants(what) => grants::run(&host, &what),
        Verb::Fork(options) => fork::run(&host, &options),
        Verb::Compact(options) => compact::run(&host, &options),
        Verb::Replay(options) => replay::run(&host, &options),
        Verb::Ledger(LedgerVerb::Verify(options)) => ledger::run(&host, &options),
        Verb::Ledger(LedgerVerb::AcceptLoss(options)) => ledger::accept_loss(&host, &options),
        Verb::Show(show) => run_show(&host, &show),
        Verb::Doctor(options) => doctor::run(&host, &options),
        Verb::Sandbox(SandboxVerb::Run(options)) => sandbox::run(&host, &options),
        Verb::Sandbox(SandboxVerb::Explain(options)) => sandbox::explain(&host, &options),
        Verb::Policy(Policy::Explain(options)) => policy::run(&host, &options),
        Verb::Access(what) => access::run(&host, &what),
        Verb::Entities(what) => entities::run(&host, &what),
        Verb::Audit(what) => audit::run(&host, &what),
        Verb::Trust(options) => trust::run(&host, &options),
        Verb::Tools(what) => tools::run(&host, &what),
        Verb::Hooks(what) => hooks::run(&host, &what),
        Verb::Secret(what) => secret::run(&host, &what),
        Verb::Models(options) => models::run(&host, &options),
        Verb::Pull(options) => pull::run(&host, &options),
        Verb::Explain(options) => explain::run(&options),
        Verb::Schema(options) => schema::run(&options),
        Verb::Config(Config::Show(options)) => config::run(&host, &options),
        Verb::Completions(options) => completions::run(&options),
    }
}

fn run_show(host: &Host, show: &Show) -> Result<ExitCode, Fault> {
    use show_record::Kind;
    match &show.what {
        None => show_record::run(host, Kind::Any, &show.record),
        Some(ShowWhat::Agent(options)) => show_agent::run(host, options),
        Some(ShowWhat::Prompt(options)) => show_prompt::run(host, options),
        Some(ShowWhat::Run(options)) => show_record::run(host, Kind::Run, options),
        Some(ShowWhat::Session(options)) => show_record::run(host, Kind::Session, options),
        Some(ShowWhat::Turn(options)) => show_record::run(host, Kind::Turn, options),
    }
}
