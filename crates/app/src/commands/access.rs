//! `agentry access`: tests, checks, changes and replays access policies.
//!
//! Must never: decide. The kernel decides; these commands ask it.

mod atomic_write;
mod check;
mod policies;
mod policy_files;
pub(super) mod principals;
mod replay;
mod test;

use std::process::ExitCode;

use clap::Subcommand;

use crate::cli_context::CliContext;
use crate::fault::Fault;

#[derive(Subcommand)]
pub(crate) enum AccessCommand {
    /// Show the decision about an event, and each policy's part
    Test(test::Options),
    /// Check the access policies for errors
    Check(check::Options),
    /// List, show, validate, apply and switch policies
    #[command(subcommand)]
    Policies(policies::PoliciesCommand),
    /// Re-evaluate past decisions with changed policies
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
