//! `agentry trace`: one event through all stages, with the time and the result of each.
//!
//! Must never: look like all is well where nothing is recorded.

use std::io::{self, Write};
use std::process::ExitCode;

use agentry_protocol::inbound::EventId;
use agentry_runtime::trace::{self, Trace};
use clap::Args;

use crate::engine;
use crate::fault::{Blame, Fault};
use crate::host::Host;
use crate::render::visible_line;

#[derive(Args)]
pub(crate) struct Options {
    /// The event's id, such as send:01K9…; the newest ones are listed without it
    event: Option<String>,
    /// How many of the newest are listed
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "event")]
    last: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(host: &Host, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = engine::open_ledger(host)?;
    let mut stdout = anstream::stdout().lock();
    let Some(text) = &options.event else {
        for row in ledger.inbounds(options.last).map_err(engine::store_fault)? {
            let run = row.run.map_or_else(String::new, |run| run.to_string());
            writeln!(stdout, "{:<9} {} {run}", row.status.as_str(), visible_line(row.id.as_str()))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let unknown = || {
        Fault::new(Blame::Caller, format!("there is no event `{text}`"))
            .hint("`agentry trace` alone lists the newest ones")
    };
    let event = EventId::try_from(text.clone()).map_err(|_| unknown())?;
    let trace = trace::of(&ledger, &event).map_err(engine::fault)?.ok_or_else(unknown)?;
    if options.json {
        serde_json::to_writer_pretty(&mut stdout, &trace).map_err(io::Error::from)?;
        writeln!(stdout)?;
    } else {
        print(&trace, &mut stdout)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A line for each stage.
pub(super) fn print(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}", visible_line(trace.event_id.as_str()), trace.status)?;
    for stage in &trace.pipeline {
        let time = engine::rfc3339(stage.timestamp);
        let mark = if stage.error.is_some() { "✗" } else { " " };
        let (name, result) = (stage.stage, visible_line(&stage.result));
        writeln!(out, "{mark} {time:<24}  {name:<8} {:>9.2} ms  {result}", stage.latency_ms)?;
    }
    Ok(())
}
