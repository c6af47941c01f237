//! Approvals and requests for permission, with their answers.
//!
//! An approval is withdrawn when its turn or run ends: no call is left to allow.
//!
//! Must never: change an answer.

use agentry_protocol::approval::{Approval, ApprovalAnswer};
use agentry_protocol::{ApprovalId, RunId, SessionId, TurnId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{PlacedEntry, run, runs};
use crate::column::whole;
use crate::status::ApprovalStatus;

/// An approval with its status and answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalRow {
    /// The question, with the call.
    pub approval: Approval,
    /// The run of the call.
    pub run: Option<RunId>,
    /// The turn of the call.
    pub turn: Option<TurnId>,
    /// The session of the call.
    pub session: Option<SessionId>,
    /// The status.
    pub status: ApprovalStatus,
    /// The answer; None while there is none.
    pub answer: Option<ApprovalAnswer>,
    /// The entry that asked.
    pub asked_seq: u64,
    /// The time of asking, in milliseconds since 1970.
    pub asked: u64,
    /// The entry with the answer.
    pub answered_seq: Option<u64>,
    /// The time of the answer, in milliseconds since 1970.
    pub answered: Option<u64>,
}

/// The entries of an `ApprovalRow`, and its status.
pub(crate) struct FoundApproval {
    pub(crate) asked_seq: u64,
    pub(crate) answered_seq: Option<u64>,
    pub(crate) status: ApprovalStatus,
}

impl FoundApproval {
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

    /// Returns the waiting approvals, the oldest first.
    pub(crate) fn waiting(sql: &Connection) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE status = 'waiting' ORDER BY asked_seq",
        )?
        .query_map([], Self::read)?
        .collect()
    }

    /// Returns the waiting approvals of a run, the oldest first.
    pub(crate) fn waiting_of(sql: &Connection, run: &RunId) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE run = ?1 AND status = 'waiting' ORDER BY asked_seq",
        )?
        .query_map([run.as_str()], Self::read)?
        .collect()
    }

    /// Returns the approvals that hold for the rest of a session, the oldest first.
    pub(crate) fn standing_in(
        sql: &Connection,
        session: &SessionId,
    ) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE session = ?1 AND status = 'yes' AND reach = 'session' ORDER BY asked_seq",
        )?
        .query_map([session.as_str()], Self::read)?
        .collect()
    }

    /// Returns the requests for permission, the oldest first.
    pub(crate) fn requests(sql: &Connection, only_waiting: bool) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE kind = 'permission' AND (?1 = 0 OR status = 'waiting') ORDER BY asked_seq",
        )?
        .query_map([only_waiting], Self::read)?
        .collect()
    }

    /// Returns the waiting approvals that have expired, the oldest first.
    pub(crate) fn due(sql: &Connection, now: u64) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE status = 'waiting' AND expires <= ?1 ORDER BY asked_seq",
        )?
        .query_map([whole(now)], Self::read)?
        .collect()
    }

    /// Returns the newest first, at most `limit`; on request only requests for permission.
    pub(crate) fn newest(
        sql: &Connection,
        only_requests: bool,
        limit: usize,
    ) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE (?1 = 0 OR kind = 'permission') ORDER BY asked_seq DESC LIMIT ?2",
        )?
        .query_map(params![only_requests, whole(limit as u64)], Self::read)?
        .collect()
    }

    /// Returns all approvals, the oldest first.
    pub(crate) fn all(sql: &Connection) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals ORDER BY asked_seq",
        )?
        .query_map([], Self::read)?
        .collect()
    }
}

/// The past requests of a principal to the owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestHistory {
    /// The number of requests that wait for an answer.
    pub pending: u32,
    /// The time of the last request, in milliseconds since 1970.
    pub last_asked: Option<u64>,
    /// The times of the last denials, in milliseconds since 1970, the newest first.
    pub denied: Vec<u64>,
}

impl RequestHistory {
    /// Returns the history of one principal, with at most `denials_max` denials.
    pub(crate) fn of(
        sql: &Connection,
        requester: &str,
        denials_max: u32,
    ) -> rusqlite::Result<Self> {
        let whole = |row: &Row<'_>| row.get::<_, Option<i64>>(0);
        let pending = sql
            .prepare_cached(
                "SELECT count(*) FROM approvals WHERE requester = ?1 AND status = 'waiting'",
            )?
            .query_row([requester], |row| row.get(0))?;
        let last = sql
            .prepare_cached("SELECT max(asked) FROM approvals WHERE requester = ?1")?
            .query_row([requester], whole)?;
        let denied = sql
            .prepare_cached(
                "SELECT answered FROM approvals WHERE requester = ?1 AND status = 'no'
                 ORDER BY answered DESC LIMIT ?2",
            )?
            .query_map(params![requester, denials_max], whole)?
            .collect::<rusqlite::Result<Vec<Option<i64>>>>()?;
        Ok(Self {
            pending,
            last_asked: last.map(i64::cast_unsigned),
            denied: denied.into_iter().flatten().map(i64::cast_unsigned).collect(),
        })
    }
}

/// Returns the status of an approval; None if it was never asked.
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
    entry: &PlacedEntry<'_>,
    approval: &Approval,
) -> rusqlite::Result<()> {
    let request = approval.request();
    let made = run(
        sql,
        "INSERT OR IGNORE INTO approvals
             (id, run, turn, session, call, tool, status, asked_seq, kind, requester, asked, expires)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            approval.id.as_str(),
            entry.run(),
            entry.turn(),
            entry.session(),
            approval.call.id.as_str(),
            approval.call.tool.as_str(),
            ApprovalStatus::Waiting.as_str(),
            entry.seq,
            approval.kind.as_str(),
            request.and_then(|request| request.requester.entity_id.as_deref()),
            entry.time,
            request.map(|request| whole(request.expires_at)),
        ],
    )?;
    match entry.run() {
        Some(run) if made > 0 => runs::settle(sql, run),
        Some(_) | None => Ok(()),
    }
}

pub(super) fn answered(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    approval: &ApprovalId,
    answer: &ApprovalAnswer,
) -> rusqlite::Result<()> {
    let status = match (answer.expired, answer.allow) {
        (true, _) => ApprovalStatus::Expired,
        (false, true) => ApprovalStatus::Yes,
        (false, false) => ApprovalStatus::No,
    };
    let run = sql
        .prepare_cached(
            "UPDATE approvals SET status = ?2, answered_seq = ?3, answered = ?4, reach = ?5
             WHERE id = ?1 AND status = 'waiting' RETURNING run",
        )?
        .query_row(
            params![
                approval.as_str(),
                status.as_str(),
                entry.seq,
                entry.time,
                answer.reach.as_str()
            ],
            |row| row.get::<_, Option<String>>(0),
        )
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
