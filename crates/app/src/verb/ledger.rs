//! `agentry ledger verify`: whether the record is what was written.
//!
//! Must never: repair. What is broken is shown, and stays as it is.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use crate::engine;
use crate::fault::Fault;
use crate::host::Host;

#[derive(Args)]
pub(crate) struct Options {}

pub(crate) fn run(host: &Host, _options: &Options) -> Result<ExitCode, Fault> {
    let ledger = engine::open_ledger(host)?;
    let verified = ledger.verify().map_err(engine::store_fault)?;
    let mut out = crate::output::stdout().lock();
    writeln!(
        out,
        "whole: {} entries, {} artifacts, {} anchors",
        verified.entries, verified.artifacts, verified.anchors
    )?;
    writeln!(out, "  head {}", verified.head_hash)?;
    if verified.anchors_unreadable > 0 {
        writeln!(out, "  warning: {} anchors cannot be read", verified.anchors_unreadable)?;
    }
    Ok(ExitCode::SUCCESS)
}
