//! `agentry show`, `show run`, `show session`, `show turn`: records of the ledger.
//!
//! Must never: show a fact that is not recorded.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_protocol::confinement::Connection;
use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::Event;
use agentry_protocol::intake::{AccessChange, IntakeStage};
use agentry_protocol::tool_call::ToolOutcome;
use agentry_protocol::{ApprovalId, CallId, RunId, SessionId, TurnId};
use agentry_store::{EntryFilter, Ledger, RunRow};
use clap::Args;
use serde_json::{Value, json};

use super::OutputFormat;
use crate::agent_events::in_words;
use crate::bootstrap::{self, store_fault};
use crate::cli_context::CliContext;
use crate::diagnostics::{escaped, visible_line};
use crate::fault::Fault;
use crate::limits::{SHOWN_ENTRIES_MAX, SHOWN_RUNS_MAX};
use crate::outcome_text::hidden;
use crate::program_text;
use crate::text_output::compacted;

#[derive(Args)]
pub(crate) struct Options {
    /// A run, session or turn, by its id [default: latest runs]
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,
    /// Follow new entries
    #[arg(long)]
    pub(super) follow: bool,
    /// Output format of the record
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(super) format: OutputFormat,
}

/// Kind of record to find.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Any,
    Run,
    Session,
    Turn,
}

enum RecordId {
    Run(RunId),
    Session(SessionId),
    Turn(TurnId),
}

pub(crate) fn run(host: &CliContext, kind: Kind, options: &Options) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger_to_read(host)?;
    let mut out = crate::output::stdout().lock();
    let Some(text) = &options.id else {
        match kind {
            Kind::Session => list_sessions(&ledger, options.format, &mut out)?,
            Kind::Any | Kind::Run | Kind::Turn => list_runs(&ledger, options.format, &mut out)?,
        }
        return Ok(ExitCode::SUCCESS);
    };
    let found = find(&ledger, kind, text)?;
    let filter = match &found {
        RecordId::Run(id) => EntryFilter { run: Some(id.clone()), ..EntryFilter::default() },
        RecordId::Session(id) => {
            EntryFilter { session: Some(id.clone()), ..EntryFilter::default() }
        }
        RecordId::Turn(id) => EntryFilter { turn: Some(id.clone()), ..EntryFilter::default() },
    };
    match (options.format, &found) {
        (OutputFormat::Json, RecordId::Run(id)) if !options.follow => {
            let record = run_record(&ledger, id)?;
            writeln!(out, "{}", serde_json::to_string_pretty(&record)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        (OutputFormat::Text, RecordId::Run(id)) => {
            if let Some(row) = ledger.run(id).map_err(store_fault)? {
                write_run(&mut out, &row)?;
            }
        }
        _ => {}
    }
    let mut after = 0;
    loop {
        let entries = ledger.read_from(after, &filter, SHOWN_ENTRIES_MAX).map_err(store_fault)?;
        let Some(last) = entries.last() else { break };
        after = last.seq;
        write_entries(&mut out, &entries, options.format)?;
    }
    if options.follow {
        follow(&ledger, &found, (after, filter), options.format, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints new entries until the run or turn ends; a session is followed forever.
fn follow(
    ledger: &Ledger,
    found: &RecordId,
    (after, filter): (u64, EntryFilter),
    format: OutputFormat,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    let over = |event: &Event| match found {
        RecordId::Run(_) => matches!(event, Event::RunEnded { .. }),
        RecordId::Turn(_) => matches!(event, Event::TurnEnded { .. }),
        RecordId::Session(_) => false,
    };
    let already = match found {
        RecordId::Run(id) => {
            ledger.run(id).map_err(store_fault)?.is_some_and(|row| row.ended.is_some())
        }
        RecordId::Turn(id) => {
            ledger.turn(id).map_err(store_fault)?.is_some_and(|row| row.ended_seq.is_some())
        }
        RecordId::Session(_) => false,
    };
    if already {
        return Ok(());
    }
    let mut tail = ledger.tail(after, filter).map_err(store_fault)?;
    loop {
        let entries = tail.next(Duration::from_secs(3600)).map_err(store_fault)?;
        let last = entries.iter().position(|envelope| over(&envelope.event));
        write_entries(out, &entries[..last.map_or(entries.len(), |last| last + 1)], format)?;
        out.flush()?;
        if last.is_some() {
            return Ok(());
        }
    }
}

fn find(ledger: &Ledger, kind: Kind, text: &str) -> Result<RecordId, Fault> {
    let run = || ledger.find_run(text).map(RecordId::Run).map_err(store_fault);
    let session = || ledger.find_session(text).map(RecordId::Session).map_err(store_fault);
    let turn = || ledger.find_turn(text).map(RecordId::Turn).map_err(store_fault);
    match kind {
        Kind::Run => run(),
        Kind::Session => session(),
        Kind::Turn => turn(),
        Kind::Any if text.starts_with("trn") => turn(),
        Kind::Any if text.starts_with("ses") => session(),
        Kind::Any if text.starts_with("run") => run(),
        Kind::Any => session().or_else(|_| run()).or_else(|_| turn()),
    }
}

fn write_entries(
    out: &mut dyn Write,
    entries: &[Envelope],
    format: OutputFormat,
) -> Result<(), Fault> {
    for envelope in entries {
        match format {
            OutputFormat::Json => writeln!(out, "{}", serde_json::to_string(envelope)?)?,
            OutputFormat::Text => {
                writeln!(out, "{:>6}  {}", envelope.seq, in_one_line(&envelope.event))?
            }
        }
    }
    Ok(())
}

fn answered(approval: &ApprovalId, answer: &ApprovalAnswer) -> String {
    let word = match (answer.expired, answer.allow, answer.reach) {
        (true, _, _) => "expired".to_owned(),
        (false, true, ApprovalScope::Once) => "yes".to_owned(),
        (false, true, reach) => format!("yes, {}", reach.as_str()),
        (false, false, _) => "no".to_owned(),
    };
    let edit = answer.edit.as_ref().map_or_else(String::new, |to| format!(", changed to {to}"));
    let word = word + &edit;
    let reason = answer.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let by = answer.by.as_ref().map_or_else(String::new, |by| format!(" (by {by})"));
    format!("{approval} answered{by}: {word}{reason}")
}

fn connected(call: &CallId, connection: &Connection) -> String {
    let Connection { host, port, refused, bytes_out, bytes_in } = connection;
    match refused {
        None => format!("{call} reached {host}:{port}: {bytes_out} bytes out, {bytes_in} in"),
        Some(why) => format!("{call} was denied {host}:{port}: {why}"),
    }
}

/// Describes an entry in one line, for people.
#[expect(clippy::too_many_lines, reason = "an arm for each event, and no logic in them")]
fn in_one_line(event: &Event) -> String {
    let words = match event {
        Event::PromptReceived { content } => format!("prompt: {content}"),
        Event::SteerReceived { content, .. } => format!("steer: {content}"),
        Event::CancelReceived {} => "cancellation requested".to_owned(),
        Event::ModeReceived { mode, .. } => format!("mode requested: {}", mode.as_str()),
        Event::LossAccepted { last, known, .. } => {
            format!("loss of entries {} to {known} accepted", last.min(known) + 1)
        }
        Event::ApprovalAnswered { approval, answer } => answered(approval, answer),
        Event::ToolAccessChanged { .. } => "tool-access.json changed".to_owned(),
        Event::Intake(intake) => way_in(intake),
        Event::Access(change) => access_changed(change),
        Event::Job(change) => program_text::job(change),
        Event::Hook(change) => program_text::hook(change),
        Event::EventHook(change) => program_text::event_hook(change),
        Event::Trust(change) => program_text::trust(change),
        Event::SessionOpened { key, agent, .. } => format!("session `{key}` with {agent}"),
        Event::RunCreated(plan) => format!(
            "run of {} with {}, {}, {} steps",
            plan.agent,
            plan.asked.model,
            plan.mode.as_str(),
            plan.steps.len()
        ),
        Event::RunResumed {} => "resumed".to_owned(),
        Event::SandboxOpened { attestation } => {
            let count = attestation.escapes.len();
            format!("sandbox: {}, {count} escapes tried, all blocked", attestation.level)
        }
        Event::SandboxMissing { why } => format!("no sandbox: {why}"),
        Event::ConnectionEnded { call, connection } => connected(call, connection),
        Event::RunPaused { approvals } => {
            format!("paused, waiting for {} answers", approvals.len())
        }
        Event::RunEnded { ending, message } => {
            format!("run ended: {}", in_words(*ending, message.as_deref()))
        }
        Event::StepStarted { index } => format!("step {} starts", index + 1),
        Event::StepEnded { index, status } => format!("step {} {}", index + 1, status.as_str()),
        Event::TurnStarted(plan) => match &plan.compaction {
            None => format!("turn starts: {}", plan.prompt),
            Some(one) => format!(
                "compaction starts ({}): turns through {} are summarized",
                one.reason.as_str(),
                one.summarized_through
            ),
        },
        Event::InputTaken { input } => format!("read entry {input}"),
        Event::ModelAsked { step, bytes, check, .. } => {
            let what = if *check { "is asked if the work is done" } else { "is called" };
            format!("the model {what} (request {step}, {bytes} bytes)")
        }
        Event::ModelReplied { reply, .. } => {
            format!("the model replies with {} calls: {}", reply.calls.len(), reply.text)
        }
        Event::ModelFailed { failure, .. } => format!("the model fails: {}", failure.message),
        Event::ModelRetried { attempt, failure, wait_ms, .. } => {
            format!("attempt {attempt} fails: {}; retry in {wait_ms} ms", failure.message)
        }
        Event::ModelReplaced { from, to, failure, .. } => {
            format!("{from} fails: {}; {to} is called instead", failure.message)
        }
        Event::CallProposed { call, ruling } => {
            let by = ruling.deciding().and_then(|finding| finding.rule.clone());
            let by = by.map_or_else(String::new, |rule| format!(" ({rule})"));
            format!("{} {} → {}{by}", call.tool, call.input, ruling.verdict)
        }
        Event::ApprovalAsked(approval) => {
            format!("{} requested for {}", approval.id, approval.call.tool)
        }
        Event::CallStarted { call, by, under, edited } => {
            let by = serde_json::to_string(by).unwrap_or_default();
            let edited = edited.as_ref().map(|one| format!(", changed to {}", one.input));
            format!(
                "{call} starts (sandbox: {}), allowed by {by}{}",
                under.level,
                edited.unwrap_or_default()
            )
        }
        Event::CallFinished { call, outcome } => {
            format!("{call} {}: {}", status(outcome), outcome.text)
        }
        Event::CallWithheld { call, facts } => {
            let changes: Vec<String> =
                facts.changes.iter().map(|change| change.summary_line()).collect();
            format!("{call} is withheld and ruled on again: {}", changes.join("; "))
        }
        Event::CallRefused { call, why } => format!("{call} refused: {why}"),
        Event::CallStopped { call } => format!("{call} is stopped"),
        Event::CheckStarted { iteration, command } => format!("check {iteration}: {command}"),
        Event::CheckFinished { outcome, .. } => {
            format!("check {}", status(outcome))
        }
        Event::IterationCounted { count } => format!("iteration {count}"),
        Event::TurnEnded { context, .. } if context.compaction.is_some() => {
            let one = context.compaction.as_ref();
            one.map_or_else(String::new, |one| {
                format!("compaction ended: {}: {}", compacted(one), one.summary)
            })
        }
        Event::TurnEnded { ending, usage, .. } => format!(
            "turn ended: {}, {} tokens in, {} out",
            in_words(*ending, None),
            usage.input_tokens,
            usage.output_tokens
        ),
    };
    cut(&visible_line(&escaped(&words)))
}

fn way_in(intake: &IntakeStage) -> String {
    match intake {
        IntakeStage::Received { inbound } => {
            format!(
                "{} from {}: {}",
                inbound.event_id, inbound.sender.sender_id, inbound.body.content
            )
        }
        IntakeStage::Decided { record } => {
            let who = record.principal.name.as_deref().unwrap_or(&record.sender_identifier);
            format!(
                "{} {} on {}: {}",
                record.principal.kind, who, record.channel, record.decision.effect
            )
        }
        IntakeStage::Routed(routed) => {
            format!("{} goes to {} ({})", routed.event, routed.agent, routed.settings.mode)
        }
        IntakeStage::Unrun { event, why, detail } => {
            let detail = detail.as_ref().map_or_else(String::new, |detail| format!(": {detail}"));
            format!("{event} is ignored: {why}{detail}")
        }
        IntakeStage::ChunkSent { event, chunk, .. } => {
            format!("chunk {} for {event} sent", chunk + 1)
        }
        IntakeStage::Delivered(delivered) => match &delivered.error {
            None => format!("answer to {} sent in {} chunks", delivered.event, delivered.chunks),
            Some(error) => format!("answer to {} not sent: {error}", delivered.event),
        },
        IntakeStage::QueueSet { wish } => {
            format!("queue mode set: {}", serde_json::to_string(wish).unwrap_or_default())
        }
    }
}

fn access_changed(change: &AccessChange) -> String {
    match change {
        AccessChange::GrantGiven { grant } => format!("{} given by {}", grant.id, grant.granted_by),
        AccessChange::GrantRevoked { grant, by, .. } => format!("{grant} revoked by {by}"),
        AccessChange::GrantExpired { grant } => format!("{grant} expired"),
        AccessChange::EntityChanged { entity } => {
            format!("entity {} saved as {}", entity.id, entity.name)
        }
        AccessChange::EntityRemoved { entity } => format!("entity {entity} removed"),
        AccessChange::TokenIssued { token } => {
            format!("{} `{}` created, a {}", token.id, token.name, token.kind.as_str())
        }
        AccessChange::TokenRevoked { token, by, .. } => format!("{token} revoked by {by}"),
        AccessChange::AuditTrimmed(_) => "old audit records are no longer listed".to_owned(),
    }
}

fn status(outcome: &ToolOutcome) -> String {
    let status = format!("{:?}", outcome.status).to_lowercase();
    match hidden(outcome) {
        Some(note) => format!("{status} ({note})"),
        None => status,
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(crate::limits::SHOWN_LINE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

fn list_runs(ledger: &Ledger, format: OutputFormat, out: &mut dyn Write) -> Result<(), Fault> {
    let runs = ledger.runs(SHOWN_RUNS_MAX).map_err(store_fault)?;
    match format {
        OutputFormat::Json => {
            let all: Result<Vec<Value>, Fault> =
                runs.iter().map(|run| run_record(ledger, &run.id)).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&all?)?)?;
        }
        OutputFormat::Text if runs.is_empty() => writeln!(out, "there is no run yet")?,
        OutputFormat::Text => {
            for run in &runs {
                write_run(out, run)?;
            }
        }
    }
    Ok(())
}

fn list_sessions(ledger: &Ledger, format: OutputFormat, out: &mut dyn Write) -> Result<(), Fault> {
    let sessions = ledger.sessions().map_err(store_fault)?;
    match format {
        OutputFormat::Json => {
            let all: Vec<Value> = sessions
                .iter()
                .map(|one| {
                    json!({
                        "id": one.id, "key": one.key, "agent": one.agent, "head": one.head,
                        "turns": one.turns, "created": one.created, "updated": one.updated,
                    })
                })
                .collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        OutputFormat::Text => {
            for one in &sessions {
                writeln!(out, "{}  {}  {}  {} turns", one.id, one.key, one.agent, one.turns)?;
            }
        }
    }
    Ok(())
}

fn write_run(out: &mut dyn Write, run: &RunRow) -> io::Result<()> {
    let what = run.task.as_ref().map_or(run.prompt.as_str(), |task| task.as_str());
    let what: String = visible_line(&escaped(what)).chars().take(60).collect();
    writeln!(out, "{}  {:<20}  {}  {what}", run.id, run.status.as_str(), run.agent)
}

/// Returns the record of a run as JSON.
fn run_record(ledger: &Ledger, id: &RunId) -> Result<Value, Fault> {
    let plan =
        agentry_runtime::definitions::plan::recorded(ledger, id).map_err(bootstrap::fault)?;
    let row = ledger.run(id).map_err(store_fault)?;
    let steps = ledger.steps(id).map_err(store_fault)?;
    let filter = EntryFilter { run: Some(id.clone()), ..EntryFilter::default() };
    let entries = ledger.read_from(0, &filter, usize::MAX >> 1).map_err(store_fault)?;
    let step_values: Vec<Value> = steps
        .iter()
        .map(|step| {
            let of_step = |one: &&Envelope| step.turn.is_some() && one.about.turn == step.turn;
            let calls: Vec<Value> = tool_calls(entries.iter().filter(of_step));
            let output = entries.iter().filter(of_step).find_map(|one| match &one.event {
                Event::TurnEnded { result, .. } => result.clone(),
                _ => None,
            });
            json!({
                "step_id": step.id, "uses": step.uses, "agent": { "id": step.agent },
                "status": step.status.as_str(), "input": plan.given.inputs, "output": output,
                "tool_calls": calls,
            })
        })
        .collect();
    let status = row.as_ref().map_or("unknown", |row| row.status.as_str());
    let created = row.as_ref().map_or(0, |row| row.created);
    Ok(json!({
        "run_id": id, "session_id": row.as_ref().and_then(|row| row.session.clone()),
        "task": plan.task.as_ref().map(|task| json!({ "id": task })),
        "agent": { "id": plan.agent }, "model": plan.asked.model, "mode": plan.mode.as_str(),
        "status": status, "ending": row.as_ref().and_then(|row| row.ending),
        "created_at": bootstrap::rfc3339(created), "prompt": plan.prompt, "inputs": plan.given.inputs,
        "workspace": plan.workspace, "files": plan.files, "steps": step_values,
    }))
}

fn tool_calls<'a>(entries: impl Iterator<Item = &'a Envelope> + Clone) -> Vec<Value> {
    let proposed = entries.clone().filter_map(|one| match &one.event {
        Event::CallProposed { call, ruling } => Some((call, ruling)),
        _ => None,
    });
    proposed
        .map(|(call, ruling)| {
            let outcome = entries.clone().find_map(|one| match &one.event {
                Event::CallFinished { call: id, outcome } if *id == call.id => Some(json!(outcome)),
                Event::CallRefused { call: id, why } if *id == call.id => {
                    Some(json!({ "status": "refused", "text": why }))
                }
                _ => None,
            });
            let started = entries.clone().find_map(|one| match &one.event {
                Event::CallStarted { call: id, by, under, edited } if *id == call.id => {
                    Some(((by, under), edited))
                }
                _ => None,
            });
            let (started, edited) = started.unzip();
            let (by, under) = started.unzip();
            let mut value = json!({ "id": call.id, "tool": call.tool, "input": call.input,
                    "ruling": ruling, "permit": by, "under": under, "outcome": outcome });
            if let Some(Some(edited)) = edited {
                value["edited"] = json!(edited);
            }
            value
        })
        .collect()
}
