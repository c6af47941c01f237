//! `agentry hooks`: registers, shows, switches and tests event hooks.
//!
//! Event hooks are kept in the ledger; an agent's own hooks are files (`agentry show agent`).
//!
//! Must never: run a hook (except `test`), or change one other than by a new version.

mod register;
mod show;
mod test_run;

use std::io::Write;
use std::process::ExitCode;

use agentry_protocol::event_hook::Author;
use agentry_protocol::{AgentId, WrongId};
use agentry_runtime::commands::event_hooks;
use agentry_store::{EventHookRow, Ledger};
use clap::{Args, Subcommand};

use super::grants::context;
use crate::bootstrap::{self, store_fault};
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::fault::{Blame, Fault};

#[derive(Subcommand)]
pub(crate) enum HooksCommand {
    /// Register a hook: a script, with its triggers in a YAML file
    #[command(after_help = "\
The file beside the script, such as urgent.yml beside urgent.py, may set: name, description,
mode, triggers, config, timeout_ms, model. Options override it. A copy of the script is stored
and runs: changes to the file have no effect until `agentry hooks update`.

Examples:
  agentry hooks register hooks/urgent.py --mode one-shot --hook-config '{\"level\": 3}'")]
    Register(register::Options),
    /// List hooks
    List(show::HookListOptions),
    /// Show a hook and its versions
    Info(show::HookShowOptions),
    /// Register a new version of a hook
    Update(register::UpdateOptions),
    /// Enable a hook
    Enable(EnableOptions),
    /// Disable a hook
    Disable(DisableOptions),
    /// Delete a hook; its history stays in the ledger
    Delete(DeleteOptions),
    /// List the latest invocations of a hook
    Invocations(show::InvocationsOptions),
    /// Show errors, latency and model use of a hook
    Stats(show::HookStatsOptions),
    /// Run a hook on an event from a file, without effects
    Test(test_run::Options),
}

#[derive(Args)]
pub(crate) struct EnableOptions {
    /// The hook, by its name, its id or a part of the id
    hook: String,
}

#[derive(Args)]
pub(crate) struct DisableOptions {
    /// The hook, by its name, its id or a part of the id
    hook: String,
    /// The reason, for the record
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Args)]
pub(crate) struct DeleteOptions {
    /// The hook, by its name, its id or a part of the id
    hook: String,
}

pub(crate) fn run(host: &CliContext, what: &HooksCommand) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    match what {
        HooksCommand::Register(options) => register::run(host, &ledger, options)?,
        HooksCommand::Update(options) => register::update(host, &ledger, options)?,
        HooksCommand::List(options) => show::list(&ledger, options)?,
        HooksCommand::Info(options) => show::info(&ledger, options)?,
        HooksCommand::Invocations(options) => show::invocations(host, &ledger, options)?,
        HooksCommand::Stats(options) => show::stats(&ledger, options)?,
        HooksCommand::Test(options) => return test_run::run(host, ledger, options),
        HooksCommand::Enable(options) => {
            let row = find(&ledger, &options.hook)?;
            let hook = event_hooks::enable(&ledger, &row.hook.id, author(host)?);
            say(&hook.map_err(command_fault)?.name, "enabled")?;
        }
        HooksCommand::Disable(options) => {
            let row = find(&ledger, &options.hook)?;
            let (by, reason) = (author(host)?, options.reason.clone());
            let redactor = host.redactor()?;
            let hook = event_hooks::disable(context(&ledger, &redactor), &row.hook.id, by, reason);
            say(&hook.map_err(command_fault)?.name, "disabled")?;
        }
        HooksCommand::Delete(options) => {
            let row = find(&ledger, &options.hook)?;
            let hook = event_hooks::delete(&ledger, &row.hook.id, author(host)?);
            say(&hook.map_err(command_fault)?.name, "deleted")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn say(name: &str, what: &str) -> Result<(), Fault> {
    writeln!(crate::output::stdout().lock(), "{name}: {what}")?;
    Ok(())
}

/// Finds a hook by name, id or part of an id, including deleted ones.
fn find(ledger: &Ledger, text: &str) -> Result<EventHookRow, Fault> {
    let id = ledger.find_event_hook(text).map_err(|error| match error {
        agentry_store::Error::Unknown { .. } => {
            store_fault(error).hint("`agentry hooks list` shows all hooks")
        }
        error => store_fault(error),
    })?;
    let row = ledger.event_hook(&id).map_err(store_fault)?;
    row.ok_or_else(|| Fault::new(Blame::Caller, format!("there is no hook `{id}`")))
}

/// Returns the author of a change: the agent that this process works for, or the user.
fn author(host: &CliContext) -> Result<Author, Fault> {
    let working = host.environment.working();
    let Some(agent) = working.agent else {
        let person = Some(host.environment.user().to_owned());
        return Ok(Author { person, ..Author::default() });
    };
    let wrong = |what: &str, error: WrongId| {
        Fault::new(Blame::Caller, format!("{what} of the environment is {error}"))
    };
    let session = working.session.map(|id| id.parse().map_err(|error| wrong("SESSION_ID", error)));
    let turn = working.turn.map(|id| id.parse().map_err(|error| wrong("THREAD_ID", error)));
    Ok(Author {
        person: None,
        agent: Some(AgentId::new(agent)),
        session: session.transpose()?,
        turn: turn.transpose()?,
    })
}
