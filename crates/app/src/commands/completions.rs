//! `agentry completions <shell>`: a completion script.
//!
//! Must never: install anything.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use crate::fault::Fault;

#[derive(Args)]
pub(crate) struct Options {
    /// The shell to complete for
    shell: Shell,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "agentry", &mut script);
    crate::output::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
