//! `agentry requests`: lists and answers requests for permission.
//!
//! Must never: answer without a person's command, or show an expired request as open.

use std::io::Write;
use std::process::ExitCode;

use agentry_kernel::identity::TERMINAL;
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_runtime::commands::approvals::{self, AnswerRequest};
use agentry_runtime::inbound::permission_request;
use agentry_store::{ApprovalRow, ApprovalStatus, Ledger, RunStatus};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::grants::{context, span_ms};
use crate::approval_text;
use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::diagnostics::escaped;
use crate::fault::{Blame, Fault};

/// Duration in milliseconds of an approval for a day.
const DAY_MS: u64 = agentry_kernel::limits::GRANT_DAY_MS;

#[derive(Subcommand)]
pub(crate) enum RequestsCommand {
    /// List pending requests, or all
    List(RequestListOptions),
    /// Show a request with all its facts
    Show(RequestShowOptions),
    /// Approve a request: once, for a day, or always
    Approve(ApproveOptions),
    /// Deny a request
    Deny(DenyOptions),
}

#[derive(Args)]
pub(crate) struct RequestListOptions {
    /// Pending requests only (default)
    #[arg(long, conflicts_with = "all")]
    pending: bool,
    /// Include answered, expired and withdrawn requests
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct RequestShowOptions {
    /// The request, by its id or a part of it
    request: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct ApproveOptions {
    /// The request, by its id or a part of it
    request: String,
    /// This call only (default)
    #[arg(long, conflicts_with_all = ["duration", "always"])]
    once: bool,
    /// Grant the permission for this time: 24h
    #[arg(long, value_name = "TIME", conflicts_with = "always")]
    duration: Option<String>,
    /// Grant the permission until it is revoked
    #[arg(long)]
    always: bool,
}

#[derive(Args)]
pub(crate) struct DenyOptions {
    /// The request, by its id or a part of it
    request: String,
    /// The reason, sent to the agent
    #[arg(long)]
    reason: Option<String>,
}

pub(crate) fn run(host: &CliContext, what: &RequestsCommand) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    permission_request::expire_requests(&ledger, ledger.now()).map_err(bootstrap::fault)?;
    let mut out = crate::output::stdout().lock();
    match what {
        RequestsCommand::List(options) => list(&ledger, options, &mut out)?,
        RequestsCommand::Show(options) => {
            let row = find(&ledger, &options.request)?;
            if options.json {
                writeln!(out, "{}", serde_json::to_string_pretty(&as_json(&row))?)?;
            } else {
                write_whole(&row, &mut out)?;
            }
        }
        RequestsCommand::Approve(options) => {
            let yes = ApprovalAnswer::approved(reach(options)?);
            say(host, &ledger, &options.request, yes)?;
        }
        RequestsCommand::Deny(options) => {
            let no = ApprovalAnswer::declined(options.reason.clone());
            say(host, &ledger, &options.request, no)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn reach(options: &ApproveOptions) -> Result<ApprovalScope, Fault> {
    let Some(duration) = &options.duration else {
        return Ok(if options.always { ApprovalScope::Always } else { ApprovalScope::Once });
    };
    match span_ms(duration)? {
        DAY_MS => Ok(ApprovalScope::Day),
        _ => {
            let text =
                format!("a request can be approved once, for 24h or always, not for `{duration}`");
            let hint = "approve it once, and give a grant: agentry grants give --for TIME";
            Err(Fault::new(Blame::Caller, text).hint(hint))
        }
    }
}

fn find(ledger: &Ledger, text: &str) -> Result<ApprovalRow, Fault> {
    let id = ledger.find_approval(text).map_err(bootstrap::store_fault)?;
    let row = ledger.approval(&id).map_err(bootstrap::store_fault)?;
    match row.filter(|row| row.approval.request().is_some()) {
        Some(row) => Ok(row),
        None => {
            let text =
                format!("`{id}` is about the agent's own call, not a request for permission");
            Err(Fault::new(Blame::Caller, text).hint(format!("agentry answer {id} yes|no")))
        }
    }
}

fn say(
    host: &CliContext,
    ledger: &Ledger,
    text: &str,
    answer: ApprovalAnswer,
) -> Result<(), Fault> {
    let id = find(ledger, text)?.approval.id;
    let redactor = host.redactor()?;
    let allow = answer.allow;
    let request = AnswerRequest { approval: &id, answer, by: TERMINAL, digest: None, run: None };
    let answered = approvals::answer(context(ledger, &redactor), request);
    let answered = answered.map_err(command_fault)?;
    let word = if allow { "approved" } else { "denied" };
    let out = &mut crate::output::stdout().lock();
    match (&answered.grant, allow) {
        (Some(grant), _) => {
            let until = grant.expires_at.map(bootstrap::rfc3339);
            let until =
                until.map_or("until it is revoked".to_owned(), |end| format!("until {end}"));
            writeln!(out, "{id}: {word}, {} {until}", grant.id)?;
        }
        (None, true) => writeln!(out, "{id}: {word} once")?,
        (None, false) => writeln!(out, "{id}: {word}")?,
    }
    write_next_step(ledger, &answered.row, out)
}

/// Prints the command that resumes the run, if it is paused and no process works on it.
pub(super) fn write_next_step(
    ledger: &Ledger,
    row: &ApprovalRow,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    if let Some(run) = &row.run
        && let Some(run) = ledger.run(run).map_err(bootstrap::store_fault)?
        && run.status == RunStatus::PausedForApproval
    {
        writeln!(out, "  agentry resume {}", run.id)?;
    }
    Ok(())
}

fn list(ledger: &Ledger, options: &RequestListOptions, out: &mut dyn Write) -> Result<(), Fault> {
    let rows = ledger.requests(!options.all).map_err(bootstrap::store_fault)?;
    if options.json {
        let all: Vec<Value> = rows.iter().map(as_json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    if rows.is_empty() {
        writeln!(out, "{}", if options.all { "no requests" } else { "no pending requests" })?;
    }
    for row in &rows {
        let Some(request) = row.approval.request() else { continue };
        let who = agentry_kernel::permission_request::name_of(&request.requester);
        let what = approval_text::resources(request);
        writeln!(
            out,
            "{}  {}  {} on {}: {}",
            row.approval.id,
            word(row.status),
            escaped(&who),
            escaped(&request.requester_channel),
            escaped(&what)
        )?;
    }
    Ok(())
}

fn write_whole(row: &ApprovalRow, out: &mut dyn Write) -> Result<(), Fault> {
    let Some(request) = row.approval.request() else { return Ok(()) };
    let call = &row.approval.call;
    writeln!(out, "{}  {}", row.approval.id, word(row.status))?;
    for line in approval_text::request_lines(request) {
        writeln!(out, "  {}", approval_text::legible_text(&line))?;
    }
    writeln!(out, "  call: {} {}", call.tool, approval_text::in_one_line(&call.input))?;
    for line in approval_text::facts(&row.approval) {
        writeln!(out, "  {line}")?;
    }
    for finding in &row.approval.ruling.findings {
        let line = format!("{}: {}: {}", finding.stage, finding.verdict, finding.why);
        writeln!(out, "  {}", approval_text::legible_text(&line))?;
    }
    writeln!(out, "  asked: {}", bootstrap::rfc3339(row.asked))?;
    writeln!(out, "  open until: {}", bootstrap::rfc3339(request.expires_at))?;
    if let Some(reason) = row.answer.as_ref().and_then(|answer| answer.reason.as_ref()) {
        writeln!(out, "  answer: {}", escaped(reason))?;
    }
    Ok(())
}

fn word(status: ApprovalStatus) -> &'static str {
    match status {
        ApprovalStatus::Waiting => "pending",
        ApprovalStatus::Yes => "approved",
        ApprovalStatus::No => "denied",
        ApprovalStatus::Withdrawn => "withdrawn",
        ApprovalStatus::Expired => "expired",
    }
}

fn as_json(row: &ApprovalRow) -> Value {
    json!({
        "id": row.approval.id, "status": word(row.status), "runId": row.run,
        "sessionId": row.session, "turnId": row.turn, "call": row.approval.call,
        "ruling": row.approval.ruling, "request": row.approval.request(), "answer": row.answer,
        "asked": row.asked,
    })
}
