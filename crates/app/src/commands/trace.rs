//! `agentry trace`: one event through all stages, with time and result of each.
//!
//! Must never: suggest success where nothing is recorded.

use std::io::{self, Write};
use std::process::ExitCode;

use agentry_protocol::inbound::EventId;
use agentry_runtime::inbound::trace::{self, Trace};
use agentry_store::Ledger;
use clap::Args;

use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::diagnostics::visible_line;
use crate::fault::{Blame, Fault};

#[derive(Args)]
pub(crate) struct Options {
    /// The event's id, such as send:01K9… [default: list newest]
    event: Option<String>,
    /// The number of newest events to list
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "event")]
    last: usize,
    /// Show waiting times of the latest events, and open events
    #[arg(long, conflicts_with = "event")]
    stats: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger_to_read(host)?;
    let mut stdout = crate::output::stdout().lock();
    if options.stats {
        return stats(&ledger, options, &mut stdout);
    }
    let Some(text) = &options.event else {
        for row in ledger.inbounds(options.last).map_err(bootstrap::store_fault)? {
            let run = row.run.map_or_else(String::new, |run| run.to_string());
            writeln!(stdout, "{:<9} {} {run}", row.status.as_str(), visible_line(row.id.as_str()))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let unknown = || {
        Fault::new(Blame::Caller, format!("there is no event `{text}`"))
            .hint("`agentry trace` without an id lists the newest events")
    };
    let event = EventId::try_from(text.clone()).map_err(|_| unknown())?;
    let trace = trace::of(&ledger, &event).map_err(bootstrap::fault)?.ok_or_else(unknown)?;
    if options.json {
        serde_json::to_writer_pretty(&mut stdout, &trace).map_err(io::Error::from)?;
        writeln!(stdout)?;
    } else {
        print(&trace, &mut stdout)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints percentiles of the time from receipt to turn, and the number of open events by status.
fn stats(ledger: &Ledger, options: &Options, out: &mut dyn Write) -> Result<ExitCode, Fault> {
    let starts = ledger.inbound_starts(options.last).map_err(bootstrap::store_fault)?;
    let mut waits: Vec<u64> =
        starts.iter().map(|(came, began)| began.saturating_sub(*came)).collect();
    waits.sort_unstable();
    let part = |percent: usize| {
        let at = (waits.len() * percent).div_ceil(100).saturating_sub(1);
        waits.get(at).copied()
    };
    let counts = ledger.inbound_counts().map_err(bootstrap::store_fault)?;
    let open: serde_json::Map<String, serde_json::Value> =
        counts.into_iter().map(|(status, count)| (status, count.into())).collect();
    let told = serde_json::json!({
        "events": waits.len(),
        "waited_ms": { "p50": part(50), "p99": part(99), "max": part(100) },
        "open": open,
    });
    if options.json {
        writeln!(out, "{told}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let ms = |percent| part(percent).map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms"));
    let (half, most, all) = (ms(50), ms(99), ms(100));
    writeln!(out, "{} events: p50 {half}, p99 {most}, max {all} until the turn", waits.len())?;
    for (status, count) in &open {
        writeln!(out, "{status:<12} {count}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a line for each stage.
pub(super) fn print(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}", visible_line(trace.event_id.as_str()), trace.status)?;
    for stage in &trace.pipeline {
        let time = bootstrap::rfc3339(stage.timestamp);
        let mark = if stage.error.is_some() { "✗" } else { " " };
        let (name, result) = (stage.stage, visible_line(&stage.result));
        writeln!(out, "{mark} {time:<24}  {name:<8} {:>9.2} ms  {result}", stage.latency_ms)?;
    }
    Ok(())
}
