//! `agentry answer` and `agentry approvals`: answers and lists approvals.
//!
//! Must never: answer without a person's command, or answer twice.

use std::io::Write;
use std::process::ExitCode;

use agentry_kernel::identity::TERMINAL;
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_runtime::commands::approvals::{self, AnswerRequest};
use agentry_store::ApprovalRow;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::OutputFormat;
use super::grants::context;
use crate::approval_text;
use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::fault::{Blame, Fault};

#[derive(Args)]
pub(crate) struct Options {
    /// The approval, by its id or a part of it
    approval: String,
    /// The answer
    #[arg(value_enum)]
    word: AnswerChoice,
    /// The reason; a `no` sends it to the agent
    #[arg(long)]
    reason: Option<String>,
    /// Allow the same call for the rest of the session
    #[arg(long)]
    session: bool,
    /// Replace the arguments of the call (a JSON object)
    #[arg(long, value_name = "JSON")]
    edit: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AnswerChoice {
    /// Allow the call
    #[value(alias = "y")]
    Yes,
    /// Deny the call
    #[value(alias = "n")]
    No,
}

#[derive(Args)]
pub(crate) struct ApprovalListOptions {
    /// Include answered and withdrawn approvals
    #[arg(long)]
    all: bool,
    /// Output format of the list
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let allow = options.word == AnswerChoice::Yes;
    if options.session && !allow {
        return Err(Fault::new(Blame::Caller, "--session can only be used with `yes`"));
    }
    let ledger = bootstrap::open_ledger(host)?;
    let id = ledger.find_approval(&options.approval).map_err(bootstrap::store_fault)?;
    let reach = if options.session { ApprovalScope::Session } else { ApprovalScope::Once };
    let edit = options.edit.as_deref().map(edited).transpose()?;
    let reason = options.reason.clone();
    let answer = ApprovalAnswer { allow, reach, reason, edit, expired: false, by: None };
    let redactor = host.redactor()?;
    let request = AnswerRequest { approval: &id, answer, by: TERMINAL, digest: None, run: None };
    let answered = approvals::answer(context(&ledger, &redactor), request);
    let answered = answered.map_err(command_fault)?;
    let mut out = crate::output::stdout().lock();
    writeln!(out, "{id}: {}", if allow { "yes" } else { "no" })?;
    super::requests::write_next_step(&ledger, &answered.row, &mut out)?;
    Ok(ExitCode::SUCCESS)
}

/// Parses the arguments that replace those of the call; they must be a JSON object.
fn edited(text: &str) -> Result<Value, Fault> {
    let wrong = |why: String| {
        Fault::new(Blame::Caller, format!("--edit is not a JSON object: {why}"))
            .hint("write --edit '{\"command\": \"ls\"}'")
    };
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    match value {
        Value::Object(_) => Ok(value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(wrong(format!("`{value}` is not an object")))
        }
    }
}

pub(crate) fn list(host: &CliContext, options: &ApprovalListOptions) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    let rows = if options.all { ledger.approvals() } else { ledger.approvals_waiting() };
    let rows = rows.map_err(bootstrap::store_fault)?;
    let mut out = crate::output::stdout().lock();
    match options.format {
        OutputFormat::Json => {
            let all: Vec<_> = rows.iter().map(as_json).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        OutputFormat::Text if rows.is_empty() => writeln!(out, "no approvals wait for an answer")?,
        OutputFormat::Text => {
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
    writeln!(out, "  {}", approval_text::in_one_line(&approval.call.input))?;
    for line in approval_text::facts(approval) {
        writeln!(out, "  {line}")?;
    }
    if let Some(finding) = approval.ruling.deciding() {
        let rule = finding.rule.as_deref().unwrap_or("built-in");
        writeln!(out, "  why: {} ({rule})", approval_text::legible_text(&finding.why))?;
    }
    for line in approval.facts.change_summary().unwrap_or_default().lines() {
        writeln!(out, "  {}", approval_text::legible_text(line))?;
    }
    Ok(())
}
