//! Tool calls: proposed, started, finished, each with the entry that records it.
//!
//! Must never: change a call that finished.

use agentry_protocol::event::{CallConfinement, Permit};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{OutcomeStatus, ToolCall};
use agentry_protocol::{CallId, RunId, SessionId, TurnId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{PlacedEntry, run};
use crate::column::strange;
use crate::error::Error;
use crate::ledger::Ledger;

/// A call with its status and entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRow {
    /// The id of the call.
    pub id: CallId,
    /// The run of the call.
    pub run: Option<RunId>,
    /// The turn of the call.
    pub turn: Option<TurnId>,
    /// The session of the call.
    pub session: Option<SessionId>,
    /// The tool.
    pub tool: ToolName,
    /// The status.
    pub status: CallStatus,
    /// The permit; None before the start.
    pub permit: Option<Permit>,
    /// The confinement; None before the start.
    pub under: Option<CallConfinement>,
    /// The entry that proposed it.
    pub proposed_seq: u64,
    /// The entry that started it.
    pub started_seq: Option<u64>,
    /// The entry that settled it.
    pub finished_seq: Option<u64>,
}

/// The status of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// The model proposed it, and it has not started.
    Proposed,
    /// It has started and has no outcome.
    Started,
    /// It has started and was asked to stop.
    Stopping,
    /// It has this outcome.
    Finished(OutcomeStatus),
}

const COLUMNS: &str =
    "id, run, turn, session, tool, status, permit, under, proposed_seq, started_seq, finished_seq";

impl CallStatus {
    const ALL: [Self; 8] = [
        Self::Proposed,
        Self::Started,
        Self::Stopping,
        Self::Finished(OutcomeStatus::Done),
        Self::Finished(OutcomeStatus::Failed),
        Self::Finished(OutcomeStatus::Refused),
        Self::Finished(OutcomeStatus::Stopped),
        Self::Finished(OutcomeStatus::Uncertain),
    ];

    /// Returns the word for this value, as stored in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Started => "started",
            Self::Stopping => "stopping",
            Self::Finished(OutcomeStatus::Done) => "done",
            Self::Finished(OutcomeStatus::Failed) => "failed",
            Self::Finished(OutcomeStatus::Refused) => "refused",
            Self::Finished(OutcomeStatus::Stopped) => "stopped",
            Self::Finished(OutcomeStatus::Uncertain) => "uncertain",
        }
    }
}

impl CallRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |index| row.get::<_, Option<String>>(index);
        let seq = |index| row.get::<_, Option<i64>>(index).map(|seq| seq.map(i64::cast_unsigned));
        let status: String = row.get(5)?;
        let status = CallStatus::ALL
            .into_iter()
            .find(|known| known.as_str() == status)
            .ok_or_else(|| strange(5, &status))?;
        let permit = text(6)?
            .map(|text| serde_json::from_str(&text).map_err(|_| strange(6, &text)))
            .transpose()?;
        let under = text(7)?
            .map(|text| serde_json::from_str(&text).map_err(|_| strange(7, &text)))
            .transpose()?;
        let tool: String = row.get(4)?;
        Ok(Self {
            id: CallId::new(row.get::<_, String>(0)?),
            run: text(1)?.map(RunId::new),
            turn: text(2)?.map(TurnId::new),
            session: text(3)?.map(SessionId::new),
            tool: serde_json::from_value(tool.clone().into()).map_err(|_| strange(4, &tool))?,
            status,
            permit,
            under,
            proposed_seq: row.get::<_, i64>(8)?.cast_unsigned(),
            started_seq: seq(9)?,
            finished_seq: seq(10)?,
        })
    }

    fn by_id(sql: &Connection, id: &CallId) -> rusqlite::Result<Option<Self>> {
        let text = format!("SELECT {COLUMNS} FROM calls WHERE id = ?1");
        sql.prepare_cached(&text)?.query_row([id.as_str()], Self::read).optional()
    }

    /// Returns the calls of a run, in the order of their proposals.
    fn of_run(sql: &Connection, id: &RunId) -> rusqlite::Result<Vec<Self>> {
        let text = format!("SELECT {COLUMNS} FROM calls WHERE run = ?1 ORDER BY proposed_seq");
        sql.prepare_cached(&text)?.query_map([id.as_str()], Self::read)?.collect()
    }

    /// Returns the calls of a turn, in the order of their proposals.
    fn of_turn(sql: &Connection, id: &TurnId) -> rusqlite::Result<Vec<Self>> {
        let text = format!("SELECT {COLUMNS} FROM calls WHERE turn = ?1 ORDER BY proposed_seq");
        sql.prepare_cached(&text)?.query_map([id.as_str()], Self::read)?.collect()
    }
}

impl Ledger {
    /// Returns a call; None if there is none with this id.
    pub fn call(&self, id: &CallId) -> Result<Option<CallRow>, Error> {
        self.ask(|sql| CallRow::by_id(sql, id))
    }

    /// Returns the calls of a run, in the order of their proposals.
    pub fn calls_of_run(&self, run: &RunId) -> Result<Vec<CallRow>, Error> {
        self.ask(|sql| CallRow::of_run(sql, run))
    }

    /// Returns the calls of a turn, in the order of their proposals.
    pub fn calls_of_turn(&self, turn: &TurnId) -> Result<Vec<CallRow>, Error> {
        self.ask(|sql| CallRow::of_turn(sql, turn))
    }
}

pub(super) fn proposed(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    call: &ToolCall,
) -> rusqlite::Result<()> {
    let status = CallStatus::Proposed.as_str();
    run(
        sql,
        "INSERT OR IGNORE INTO calls (id, run, turn, session, tool, status, proposed_seq)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            call.id.as_str(),
            entry.run(),
            entry.turn(),
            entry.session(),
            call.tool.as_str(),
            status,
            entry.seq
        ],
    )?;
    Ok(())
}

pub(super) fn started(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    call: &CallId,
    by: &Permit,
    under: &CallConfinement,
) -> rusqlite::Result<()> {
    let permit = serde_json::to_string(by).expect("a permit is plain JSON");
    let under = serde_json::to_string(under).expect("a level and a hash are plain JSON");
    run(
        sql,
        "UPDATE calls SET status = ?2, permit = ?3, under = ?4, started_seq = ?5
         WHERE id = ?1 AND started_seq IS NULL AND finished_seq IS NULL",
        params![call.as_str(), CallStatus::Started.as_str(), permit, under, entry.seq],
    )?;
    Ok(())
}

pub(super) fn finished(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    call: &CallId,
    outcome: OutcomeStatus,
) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE calls SET status = ?2, finished_seq = ?3 WHERE id = ?1 AND finished_seq IS NULL",
        params![call.as_str(), CallStatus::Finished(outcome).as_str(), entry.seq],
    )?;
    Ok(())
}

pub(super) fn refused(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    call: &CallId,
) -> rusqlite::Result<()> {
    finished(sql, entry, call, OutcomeStatus::Refused)
}

/// Sets a call back to proposed, since it was not made after all.
pub(super) fn withheld(sql: &Connection, call: &CallId) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE calls SET status = ?2, permit = NULL, under = NULL, started_seq = NULL
         WHERE id = ?1 AND finished_seq IS NULL",
        params![call.as_str(), CallStatus::Proposed.as_str()],
    )?;
    Ok(())
}

pub(super) fn stopped(sql: &Connection, call: &CallId) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE calls SET status = ?2
         WHERE id = ?1 AND started_seq IS NOT NULL AND finished_seq IS NULL",
        params![call.as_str(), CallStatus::Stopping.as_str()],
    )?;
    Ok(())
}
