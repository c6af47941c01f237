//! `agentry access`: who may reach an agent and with what powers; see it, test it, change it.
//!
//! Must never: decide. The kernel decides; this asks it.

mod atomic_write;
mod check;
mod policies;
pub(super) mod principals;
mod replay;
mod test;

use std::process::ExitCode;

use clap::Subcommand;

use crate::cli_context::CliContext;
use crate::fault::Fault;

#[derive(Subcommand)]
pub(crate) enum AccessCommand {
    /// Say what would be decided about an event, and each policy's part in it
    Test(test::Options),
    /// Say everything that is wrong with the access policies
    Check(check::Options),
    /// See policies, and change which hold
    #[command(subcommand)]
    Policies(policies::PoliciesCommand),
    /// Say what policies would decide otherwise about what was decided before
    Replay(replay::Options),
}

pub(crate) fn run(host: &CliContext, what: &AccessCommand) -> Result<ExitCode, Fault> {
    match what {
        AccessCommand::Test(options) => test::run(host, options),
        AccessCommand::Check(options) => check::run(host, options),
        AccessCommand::Policies(what) => policies::run(host, what),
        AccessCommand::Replay(options) => replay::run(host, options),
    }
}
