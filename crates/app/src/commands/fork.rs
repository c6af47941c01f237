//! `agentry fork`: starts a new session from a turn.
//!
//! Must never: change the session that the turn belongs to.

use std::io::Write;
use std::process::ExitCode;

use agentry_runtime::turn::fork::{ForkedSession, fork};
use clap::Args;

use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::fault::Fault;
use crate::runtime_fault::fork_fault;

#[derive(Args)]
pub(crate) struct Options {
    /// The turn, by its id or a part of it
    turn: String,
    /// The name of the new session
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    let id = ledger.find_turn(&options.turn).map_err(bootstrap::store_fault)?;
    let key = options.session.clone();
    let ForkedSession { session, key, agent } =
        fork(&ledger, &id, key, bootstrap::new_uuid_number).map_err(fork_fault)?;
    let mut out = crate::output::stdout().lock();
    writeln!(out, "{session}")?;
    writeln!(out, "  agentry run --agent {agent} --session {key} …")?;
    Ok(ExitCode::SUCCESS)
}
