//! Jobs with their leases and states.
//!
//! Must never: accept a report with a stale fence, or give a locked workspace to two jobs.

use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::job::{Job, JobChange, JobReport, JobState, Lease};
use agentry_protocol::{JobId, RunId, SessionId, TurnId};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::{PlacedEntry, run};
use crate::column::{json, of_json, of_word, whole};
use crate::error::Error;
use crate::ledger::Ledger;

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

/// A filter for jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only jobs in this state.
    pub state: Option<JobState>,
    /// The maximum of jobs, the newest; None means all.
    pub last: Option<usize>,
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

    fn by_id(sql: &Connection, id: &JobId) -> rusqlite::Result<Option<Self>> {
        let text = format!("SELECT {COLUMNS} FROM jobs WHERE id = ?1");
        sql.prepare_cached(&text)?.query_row([id.as_str()], Self::read).optional()
    }

    fn all(sql: &Connection, of: &str, params: impl Params) -> rusqlite::Result<Vec<Self>> {
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

impl Ledger {
    /// Returns a job; None if there is none with this id.
    pub fn job(&self, id: &JobId) -> Result<Option<JobRow>, Error> {
        self.ask(|sql| JobRow::by_id(sql, id))
    }

    /// Returns the jobs that have not ended, oldest first, at most `limit`.
    pub fn jobs_open(&self, limit: usize) -> Result<Vec<JobRow>, Error> {
        let of = "ended_seq IS NULL ORDER BY queued_seq LIMIT ?1";
        self.ask(|sql| JobRow::all(sql, of, [whole(limit as u64)]))
    }

    /// Returns the jobs of a run, oldest first.
    pub fn jobs_of_run(&self, run: &RunId) -> Result<Vec<JobRow>, Error> {
        self.ask(|sql| JobRow::all(sql, "run = ?1 ORDER BY queued_seq", [run.as_str()]))
    }

    /// Returns the jobs whose lease has expired, the earliest expiry first.
    pub fn jobs_expired(&self, now: u64) -> Result<Vec<JobRow>, Error> {
        let of = "state IN ('leased', 'running') AND expires_at <= ?1 ORDER BY expires_at, id";
        self.ask(|sql| JobRow::all(sql, of, [whole(now)]))
    }

    /// Returns the job that holds the lock of a workspace, or None.
    pub fn job_holding(&self, workspace: &str) -> Result<Option<JobRow>, Error> {
        self.ask(|sql| match holder(sql, workspace)? {
            Some(id) => JobRow::by_id(sql, &id),
            None => Ok(None),
        })
    }

    /// Returns the matching jobs, the newest first.
    pub fn jobs(&self, filter: JobFilter) -> Result<Vec<JobRow>, Error> {
        let last = filter.last.map_or(-1, |last| whole(last as u64));
        self.ask(|sql| match filter.state {
            None => JobRow::all(sql, "1 ORDER BY queued_seq DESC LIMIT ?1", [last]),
            Some(state) => {
                let of = "state = ?1 ORDER BY queued_seq DESC LIMIT ?2";
                JobRow::all(sql, of, params![state.as_str(), last])
            }
        })
    }

    /// Resolves an id or a part of an id to one job.
    pub fn find_job(&self, text: &str) -> Result<JobId, Error> {
        self.find("job", "jobs", JobId::PREFIX, text).map(JobId::new)
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
            job.workspace.as_str(),
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
