//! `agentry resume`: takes up runs that a process left.
//!
//! Must never: begin a run anew, or make a call again that nobody knows the outcome of.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use agentry_protocol::RunId;
use agentry_runtime::plan;
use agentry_store::{Error as Store, Filter, RunStatus};
use clap::Args;

use super::run::{look, show};
use crate::engine;
use crate::fault::{Blame, Fault};
use crate::host::Host;
use crate::interrupt;

#[derive(Args)]
pub(crate) struct Options {
    /// The run, by its id or a part of it
    #[arg(required_unless_present_any = ["all", "last"])]
    run: Option<String>,
    /// Every run that is not over and that nobody works on
    #[arg(long, conflicts_with_all = ["run", "last"])]
    all: bool,
    /// The latest run
    #[arg(long, conflicts_with = "run")]
    last: bool,
    /// Print one JSON event on each line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(host: &Host, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = engine::open_ledger(host)?;
    let found = |id: Result<RunId, Store>| id.map_err(engine::store_fault);
    let run = match &options.run {
        Some(text) => found(ledger.find_run(text))?,
        None if options.last => {
            let latest = ledger.latest_run().map_err(engine::store_fault)?;
            latest.ok_or_else(|| Fault::new(Blame::Caller, "there is no run yet"))?.id
        }
        None => return resume_all(host, options),
    };
    drop(ledger);
    resume(host, &run, options.json)
}

/// Takes up one run, in its own project and workspace.
fn resume(host: &Host, run: &RunId, json: bool) -> Result<ExitCode, Fault> {
    let ledger = engine::open_ledger(host)?;
    let plan = plan::recorded(&ledger, run).map_err(engine::fault)?;
    drop(ledger);
    let engine = engine::engine(host, Path::new(&plan.project), Some(Path::new(&plan.workspace)))?;
    let about = agentry_protocol::envelope::About {
        session: engine
            .parts
            .ledger
            .run(run)
            .map_err(engine::store_fault)?
            .and_then(|row| row.session),
        run: Some(run.clone()),
        turn: None,
    };
    let filter = Filter { run: Some(run.clone()), ..Filter::default() };
    let past = engine.parts.ledger.read_from(0, &filter, usize::MAX >> 1);
    show(&engine, look(json), past.map_err(engine::store_fault)?, |runner| {
        interrupt::cancels(&runner.host, &about);
        runner.resume(run)
    })
}

/// One after the other, the oldest first. The exit code is that of the last one that was not done.
fn resume_all(host: &Host, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = engine::open_ledger(host)?;
    let runs = ledger.runs(usize::MAX >> 1).map_err(engine::store_fault)?;
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
        writeln!(io::stderr(), "every run is over")?;
    }
    let mut code = ExitCode::SUCCESS;
    for run in open {
        match resume(host, &run, options.json) {
            Ok(one) if one == ExitCode::SUCCESS => {}
            Ok(one) => code = one,
            Err(fault) => {
                writeln!(anstream::stderr(), "{run}: {fault}")?;
                code = fault.exit_code();
            }
        }
    }
    Ok(code)
}
