//! `agentry fork`: starts a new session from a turn.
//!
//! Must never: change the session that the turn belongs to.

use std::io::Write;
use std::process::ExitCode;

use agentry_runtime::turn::fork::{ForkError, ForkedSession, fork};
use clap::Args;

use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::fault::{Blame, Fault};

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
        fork(&ledger, &id, key, bootstrap::new_uuid_number).map_err(fault)?;
    let mut out = crate::output::stdout().lock();
    writeln!(out, "{session}")?;
    writeln!(out, "  agentry run --agent {agent} --session {key} …")?;
    Ok(ExitCode::SUCCESS)
}

/// Turns a failed fork into a fault with a hint.
pub(crate) fn fault(no: ForkError) -> Fault {
    let blame = match no {
        ForkError::UnderWay(_) => {
            return Fault::new(Blame::Caller, no.to_string())
                .hint("resume or cancel its run first, or fork the turn before it");
        }
        ForkError::Ledger(error) => return bootstrap::store_fault(error),
        ForkError::NoSession(_) => Blame::Us,
        ForkError::Name(_) => Blame::Caller,
    };
    Fault::new(blame, no.to_string())
}
