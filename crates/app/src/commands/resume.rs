//! `agentry resume`: resumes paused and interrupted runs.
//!
//! Must never: start a run again from the beginning, or repeat a call whose outcome is unknown.

use std::io::{self, Write};
use std::process::ExitCode;

use agentry_protocol::RunId;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_store::{EntryFilter, Ledger, RunStatus};
use clap::Args;

use super::run::{look, show};
use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::fault::{Blame, Fault};
use crate::signals;

#[derive(Args)]
pub(crate) struct Options {
    /// The run, by its id or a part of it
    #[arg(required_unless_present_any = ["all", "last"])]
    run: Option<String>,
    /// All unfinished runs that no process works on
    #[arg(long, conflicts_with_all = ["run", "last"])]
    all: bool,
    /// The latest run
    #[arg(long, conflicts_with = "run")]
    last: bool,
    /// Print a JSON event per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    let run = match &options.run {
        Some(text) => ledger.find_run(text).map_err(bootstrap::store_fault)?,
        None if options.last => {
            let latest = ledger.latest_run().map_err(bootstrap::store_fault)?;
            latest.ok_or_else(|| Fault::new(Blame::Caller, "there is no run yet"))?.id
        }
        None => return resume_all(host, ledger, options),
    };
    resume(host, ledger, &run, options.json)
}

/// Resumes one run, in its own project and workspace.
fn resume(host: &CliContext, ledger: Ledger, run: &RunId, json: bool) -> Result<ExitCode, Fault> {
    let engine = bootstrap::engine_of(host, ledger, run)?;
    let ledger = &engine.parts.ledger;
    let session = ledger.run(run).map_err(bootstrap::store_fault)?.and_then(|row| row.session);
    let about = EntrySubject { session, run: Some(run.clone()), turn: None };
    let past = past_entries(ledger, run)?;
    let outcome = show(&engine, look(json), past, |runner| {
        signals::cancel_on_signal(&runner.host, &about);
        runner.resume(run)
    })?;
    Ok(ExitCode::from(bootstrap::exit_code(&outcome)))
}

/// Returns the entries of a run so far, which its output needs as context.
pub(super) fn past_entries(ledger: &Ledger, run: &RunId) -> Result<Vec<Envelope>, Fault> {
    let filter = EntryFilter { run: Some(run.clone()), ..EntryFilter::default() };
    ledger.read_from(0, &filter, usize::MAX >> 1).map_err(bootstrap::store_fault)
}

/// Resumes all open runs in turn, oldest first. Returns the exit code of the last run that failed.
fn resume_all(host: &CliContext, ledger: Ledger, options: &Options) -> Result<ExitCode, Fault> {
    let runs = ledger.runs(usize::MAX >> 1).map_err(bootstrap::store_fault)?;
    // Each run opens its own ledger, so that one failure does not stop the rest.
    drop(ledger);
    let mut open: Vec<RunId> = runs
        .into_iter()
        .filter(|run| match run.status {
            RunStatus::Planned | RunStatus::Running | RunStatus::PausedForApproval => true,
            RunStatus::Completed | RunStatus::Failed | RunStatus::Canceled => false,
        })
        .map(|run| run.id)
        .collect();
    open.sort();
    if open.is_empty() {
        writeln!(io::stderr(), "no run to resume: all runs have ended")?;
    }
    let mut code = ExitCode::SUCCESS;
    for run in open {
        let resumed = bootstrap::open_ledger(host)
            .and_then(|ledger| resume(host, ledger, &run, options.json));
        match resumed {
            Ok(one) if one == ExitCode::SUCCESS => {}
            Ok(one) => code = one,
            Err(fault) => {
                writeln!(crate::output::stderr(), "{run}: {fault}")?;
                code = fault.exit_code();
            }
        }
    }
    Ok(code)
}
