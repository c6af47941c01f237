//! Jobs with their leases and states.
//!
//! Must never: accept a report with a stale fence, or give a locked workspace to two jobs.

use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::job::{Job, JobChange, JobReport, JobState, Lease};
use agentry_protocol::{JobId, RunId, SessionId, TurnId};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::{PlacedEntry, run};
use crate::column::{json, of_json, of_word, whole};

/// A job with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// The job as queued.
    pub job: Job,
    /// The state.
    pub state: JobState,
    /// The fence of the last lease; zero if there was none.
    pub fence: u32,
    /// The current lease, or the last one of a job that is over.
    pub lease: Option<Lease>,
    /// The session, run and turn of the job.
    pub about: EntrySubject,
    /// The entry that queued it.
    pub queued_seq: u64,
    /// The time of queuing, in milliseconds since 1970.
    pub queued: u64,
    /// The entry that started it.
    pub started_seq: Option<u64>,
    /// The entry that ended it.
    pub ended_seq: Option<u64>,
    /// The report; None until the job is over.
    pub report: Option<JobReport>,
}

const COLUMNS: &str = "job, state, executor, fence, expires_at, session, run, turn, queued_seq, \
     queued, started_seq, ended_seq, report";

impl JobRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |index| row.get::<_, Option<String>>(index);
        let number =
            |index| row.get::<_, Option<i64>>(index).map(|found| found.map(i64::cast_unsigned));
        let fence = row.get(3)?;
        let lease = text(2)?.zip(number(4)?);
        Ok(Self {
            job: of_json(0, &row.get::<_, String>(0)?)?,
            state: state_of(row, 1)?,
            fence,
            lease: lease.map(|(executor, expires_at)| Lease { executor, fence, expires_at }),
            about: EntrySubject {
                session: text(5)?.map(SessionId::new),
                run: text(6)?.map(RunId::new),
                turn: text(7)?.map(TurnId::new),
            },
            queued_seq: row.get::<_, i64>(8)?.cast_unsigned(),
            queued: row.get::<_, i64>(9)?.cast_unsigned(),
            started_seq: number(10)?,
            ended_seq: number(11)?,
            report: text(12)?.map(|text| of_json(12, &text)).transpose()?,
        })
    }

    pub(crate) fn by_id(sql: &Connection, id: &JobId) -> rusqlite::Result<Option<Self>> {
        let text = format!("SELECT {COLUMNS} FROM jobs WHERE id = ?1");
        sql.prepare_cached(&text)?.query_row([id.as_str()], Self::read).optional()
    }

    pub(crate) fn all(
        sql: &Connection,
        of: &str,
        params: impl Params,
    ) -> rusqlite::Result<Vec<Self>> {
        let text = format!("SELECT {COLUMNS} FROM jobs WHERE {of}");
        sql.prepare_cached(&text)?.query_map(params, Self::read)?.collect()
    }
}

/// The part of a job that an append checks.
pub(crate) struct FoundJob {
    pub(crate) state: JobState,
    pub(crate) fence: u32,
    /// The workspace, if the job locks it.
    pub(crate) locks: Option<String>,
}

impl FoundJob {
    pub(crate) fn by_id(sql: &Connection, id: &JobId) -> rusqlite::Result<Option<Self>> {
        sql.prepare_cached("SELECT state, fence, locks, workspace FROM jobs WHERE id = ?1")?
            .query_row([id.as_str()], |row| {
                let locks: bool = row.get(2)?;
                let workspace: String = row.get(3)?;
                Ok(Self {
                    state: state_of(row, 0)?,
                    fence: row.get(1)?,
                    locks: locks.then_some(workspace),
                })
            })
            .optional()
    }
}

/// Returns the job that holds the lock of a workspace, or None.
pub(crate) fn holder(sql: &Connection, workspace: &str) -> rusqlite::Result<Option<JobId>> {
    sql.prepare_cached(
        "SELECT id FROM jobs
         WHERE workspace = ?1 AND locks = 1 AND state IN ('leased', 'running') LIMIT 1",
    )?
    .query_row([workspace], |row| row.get::<_, String>(0).map(JobId::new))
    .optional()
}

fn state_of(row: &Row<'_>, index: usize) -> rusqlite::Result<JobState> {
    let word: String = row.get(index)?;
    of_word(index, &word, &JobState::ALL, JobState::as_str)
}

pub(super) fn fold(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    change: &JobChange,
) -> rusqlite::Result<()> {
    match change {
        JobChange::Queued { job } => queued(sql, entry, job),
        JobChange::Leased { job, lease } => leased(sql, job, lease),
        JobChange::Started { job, fence } => {
            run(
                sql,
                "UPDATE jobs SET state = 'running', started_seq = ?3
                 WHERE id = ?1 AND state = 'leased' AND fence = ?2",
                params![job.as_str(), fence, entry.seq],
            )?;
            Ok(())
        }
        JobChange::Renewed { job, fence, expires_at } => {
            run(
                sql,
                "UPDATE jobs SET expires_at = ?3
                 WHERE id = ?1 AND state IN ('leased', 'running') AND fence = ?2",
                params![job.as_str(), fence, whole(*expires_at)],
            )?;
            Ok(())
        }
        JobChange::Returned { job } => {
            run(
                sql,
                "UPDATE jobs SET state = 'queued', executor = NULL, expires_at = NULL
                 WHERE id = ?1 AND state = 'leased'",
                [job.as_str()],
            )?;
            Ok(())
        }
        JobChange::Ended { job, state, report, .. } => {
            if !state.is_over() {
                return Ok(());
            }
            run(
                sql,
                "UPDATE jobs SET state = ?2, ended_seq = ?3, report = ?4
                 WHERE id = ?1 AND ended_seq IS NULL",
                params![job.as_str(), state.as_str(), entry.seq, json(report)],
            )?;
            Ok(())
        }
    }
}

fn queued(sql: &Connection, entry: &PlacedEntry<'_>, job: &Job) -> rusqlite::Result<()> {
    run(
        sql,
        "INSERT OR IGNORE INTO jobs
             (id, job, workspace, locks, state, session, run, turn, queued_seq, queued)
         VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, ?8, ?9)",
        params![
            job.id.as_str(),
            json(job),
            job.workspace,
            job.locks,
            entry.session(),
            entry.run(),
            entry.turn(),
            entry.seq,
            entry.time
        ],
    )?;
    Ok(())
}

fn leased(sql: &Connection, job: &JobId, lease: &Lease) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE jobs SET state = 'leased', executor = ?2, fence = ?3, expires_at = ?4
         WHERE id = ?1 AND state = 'queued' AND fence + 1 = ?3",
        params![job.as_str(), lease.executor, lease.fence, whole(lease.expires_at)],
    )?;
    Ok(())
}
