//! `agentry show`, `show run`, `show session`, `show turn`: records of the ledger.
//!
//! Must never: show a fact that is not recorded.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::Event;
use agentry_protocol::{RunId, SessionId, TurnId};
use agentry_store::{EntryFilter, Ledger, RunRow};
use clap::Args;
use serde_json::{Value, json};

use super::OutputFormat;
use crate::bootstrap::{self, store_fault};
use crate::cli_context::CliContext;
use crate::diagnostics::{escaped, visible_line};
use crate::event_description::EventDescriber;
use crate::fault::Fault;
use crate::limits::{SHOWN_ENTRIES_MAX, SHOWN_RUNS_MAX};

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
    let describer = EventDescriber::default();
    let mut writer = EntryWriter { out: &mut out, format: options.format, describer };
    let mut after = 0;
    loop {
        let entries = ledger.read_from(after, &filter, SHOWN_ENTRIES_MAX).map_err(store_fault)?;
        let Some(last) = entries.last() else { break };
        after = last.seq;
        writer.write(&entries)?;
    }
    if options.follow {
        follow(&ledger, &found, after, filter, &mut writer)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints new entries until the run or turn ends; a session is followed forever.
fn follow(
    ledger: &Ledger,
    found: &RecordId,
    after: u64,
    filter: EntryFilter,
    writer: &mut EntryWriter<'_>,
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
        writer.write(&entries[..last.map_or(entries.len(), |last| last + 1)])?;
        writer.out.flush()?;
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

/// Writer of entries in one format.
struct EntryWriter<'a> {
    out: &'a mut dyn Write,
    format: OutputFormat,
    describer: EventDescriber,
}

impl EntryWriter<'_> {
    fn write(&mut self, entries: &[Envelope]) -> Result<(), Fault> {
        for envelope in entries {
            let line = match self.format {
                OutputFormat::Json => serde_json::to_string(envelope)?,
                OutputFormat::Text => {
                    format!("{:>6}  {}", envelope.seq, self.describer.describe(envelope).record)
                }
            };
            writeln!(self.out, "{line}")?;
        }
        Ok(())
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
