//! `agentry answer` and `agentry approvals`: what waits for a person, and what a person says to it.
//!
//! Must never: answer for anybody, or answer twice.

use std::io::Write;
use std::process::ExitCode;

use agentry_kernel::identity::TERMINAL;
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_runtime::permission_request;
use agentry_store::ApprovalRow;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::Format;
use crate::asked;
use crate::engine;
use crate::fault::{Blame, Fault};
use crate::host::Host;
use crate::secret;

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
    /// Arguments, as JSON, that take the place of those of the call
    #[arg(long, value_name = "JSON")]
    edit: Option<String>,
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
    let reach = if options.session { ApprovalScope::Session } else { ApprovalScope::Once };
    let edit = options.edit.as_deref().map(edited).transpose()?;
    let reason = options.reason.clone();
    let answer = ApprovalAnswer {
        allow,
        reach,
        reason,
        edit,
        expired: false,
        by: Some(TERMINAL.to_owned()),
    };
    let redactor = secret::redactor(host)?;
    let answered =
        permission_request::answer((&ledger, &redactor), &id, answer, engine::new_number);
    let answered = answered.map_err(engine::fault)?;
    let mut out = crate::output::stdout().lock();
    writeln!(out, "{id}: {}", if allow { "yes" } else { "no" })?;
    super::requests::say_what_next(&ledger, &answered.row, &mut out)?;
    Ok(ExitCode::SUCCESS)
}

/// The arguments that take the place of those of a call.
fn edited(text: &str) -> Result<Value, Fault> {
    let wrong = |why: String| {
        Fault::new(Blame::Caller, format!("--edit takes the arguments as a JSON object: {why}"))
            .hint("write --edit '{\"command\": \"ls\"}'")
    };
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    match value {
        Value::Object(_) => Ok(value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(wrong(format!("`{value}` is none")))
        }
    }
}

pub(crate) fn list(host: &Host, options: &ListOptions) -> Result<ExitCode, Fault> {
    let ledger = engine::open_ledger(host)?;
    let rows = if options.all { ledger.approvals() } else { ledger.approvals_waiting() };
    let rows = rows.map_err(engine::store_fault)?;
    let mut out = crate::output::stdout().lock();
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

fn as_json(row: &ApprovalRow) -> Value {
    json!({
        "id": row.approval.id, "status": row.status.as_str(), "runId": row.run,
        "sessionId": row.session, "turnId": row.turn, "call": row.approval.call,
        "ruling": row.approval.ruling, "digest": row.approval.digest, "answer": row.answer,
        "asked": row.asked, "kind": row.approval.kind, "changes": row.approval.facts.changes,
    })
}

fn write_one(out: &mut dyn Write, row: &ApprovalRow) -> std::io::Result<()> {
    let run = row.run.as_ref().map_or("", |run| run.as_str());
    let approval = &row.approval;
    writeln!(out, "{}  {}  {}  {run}", approval.id, row.status.as_str(), approval.call.tool)?;
    writeln!(out, "  {}", asked::in_one_line(&approval.call.input))?;
    for line in asked::facts(approval) {
        writeln!(out, "  {line}")?;
    }
    if let Some(finding) = approval.ruling.deciding() {
        let rule = finding.rule.as_deref().unwrap_or("built-in");
        writeln!(out, "  why: {} ({rule})", asked::shown(&finding.why))?;
    }
    for line in approval.facts.change_summary().unwrap_or_default().lines() {
        writeln!(out, "  {}", asked::shown(line))?;
    }
    Ok(())
}
