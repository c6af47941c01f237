//! `agentry cancel`: cancels a run.
//!
//! A run in another process is asked to end; an idle run is ended here.
//!
//! Must never: report a run as cancelled before that is recorded.

use std::io::Write;
use std::process::ExitCode;

use agentry_protocol::envelope::EntrySubject;
use agentry_runtime::Error;
use agentry_runtime::commands::runs;
use agentry_store::Error as StoreError;
use clap::Args;

use super::resume::past_entries;
use super::run::show;
use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::fault::Fault;
use crate::run_output::OutputMode;

#[derive(Args)]
pub(crate) struct Options {
    /// The run, by its id or a part of it
    run: String,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    let run = ledger.find_run(&options.run).map_err(bootstrap::store_fault)?;
    let session = ledger.run(&run).map_err(bootstrap::store_fault)?.and_then(|row| row.session);
    let engine = bootstrap::engine_of(host, ledger, &run)?;
    let about = EntrySubject { session, run: Some(run.clone()), turn: None };
    let past = past_entries(&engine.parts.ledger, &run)?;
    let outcome = show(&engine, OutputMode::Text, past, |runner| match runner.cancel(&run) {
        // Another process works on it.
        Err(Error::Ledger(StoreError::Busy { .. })) => Ok(None),
        other => other.map(Some),
    })?;
    let Some(outcome) = outcome else {
        runs::cancel(&engine.parts.ledger, &about).map_err(command_fault)?;
        let mut out = crate::output::stdout().lock();
        writeln!(out, "{run}: cancelling; the process that works on it will end it")?;
        return Ok(ExitCode::SUCCESS);
    };
    writeln!(crate::output::stdout().lock(), "{run}: cancelled")?;
    // The user asked for the cancellation, so it is no failure of this command.
    Ok(match bootstrap::exit_code(&outcome) {
        7 => ExitCode::SUCCESS,
        code => ExitCode::from(code),
    })
}
