//! `agentry replay`: plays a recorded run to today's program and files.
//!
//! Must never: do anything that a run would do.

use std::io::Write;
use std::process::ExitCode;

use agentry_runtime::replay::{ReplayReport, replay};
use clap::Args;

use crate::engine;
use crate::fault::Fault;
use crate::host::Host;
use crate::render::escaped;

#[derive(Args)]
pub(crate) struct Options {
    /// The run, by its id or a part of it
    run: String,
}

pub(crate) fn run(host: &Host, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = engine::open_ledger(host)?;
    let run = ledger.find_run(&options.run).map_err(engine::store_fault)?;
    let engine = engine::engine_to_look(host, ledger, &run)?;
    let replayed = replay(&engine.parts.ledger, &run, &engine.definitions);
    let mut out = crate::output::stdout().lock();
    match replayed.map_err(engine::fault)? {
        ReplayReport::Identical { moves } => {
            writeln!(out, "identical: {moves} moves")?;
            Ok(ExitCode::SUCCESS)
        }
        ReplayReport::Different { moves, recorded, today } => {
            writeln!(out, "different after {moves} moves")?;
            writeln!(out, "  recorded: {}", escaped(&recorded))?;
            writeln!(out, "  today:    {}", escaped(&today))?;
            Ok(ExitCode::from(1))
        }
    }
}
