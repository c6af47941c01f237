//! Questions to people, and whether they were answered.
//!
//! A question whose turn or run ended is withdrawn: there is nothing left to allow.
//!
//! Must never: change an answer.

use agentry_protocol::approval::{Answer, Approval};
use agentry_protocol::{ApprovalId, RunId, SessionId, TurnId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Placed, run, runs, strange};

/// A question as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalRow {
    /// What was asked, about which call.
    pub approval: Approval,
    /// Its run.
    pub run: Option<RunId>,
    /// Its turn.
    pub turn: Option<TurnId>,
    /// Its session.
    pub session: Option<SessionId>,
    /// How it stands.
    pub status: ApprovalStatus,
    /// The answer, if there is one.
    pub answer: Option<Answer>,
    /// The entry that asked.
    pub asked_seq: u64,
    /// When it was asked, in milliseconds since 1970.
    pub asked: u64,
    /// The entry that answered.
    pub answered_seq: Option<u64>,
}

/// How a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalStatus {
    /// Nobody answered yet.
    Waiting,
    /// It may.
    Yes,
    /// It may not.
    No,
    /// Its turn ended before anybody answered.
    Withdrawn,
}

impl ApprovalStatus {
    const ALL: [Self; 4] = [Self::Waiting, Self::Yes, Self::No, Self::Withdrawn];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Yes => "yes",
            Self::No => "no",
            Self::Withdrawn => "withdrawn",
        }
    }

    fn read(row: &Row<'_>, index: usize) -> rusqlite::Result<Self> {
        let word: String = row.get(index)?;
        let known = Self::ALL.into_iter().find(|known| known.as_str() == word);
        known.ok_or_else(|| strange(index, &word))
    }
}

/// Where to find what an `ApprovalRow` says.
pub(crate) struct Found {
    pub(crate) asked_seq: u64,
    pub(crate) answered_seq: Option<u64>,
    pub(crate) status: ApprovalStatus,
}

impl Found {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            asked_seq: row.get::<_, i64>(0)?.cast_unsigned(),
            answered_seq: row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned),
            status: ApprovalStatus::read(row, 2)?,
        })
    }

    pub(crate) fn by_id(sql: &Connection, id: &ApprovalId) -> rusqlite::Result<Option<Self>> {
        sql.prepare_cached("SELECT asked_seq, answered_seq, status FROM approvals WHERE id = ?1")?
            .query_row([id.as_str()], Self::read)
            .optional()
    }

    /// Those that wait, the oldest first.
    pub(crate) fn waiting(sql: &Connection) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE status = 'waiting' ORDER BY asked_seq",
        )?
        .query_map([], Self::read)?
        .collect()
    }

    /// Those of a run that wait, the oldest first.
    pub(crate) fn waiting_of(sql: &Connection, run: &RunId) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE run = ?1 AND status = 'waiting' ORDER BY asked_seq",
        )?
        .query_map([run.as_str()], Self::read)?
        .collect()
    }

    /// Those of a session that were answered with yes, the oldest first.
    pub(crate) fn allowed_in(sql: &Connection, session: &SessionId) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE session = ?1 AND status = 'yes' ORDER BY asked_seq",
        )?
        .query_map([session.as_str()], Self::read)?
        .collect()
    }

    /// All, the oldest first.
    pub(crate) fn all(sql: &Connection) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals ORDER BY asked_seq",
        )?
        .query_map([], Self::read)?
        .collect()
    }
}

/// How a question stands, if it was ever asked.
pub(crate) fn status(
    sql: &Connection,
    approval: &ApprovalId,
) -> rusqlite::Result<Option<ApprovalStatus>> {
    sql.prepare_cached("SELECT status FROM approvals WHERE id = ?1")?
        .query_row([approval.as_str()], |row| ApprovalStatus::read(row, 0))
        .optional()
}

pub(super) fn asked(
    sql: &Connection,
    entry: &Placed<'_>,
    approval: &Approval,
) -> rusqlite::Result<()> {
    let made = run(
        sql,
        "INSERT OR IGNORE INTO approvals
             (id, run, turn, session, call, tool, status, asked_seq)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            approval.id.as_str(),
            entry.run(),
            entry.turn(),
            entry.session(),
            approval.call.id.as_str(),
            approval.call.tool.as_str(),
            ApprovalStatus::Waiting.as_str(),
            entry.seq,
        ],
    )?;
    match entry.run() {
        Some(run) if made > 0 => runs::settle(sql, run),
        Some(_) | None => Ok(()),
    }
}

pub(super) fn answered(
    sql: &Connection,
    entry: &Placed<'_>,
    approval: &ApprovalId,
    answer: &Answer,
) -> rusqlite::Result<()> {
    let status = if answer.allow { ApprovalStatus::Yes } else { ApprovalStatus::No };
    let run = sql
        .prepare_cached(
            "UPDATE approvals SET status = ?2, answered_seq = ?3
             WHERE id = ?1 AND status = 'waiting' RETURNING run",
        )?
        .query_row(params![approval.as_str(), status.as_str(), entry.seq], |row| {
            row.get::<_, Option<String>>(0)
        })
        .optional()?;
    match run.flatten() {
        Some(run) => runs::settle(sql, &run),
        None => Ok(()),
    }
}

pub(super) fn withdrawn_of_turn(sql: &Connection, turn: &str) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE approvals SET status = 'withdrawn' WHERE turn = ?1 AND status = 'waiting'",
        [turn],
    )?;
    Ok(())
}

pub(super) fn withdrawn_of_run(sql: &Connection, id: &str) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE approvals SET status = 'withdrawn' WHERE run = ?1 AND status = 'waiting'",
        [id],
    )?;
    Ok(())
}
