//! `agentry replay`: replays a recorded run against the current code and files.
//!
//! Must never: call a model or a tool, or record anything.

use std::io::Write;
use std::process::ExitCode;

use agentry_runtime::turn::replay::{ReplayReport, replay};
use clap::Args;

use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::diagnostics::escaped;
use crate::fault::Fault;

#[derive(Args)]
pub(crate) struct Options {
    /// The run, by its id or a part of it
    run: String,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    let run = ledger.find_run(&options.run).map_err(bootstrap::store_fault)?;
    let engine = bootstrap::engine_read_only(host, ledger, &run)?;
    let replayed = replay(&engine.parts.ledger, &run, &engine.definitions, &engine.parts.tools);
    let mut out = crate::output::stdout().lock();
    match replayed.map_err(bootstrap::fault)? {
        ReplayReport::Identical { moves } => {
            writeln!(
                out,
                "identical: {moves} moves; current code and files make the same decisions"
            )?;
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
