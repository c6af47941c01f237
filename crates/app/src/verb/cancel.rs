//! `agentry cancel`: asks a run to end.
//!
//! A run that some process works on is told; a run that nobody works on is ended here.
//!
//! Must never: say that a run is cancelled before it is recorded.

use std::io::Write;
use std::process::ExitCode;

use agentry_protocol::envelope::EntrySubject;
use agentry_runtime::Error;
use agentry_store::Error as Store;
use clap::Args;

use super::record_cancel;
use super::run::show;
use crate::engine;
use crate::fault::Fault;
use crate::host::Host;
use crate::stage::Look;

#[derive(Args)]
pub(crate) struct Options {
    /// The run, by its id or a part of it
    run: String,
}

pub(crate) fn run(host: &Host, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = engine::open_ledger(host)?;
    let run = ledger.find_run(&options.run).map_err(engine::store_fault)?;
    let session = ledger.run(&run).map_err(engine::store_fault)?.and_then(|row| row.session);
    let engine = engine::engine_of(host, ledger, &run)?;
    let about = EntrySubject { session, run: Some(run.clone()), turn: None };
    let outcome = show(&engine, Look::Text, Vec::new(), |runner| match runner.cancel(&run) {
        Err(Error::Ledger(Store::Busy { .. })) => {
            record_cancel(&runner.host, &about)?;
            Ok(None)
        }
        other => other.map(Some),
    })?;
    let mut out = crate::output::stdout().lock();
    let Some(outcome) = outcome else {
        writeln!(out, "{run}: asked to end; the process that works on it will")?;
        return Ok(ExitCode::SUCCESS);
    };
    writeln!(out, "{run}: cancelled")?;
    // It was asked for, so it is no failure of this command.
    Ok(match engine::exit_code(&outcome) {
        7 => ExitCode::SUCCESS,
        code => ExitCode::from(code),
    })
}
