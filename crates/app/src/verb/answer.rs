//! `agentry answer` and `agentry approvals`: what waits for a person, and what a person says to it.
//!
//! Must never: answer for anybody, or answer twice.

use std::io::Write;
use std::process::ExitCode;

use agentry_protocol::approval::{Answer, Reach};
use agentry_protocol::envelope::{About, Draft};
use agentry_protocol::event::Event;
use agentry_store::{ApprovalRow, RunStatus};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::Format;
use crate::engine;
use crate::fault::{Blame, Fault};
use crate::host::Host;
use crate::render::escaped;

#[derive(Args)]
pub(crate) struct Options {
    /// The approval, by its id or a part of it
    approval: String,
    /// Yes or no
    #[arg(value_enum)]
    word: Word,
    /// Why; told to the agent with a no
    #[arg(long)]
    reason: Option<String>,
    /// A yes holds for the same call for the rest of the session
    #[arg(long)]
    session: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Word {
    /// The call may be made
    #[value(alias = "y")]
    Yes,
    /// It may not
    #[value(alias = "n")]
    No,
}

#[derive(Args)]
pub(crate) struct ListOptions {
    /// Also those that were answered or withdrawn
    #[arg(long)]
    all: bool,
    /// How they are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(host: &Host, options: &Options) -> Result<ExitCode, Fault> {
    let allow = options.word == Word::Yes;
    if options.session && !allow {
        return Err(Fault::new(Blame::Caller, "--session goes with yes only"));
    }
    let ledger = engine::open_ledger(host)?;
    let id = ledger.find_approval(&options.approval).map_err(engine::store_fault)?;
    let row = ledger.approval(&id).map_err(engine::store_fault)?;
    let row =
        row.ok_or_else(|| Fault::new(Blame::Caller, format!("there is no approval `{id}`")))?;
    let reach = if options.session { Reach::Session } else { Reach::Once };
    let answer = Answer { allow, reach, reason: options.reason.clone() };
    let about = About { session: row.session, run: row.run.clone(), turn: row.turn };
    let event = Event::ApprovalAnswered { approval: id.clone(), answer };
    ledger.append(vec![Draft { cause: None, about, event }]).map_err(engine::store_fault)?;
    let mut out = anstream::stdout().lock();
    writeln!(out, "{id}: {}", if allow { "yes" } else { "no" })?;
    if let Some(run) = row.run
        && let Some(run) = ledger.run(&run).map_err(engine::store_fault)?
        && run.status == RunStatus::PausedForApproval
    {
        writeln!(out, "  agentry resume {}", run.id)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn list(host: &Host, options: &ListOptions) -> Result<ExitCode, Fault> {
    let ledger = engine::open_ledger(host)?;
    let rows = if options.all { ledger.approvals() } else { ledger.approvals_waiting() };
    let rows = rows.map_err(engine::store_fault)?;
    let mut out = anstream::stdout().lock();
    match options.format {
        Format::Json => {
            let all: Vec<_> = rows.iter().map(as_json).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        Format::Text if rows.is_empty() => writeln!(out, "nothing waits for an answer")?,
        Format::Text => {
            for row in &rows {
                write_one(&mut out, row)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(row: &ApprovalRow) -> serde_json::Value {
    json!({
        "id": row.approval.id, "status": row.status.as_str(), "runId": row.run,
        "sessionId": row.session, "turnId": row.turn, "call": row.approval.call,
        "ruling": row.approval.ruling, "digest": row.approval.digest, "answer": row.answer,
        "asked": row.asked,
    })
}

fn write_one(out: &mut dyn Write, row: &ApprovalRow) -> std::io::Result<()> {
    let run = row.run.as_ref().map_or("", |run| run.as_str());
    let approval = &row.approval;
    writeln!(out, "{}  {}  {}  {run}", approval.id, row.status.as_str(), approval.call.tool)?;
    writeln!(out, "  {}", escaped(&approval.call.input.to_string()))?;
    if let Some(finding) = approval.ruling.deciding() {
        let rule = finding.rule.as_deref().unwrap_or("built-in");
        writeln!(out, "  why: {} ({rule})", escaped(&finding.why))?;
    }
    Ok(())
}
