//! `agentry access`: who may reach an agent and with what powers; see it, test it, change it.
//!
//! Must never: decide. The kernel decides; this asks it.

mod check;
pub(super) mod people;
mod policies;
mod replay;
mod test;
mod write;

use std::process::ExitCode;

use clap::Subcommand;

use crate::fault::Fault;
use crate::host::Host;

#[derive(Subcommand)]
pub(crate) enum Access {
    /// Say what would be decided about an event, and each policy's part in it
    Test(test::Options),
    /// Say everything that is wrong with the access policies
    Check(check::Options),
    /// See policies, and change which hold
    #[command(subcommand)]
    Policies(policies::Policies),
    /// Say what policies would decide otherwise about what was decided before
    Replay(replay::Options),
}

pub(crate) fn run(host: &Host, what: &Access) -> Result<ExitCode, Fault> {
    match what {
        Access::Test(options) => test::run(host, options),
        Access::Check(options) => check::run(host, options),
        Access::Policies(what) => policies::run(host, what),
        Access::Replay(options) => replay::run(host, options),
    }
}
