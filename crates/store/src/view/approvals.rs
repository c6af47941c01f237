//! Approvals and requests for permission, with their answers.
//!
//! An approval is withdrawn when its turn or run ends: no call is left to allow.
//!
//! Must never: change an answer.

use agentry_protocol::approval::{Approval, ApprovalAnswer};
use agentry_protocol::event::Event;
use agentry_protocol::{ApprovalId, RunId, SessionId, TurnId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{PlacedEntry, run, runs};
use crate::column::whole;
use crate::error::Error;
use crate::ledger::Ledger;
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
struct FoundApproval {
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

    fn by_id(sql: &Connection, id: &ApprovalId) -> rusqlite::Result<Option<Self>> {
        sql.prepare_cached("SELECT asked_seq, answered_seq, status FROM approvals WHERE id = ?1")?
            .query_row([id.as_str()], Self::read)
            .optional()
    }

    /// Returns the waiting approvals, the oldest first.
    fn waiting(sql: &Connection) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE status = 'waiting' ORDER BY asked_seq",
        )?
        .query_map([], Self::read)?
        .collect()
    }

    /// Returns the waiting approvals of a run, the oldest first.
    fn waiting_of(sql: &Connection, run: &RunId) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE run = ?1 AND status = 'waiting' ORDER BY asked_seq",
        )?
        .query_map([run.as_str()], Self::read)?
        .collect()
    }

    /// Returns the approvals that hold for the rest of a session, the oldest first.
    fn standing_in(sql: &Connection, session: &SessionId) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE session = ?1 AND status = 'yes' AND reach = 'session' ORDER BY asked_seq",
        )?
        .query_map([session.as_str()], Self::read)?
        .collect()
    }

    /// Returns the requests for permission, the oldest first.
    fn requests(sql: &Connection, only_waiting: bool) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE kind = 'permission' AND (?1 = 0 OR status = 'waiting') ORDER BY asked_seq",
        )?
        .query_map([only_waiting], Self::read)?
        .collect()
    }

    /// Returns the waiting approvals that have expired, the oldest first.
    fn due(sql: &Connection, now: u64) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE status = 'waiting' AND expires <= ?1 ORDER BY asked_seq",
        )?
        .query_map([whole(now)], Self::read)?
        .collect()
    }

    /// Returns the newest first, at most `limit`; on request only requests for permission.
    fn newest(sql: &Connection, only_requests: bool, limit: usize) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT asked_seq, answered_seq, status FROM approvals
             WHERE (?1 = 0 OR kind = 'permission') ORDER BY asked_seq DESC LIMIT ?2",
        )?
        .query_map(params![only_requests, whole(limit as u64)], Self::read)?
        .collect()
    }

    /// Returns all approvals, the oldest first.
    fn all(sql: &Connection) -> rusqlite::Result<Vec<Self>> {
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
    fn of(sql: &Connection, requester: &str, denials_max: u32) -> rusqlite::Result<Self> {
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

impl Ledger {
    /// Returns an approval; None if there is none with this id.
    pub fn approval(&self, id: &ApprovalId) -> Result<Option<ApprovalRow>, Error> {
        self.read(|sql| {
            let found = FoundApproval::by_id(sql, id);
            let found = found.map_err(|source| self.shared.unread(source))?;
            found.map(|found| self.whole(sql, &found)).transpose()
        })
    }

    /// Returns all approvals, answered or not, the oldest first.
    pub fn approvals(&self) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(FoundApproval::all)
    }

    /// Returns the last approvals, or the last requests for permission, the newest first.
    pub fn approvals_newest(
        &self,
        only_requests: bool,
        limit: usize,
    ) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(|sql| FoundApproval::newest(sql, only_requests, limit))
    }

    /// Returns the approvals that wait for an answer, the oldest first.
    pub fn approvals_waiting(&self) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(FoundApproval::waiting)
    }

    /// Returns the approvals of a run that wait for an answer, the oldest first.
    pub fn approvals_waiting_of(&self, run: &RunId) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(|sql| FoundApproval::waiting_of(sql, run))
    }

    /// Returns the approvals that hold for the rest of a session, the oldest first.
    pub fn approvals_standing(&self, session: &SessionId) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(|sql| FoundApproval::standing_in(sql, session))
    }

    /// Returns the requests for permission, the oldest first: all, or those that wait.
    pub fn requests(&self, only_waiting: bool) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(|sql| FoundApproval::requests(sql, only_waiting))
    }

    /// Returns the requests that wait although they have expired, the oldest first.
    pub fn requests_due(&self, now: u64) -> Result<Vec<ApprovalRow>, Error> {
        self.approvals_by(|sql| FoundApproval::due(sql, now))
    }

    /// Returns the past requests of a principal to the owner, with at most `denials_max` denials.
    pub fn request_history(
        &self,
        requester: &str,
        denials_max: u32,
    ) -> Result<RequestHistory, Error> {
        self.ask(|sql| RequestHistory::of(sql, requester, denials_max))
    }

    /// Resolves an id or a part of an id to one approval.
    pub fn find_approval(&self, text: &str) -> Result<ApprovalId, Error> {
        self.find("approval", "approvals", ApprovalId::PREFIX, text).map(ApprovalId::new)
    }

    fn approvals_by(
        &self,
        find: impl Fn(&Connection) -> rusqlite::Result<Vec<FoundApproval>>,
    ) -> Result<Vec<ApprovalRow>, Error> {
        self.read(|sql| {
            let found = find(sql).map_err(|source| self.shared.unread(source))?;
            found.iter().map(|found| self.whole(sql, found)).collect()
        })
    }

    /// Reads the entries that the view points at: the view itself holds no content.
    fn whole(&self, sql: &Connection, found: &FoundApproval) -> Result<ApprovalRow, Error> {
        let asked = self.entry_in(sql, found.asked_seq)?;
        let (answer, answered) = match found.answered_seq {
            None => (None, None),
            Some(seq) => {
                let entry = self.entry_in(sql, seq)?;
                let Event::ApprovalAnswered { answer, .. } = entry.event else {
                    return Err(self.not_the(seq, "answer"));
                };
                (Some(answer), Some(entry.time))
            }
        };
        let Event::ApprovalAsked(approval) = asked.event else {
            return Err(self.not_the(found.asked_seq, "question"));
        };
        Ok(ApprovalRow {
            approval: *approval,
            run: asked.about.run,
            turn: asked.about.turn,
            session: asked.about.session,
            status: found.status,
            answer,
            asked_seq: found.asked_seq,
            asked: asked.time,
            answered_seq: found.answered_seq,
            answered,
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

pub(super) fn withdrawn_of_run(sql: &Connection, entry: &PlacedEntry<'_>) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE approvals SET status = 'withdrawn' WHERE run = ?1 AND status = 'waiting'",
        [entry.run()],
    )?;
    Ok(())
}
