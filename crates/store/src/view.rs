//! The views: tables that are folded from the ledger, to answer queries quickly.
//!
//! The fold processes one entry after another and reads only the entry and the tables, so dropping
//! the tables and folding again gives equal rows. It accepts entries in any order: an entry that
//! makes no sense changes nothing. Each view has a file with its rows, its fold and its queries.
//!
//! Must never: be written by anything but the fold, refuse an entry, or read all of the past to
//! answer a question about a part of it.

mod approvals;
mod audit;
mod calls;
mod event_hooks;
mod grants;
mod inbound_stages;
mod inbounds;
mod invocations;
mod jobs;
mod queues;
mod runs;
mod sessions;
mod spending;
mod tokens;
mod trust;
mod turns;

use std::path::Path;

use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::{Ending, Event};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, StatementStatus};

use crate::artifact::Artifacts;
use crate::entry_log::EntryLog;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::LOG_ENTRIES_READ_MAX;
use crate::write_request::{ExclusiveOp, WriterRequest};

pub use approvals::{ApprovalRow, RequestHistory};
pub use audit::{AuditFilter, AuditRow, DecisionCount, DecisionGrouping, PolicyMatchFilter};
pub use calls::{CallRow, CallStatus};
pub use event_hooks::{EventHookRow, EventHookStatus, EventHookTimes};
pub use grants::{GrantActivity, GrantActivityRow};
pub use inbounds::{
    DeliveryRow, DeliveryStatus, InboundRow, OpenInbounds, RoutedRow, SpeakerCounts, WholeInbound,
};
pub use invocations::{HookEventRow, HookStats, InvocationFilter, InvocationRow};
pub use jobs::{JobFilter, JobRow};
pub use runs::{RunRow, RunStatus, StepRow};
pub use sessions::SessionRow;
pub use spending::{SpendingSubject, SpendingTotal};
pub use tokens::TokenRow;
pub use trust::RecordedDefinitions;
pub use turns::{TurnRow, TurnStatus};

pub(crate) use approvals::status as approval_status;
pub(crate) use event_hooks::{newest as newest_version, other_named as other_hook_named};
pub(crate) use grants::identity;
pub(crate) use inbounds::status as inbound_status;
pub(crate) use invocations::{
    invocation_status, is_settled as are_hooks_settled, pending as pending_invocation,
    status_of_its_own,
};
pub(crate) use jobs::{FoundJob, holder as workspace_holder};
pub(crate) use sessions::{by_key as session_by_key, place as session_place};
pub(crate) use spending::bill;
pub(crate) use turns::is_under_way as is_turn_under_way;

/// The tables with the columns that order their rows, in the order of a dump.
pub(crate) const TABLES: [(&str, &str); 27] = [
    ("access_changed", "one"),
    ("sessions", "id"),
    ("turns", "id"),
    ("runs", "id"),
    ("steps", "run, idx"),
    ("calls", "id"),
    ("approvals", "id"),
    ("spending", "seq"),
    ("inbounds", "id"),
    ("queues", "session"),
    ("audit", "seq"),
    ("audit_policies", "policy, seq"),
    ("grants", "id"),
    ("grant_log", "seq, grant_id"),
    ("entities", "id"),
    ("identities", "channel, identifier"),
    ("jobs", "id"),
    ("agent_states", "session"),
    ("event_hooks", "id"),
    ("event_hook_versions", "hook, version"),
    ("event_hooks_changed", "one"),
    ("hook_events", "event"),
    ("invocations", "id"),
    ("trust", "path"),
    ("trusted_addresses", "path"),
    ("known_definitions", "path, is_confirmed"),
    ("tokens", "id"),
];

const TABLES_SQL: [&str; 3] = [
    include_str!("view/tables.sql"),
    include_str!("view/intake.sql"),
    include_str!("view/hooks.sql"),
];

/// An entry with its number and time, as the fold reads it.
pub(crate) struct PlacedEntry<'a> {
    pub(crate) seq: i64,
    pub(crate) time: i64,
    pub(crate) about: &'a EntrySubject,
    pub(crate) event: &'a Event,
}

impl PlacedEntry<'_> {
    fn session(&self) -> Option<&str> {
        self.about.session.as_ref().map(|id| id.as_str())
    }

    fn run(&self) -> Option<&str> {
        self.about.run.as_ref().map(|id| id.as_str())
    }

    fn turn(&self) -> Option<&str> {
        self.about.turn.as_ref().map(|id| id.as_str())
    }
}

impl Ledger {
    /// Drops the views and folds them again from the entries.
    pub fn rebuild_views(&self) -> Result<(), Error> {
        self.shared.request(|reply| WriterRequest::Alone(ExclusiveOp::Rebuild(reply)))
    }

    /// Returns all rows of all views as text, in a fixed order.
    pub fn dump_views(&self) -> Result<String, Error> {
        self.ask(dump)
    }
}

/// Folds one entry into the tables.
pub(crate) fn fold(sql: &Connection, entry: &PlacedEntry<'_>) -> rusqlite::Result<()> {
    match entry.event {
        Event::PromptReceived { .. }
        | Event::CancelReceived {}
        | Event::LossAccepted { .. }
        | Event::ToolAccessChanged { .. }
        | Event::ModelAsked { .. }
        | Event::ModelFailed { .. }
        | Event::ModelRetried { .. }
        | Event::ModelReplaced { .. }
        | Event::SandboxOpened { .. }
        | Event::SandboxMissing { .. }
        | Event::ConnectionEnded { .. }
        | Event::CheckStarted { .. }
        | Event::CheckFinished { .. }
        | Event::IterationCounted { .. } => Ok(()),
        Event::Job(change) => jobs::fold(sql, entry, change),
        Event::Hook(change) => trust::hook(sql, entry, change),
        Event::EventHook(change) => event_hooks::fold(sql, entry, change),
        Event::Trust(change) => trust::fold(sql, entry, change),
        Event::Intake(intake) => inbound_stages::fold(sql, entry, intake),
        Event::Access(change) => grants::fold(sql, entry, change),
        Event::SteerReceived { event, .. } => match event {
            Some(event) => inbound_stages::steered(sql, entry, event),
            None => Ok(()),
        },
        Event::InputTaken { input } => inbound_stages::taken(sql, entry, *input),
        Event::ApprovalAnswered { approval, answer } => {
            approvals::answered(sql, entry, approval, answer)
        }
        Event::ModelReplied { reply, .. } => spending::replied(sql, entry, reply),
        Event::ApprovalAsked(approval) => approvals::asked(sql, entry, approval),
        Event::SessionOpened { key, agent, head } => {
            sessions::opened(sql, entry, key, agent, head.as_ref())
        }
        Event::RunCreated(plan) => {
            runs::created(sql, entry, plan)?;
            inbound_stages::run_created(sql, entry, plan)
        }
        Event::RunResumed {} => {
            runs::resumed(sql, entry)?;
            inbound_stages::run_resumed(sql, entry)
        }
        Event::RunPaused { .. } => {
            runs::paused(sql, entry)?;
            inbound_stages::run_paused(sql, entry)
        }
        Event::RunEnded { ending, .. } => {
            if runs::ended(sql, entry, *ending)? {
                approvals::withdrawn_of_run(sql, entry)?;
            }
            inbound_stages::run_ended(sql, entry, *ending)
        }
        Event::StepStarted { index } => runs::step_started(sql, entry, *index),
        Event::StepEnded { index, status } => runs::step_ended(sql, entry, *index, *status),
        Event::ModeReceived { mode, .. } => runs::mode_changed(sql, entry, *mode),
        Event::TurnStarted(plan) => turns::started(sql, entry, plan),
        Event::TurnEnded { ending, hash, messages, .. } => {
            turns::ended(sql, entry, *ending, hash, messages)
        }
        Event::CallProposed { call, .. } => calls::proposed(sql, entry, call),
        Event::CallStarted { call, by, under, .. } => calls::started(sql, entry, call, by, under),
        Event::CallFinished { call, outcome } => calls::finished(sql, entry, call, outcome.status),
        Event::CallRefused { call, .. } => calls::refused(sql, entry, call),
        Event::CallWithheld { call, .. } => calls::withheld(sql, call),
        Event::CallStopped { call } => calls::stopped(sql, call),
    }
}

/// Drops the tables and folds the whole log again. The caller holds the transaction.
pub(crate) fn rebuild(
    sql: &Connection,
    log: &mut dyn EntryLog,
    ledger: &Path,
    artifacts: &Artifacts,
) -> Result<(), Error> {
    let read = |error| Error::read(ledger, error);
    make_tables(sql).map_err(read)?;
    let mut seq = 0;
    loop {
        let page = log.after(sql, seq, LOG_ENTRIES_READ_MAX);
        let page = page.map_err(|failure| failure.of_read(ledger))?;
        let Some(last) = page.last() else { return Ok(()) };
        seq = last.seq;
        for row in page {
            refold(sql, &row.open(ledger, artifacts)?).map_err(read)?;
        }
    }
}

/// Drops the tables and creates them empty.
pub(crate) fn make_tables(sql: &Connection) -> rusqlite::Result<()> {
    for (table, _) in TABLES {
        sql.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
    }
    TABLES_SQL.iter().try_for_each(|text| sql.execute_batch(text))
}

/// Folds an envelope that was read from the ledger.
pub(crate) fn refold(sql: &Connection, envelope: &Envelope) -> rusqlite::Result<()> {
    let (seq, time) = (envelope.seq.cast_signed(), envelope.time.cast_signed());
    fold(sql, &PlacedEntry { seq, time, about: &envelope.about, event: &envelope.event })
}

/// Returns all rows as text, in an order that depends only on the rows.
pub(crate) fn dump(sql: &Connection) -> rusqlite::Result<String> {
    let mut text = String::new();
    for (table, order) in TABLES {
        let mut statement = sql.prepare(&format!("SELECT * FROM {table} ORDER BY {order}"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            text.push_str(table);
            text.push_str(&line(row)?);
            text.push('\n');
        }
    }
    Ok(text)
}

/// Formats one row as text.
pub(crate) fn line(row: &rusqlite::Row<'_>) -> rusqlite::Result<String> {
    let mut text = String::new();
    for index in 0..row.as_ref().column_count() {
        text.push_str(" | ");
        match row.get_ref(index)? {
            ValueRef::Null => text.push('-'),
            ValueRef::Integer(number) => text.push_str(&number.to_string()),
            ValueRef::Real(number) => text.push_str(&number.to_string()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                text.push_str(&format!("{:?}", String::from_utf8_lossy(bytes)));
            }
        }
    }
    Ok(text)
}

/// Executes a cached statement and returns the number of changed rows. All appends wait for it, so
/// it must find its rows by an index: its cost must not grow with the past.
fn run(sql: &Connection, text: &str, params: impl Params) -> rusqlite::Result<usize> {
    let mut statement = sql.prepare_cached(text)?;
    let rows = statement.execute(params)?;
    debug_assert_eq!(statement.reset_status(StatementStatus::FullscanStep), 0, "{text}");
    Ok(rows)
}

fn ending_word(ending: Ending) -> &'static str {
    match ending {
        Ending::Done => "done",
        Ending::Failed => "failed",
        Ending::Denied => "denied",
        Ending::LimitReached => "limit_reached",
        Ending::ModelFailed => "model_failed",
        Ending::Cancelled => "cancelled",
    }
}

fn ending_of(word: &str) -> Option<Ending> {
    let endings = [
        Ending::Done,
        Ending::Failed,
        Ending::Denied,
        Ending::LimitReached,
        Ending::ModelFailed,
        Ending::Cancelled,
    ];
    endings.into_iter().find(|ending| ending_word(*ending) == word)
}
