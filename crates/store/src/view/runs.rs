//! Runs and their steps: the plan, and the progress.
//!
//! A run is paused while an approval waits, and from its release by a process until it resumes.
//!
//! Must never: change a run that ended.

use agentry_protocol::event::{Ending, Mode, RunPlan, StepStatus};
use agentry_protocol::{AgentId, RunId, SessionId, TaskId, TurnId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{PlacedEntry, ending_of, ending_word, run};
use crate::column::{of_word, strange, whole};
use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::VIEW_PROMPT_BYTES_MAX;

/// A run with its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// The id of the run.
    pub id: RunId,
    /// The session of the run.
    pub session: Option<SessionId>,
    /// The agent of the run.
    pub agent: AgentId,
    /// The task; None for a prompt.
    pub task: Option<TaskId>,
    /// The model, as requested.
    pub model: String,
    /// The current mode.
    pub mode: Mode,
    /// The status.
    pub status: RunStatus,
    /// The ending; None until the run is over.
    pub ending: Option<Ending>,
    /// The time of creation, in milliseconds since 1970.
    pub created: u64,
    /// The time of its end, in milliseconds since 1970.
    pub ended: Option<u64>,
    /// The prompt, cut to `VIEW_PROMPT_BYTES_MAX`.
    pub prompt: String,
    /// The path of the workspace.
    pub workspace: String,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// It has not started.
    Planned,
    /// It is under way.
    Running,
    /// It waits for an approval.
    PausedForApproval,
    /// It ended with `Done`.
    Completed,
    /// It ended otherwise.
    Failed,
    /// It was cancelled.
    Canceled,
}

/// A step of a run, with its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// The index, from zero.
    pub index: u32,
    /// The id of the step.
    pub id: String,
    /// The source of the step: `prompt`, or `step:<file>`.
    pub uses: String,
    /// The agent of the step.
    pub agent: AgentId,
    /// The status.
    pub status: StepStatus,
    /// The last turn of the step.
    pub turn: Option<TurnId>,
}

const COLUMNS: &str = "id, session, agent, task, model, mode, status, ending, created, ended, \
                       prompt, workspace";

impl RunStatus {
    const ALL: [Self; 6] = [
        Self::Planned,
        Self::Running,
        Self::PausedForApproval,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
    ];

    /// Returns the word for this value, as stored in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "running",
            Self::PausedForApproval => "paused_for_approval",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    fn after(ending: Ending) -> Self {
        match ending {
            Ending::Done => Self::Completed,
            Ending::Cancelled => Self::Canceled,
            Ending::Failed | Ending::Denied | Ending::LimitReached | Ending::ModelFailed => {
                Self::Failed
            }
        }
    }
}

impl RunRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |index| row.get::<_, String>(index);
        let (mode, status) = (text(5)?, text(6)?);
        let ending: Option<String> = row.get(7)?;
        Ok(Self {
            id: RunId::new(text(0)?),
            session: row.get::<_, Option<String>>(1)?.map(SessionId::new),
            agent: AgentId::new(text(2)?),
            task: row.get::<_, Option<String>>(3)?.map(TaskId::new),
            model: text(4)?,
            mode: of_word(5, &mode, &[Mode::Supervised, Mode::Autonomous], Mode::as_str)?,
            status: of_word(6, &status, &RunStatus::ALL, RunStatus::as_str)?,
            ending: ending
                .map(|word| ending_of(&word).ok_or_else(|| strange(7, &word)))
                .transpose()?,
            created: row.get::<_, i64>(8)?.cast_unsigned(),
            ended: row.get::<_, Option<i64>>(9)?.map(i64::cast_unsigned),
            prompt: text(10)?,
            workspace: text(11)?,
        })
    }

    fn by_id(sql: &Connection, id: &RunId) -> rusqlite::Result<Option<Self>> {
        let text = format!("SELECT {COLUMNS} FROM runs WHERE id = ?1");
        sql.prepare_cached(&text)?.query_row([id.as_str()], Self::read).optional()
    }

    /// Returns a page of runs, the newest first, from behind the last one of the page before.
    fn page(sql: &Connection, after: Option<&RunId>, limit: usize) -> rusqlite::Result<Vec<Self>> {
        let text = format!(
            "SELECT {COLUMNS} FROM runs
             WHERE ?1 IS NULL OR created_seq < (SELECT created_seq FROM runs WHERE id = ?1)
             ORDER BY created_seq DESC LIMIT ?2"
        );
        sql.prepare_cached(&text)?
            .query_map(params![after.map(RunId::as_str), whole(limit as u64)], Self::read)?
            .collect()
    }

    /// Returns the newest run of a session, or None.
    fn last_of(sql: &Connection, session: &SessionId) -> rusqlite::Result<Option<Self>> {
        let text = format!(
            "SELECT {COLUMNS} FROM runs WHERE session = ?1 ORDER BY created_seq DESC LIMIT 1"
        );
        sql.prepare_cached(&text)?.query_row([session.as_str()], Self::read).optional()
    }

    /// Returns the last runs, the newest first.
    fn newest(sql: &Connection, limit: usize) -> rusqlite::Result<Vec<Self>> {
        let text = format!("SELECT {COLUMNS} FROM runs ORDER BY created_seq DESC LIMIT ?1");
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        sql.prepare_cached(&text)?.query_map([limit], Self::read)?.collect()
    }
}

impl StepRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let status: String = row.get(4)?;
        let known = [
            StepStatus::Pending,
            StepStatus::Running,
            StepStatus::Succeeded,
            StepStatus::Failed,
            StepStatus::Skipped,
        ];
        Ok(Self {
            index: row.get(0)?,
            id: row.get(1)?,
            uses: row.get(2)?,
            agent: AgentId::new(row.get::<_, String>(3)?),
            status: known
                .into_iter()
                .find(|known| known.as_str() == status)
                .ok_or_else(|| strange(4, &status))?,
            turn: row.get::<_, Option<String>>(5)?.map(TurnId::new),
        })
    }

    /// Returns the steps of a run, in order.
    fn of_run(sql: &Connection, id: &RunId) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT idx, id, uses, agent, status, turn FROM steps WHERE run = ?1 ORDER BY idx",
        )?
        .query_map([id.as_str()], Self::read)?
        .collect()
    }
}

impl Ledger {
    /// Returns a run; None if there is none with this id.
    pub fn run(&self, id: &RunId) -> Result<Option<RunRow>, Error> {
        self.ask(|sql| RunRow::by_id(sql, id))
    }

    /// Returns the last runs, the newest first, at most `limit`.
    pub fn runs(&self, limit: usize) -> Result<Vec<RunRow>, Error> {
        self.ask(|sql| RunRow::newest(sql, limit))
    }

    /// Returns the newest run; None if there was none.
    pub fn latest_run(&self) -> Result<Option<RunRow>, Error> {
        Ok(self.runs(1)?.pop())
    }

    /// Returns the last run of a session; None if it had no run.
    pub fn last_run_of(&self, session: &SessionId) -> Result<Option<RunRow>, Error> {
        self.ask(|sql| RunRow::last_of(sql, session))
    }

    /// Returns runs, the newest first, from behind the last one of the page before.
    pub fn runs_page(&self, after: Option<&RunId>, limit: usize) -> Result<Vec<RunRow>, Error> {
        self.ask(|sql| RunRow::page(sql, after, limit))
    }

    /// Returns the number of runs for each status.
    pub fn run_counts(&self) -> Result<Vec<(String, u64)>, Error> {
        self.ask(|sql| {
            sql.prepare_cached("SELECT status, COUNT(*) FROM runs GROUP BY status ORDER BY status")?
                .query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))?
                .collect()
        })
    }

    /// Returns the steps of a run, in order.
    pub fn steps(&self, run: &RunId) -> Result<Vec<StepRow>, Error> {
        self.ask(|sql| StepRow::of_run(sql, run))
    }

    /// Resolves an id or a part of an id to one run.
    pub fn find_run(&self, text: &str) -> Result<RunId, Error> {
        self.find("run", "runs", RunId::PREFIX, text).map(RunId::new)
    }
}

pub(super) fn created(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    plan: &RunPlan,
) -> rusqlite::Result<()> {
    let Some(id) = entry.run() else { return Ok(()) };
    let made = run(
        sql,
        "INSERT OR IGNORE INTO runs (id, session, agent, task, model, mode, status, created, prompt,
             workspace, created_seq, started, let_go)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, 0)",
        params![
            id,
            entry.session(),
            plan.agent.as_str(),
            plan.task.as_ref().map(TaskId::as_str),
            plan.asked.model,
            plan.mode.as_str(),
            RunStatus::Planned.as_str(),
            entry.time,
            beginning(&plan.prompt),
            plan.workspace,
            entry.seq,
        ],
    )?;
    if made == 0 {
        return Ok(());
    }
    let pending = StepStatus::Pending.as_str();
    for (index, step) in plan.steps.iter().enumerate() {
        run(
            sql,
            "INSERT INTO steps (run, idx, id, uses, agent, status) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![id, index as i64, step.id, step.uses, step.agent.as_str(), pending],
        )?;
    }
    Ok(())
}

fn beginning(prompt: &str) -> &str {
    &prompt[..prompt.floor_char_boundary(VIEW_PROMPT_BYTES_MAX)]
}

pub(super) fn turn_started(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    step: u32,
) -> rusqlite::Result<()> {
    let Some(id) = entry.run() else { return Ok(()) };
    run(
        sql,
        "UPDATE steps SET turn = ?3 WHERE run = ?1 AND idx = ?2",
        params![id, step, entry.turn()],
    )?;
    taken_up(sql, id)
}

pub(super) fn resumed(sql: &Connection, entry: &PlacedEntry<'_>) -> rusqlite::Result<()> {
    entry.run().map_or(Ok(()), |id| taken_up(sql, id))
}

fn taken_up(sql: &Connection, id: &str) -> rusqlite::Result<()> {
    run(sql, "UPDATE runs SET started = 1, let_go = 0 WHERE id = ?1 AND ended IS NULL", [id])?;
    settle(sql, id)
}

pub(super) fn paused(sql: &Connection, entry: &PlacedEntry<'_>) -> rusqlite::Result<()> {
    let Some(id) = entry.run() else { return Ok(()) };
    run(sql, "UPDATE runs SET let_go = 1 WHERE id = ?1 AND ended IS NULL", [id])?;
    settle(sql, id)
}

/// Updates the status of a run that has not ended.
pub(super) fn settle(sql: &Connection, id: &str) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE runs SET status = CASE
             WHEN let_go OR EXISTS
                 (SELECT 1 FROM approvals WHERE approvals.run = ?1 AND approvals.status = 'waiting')
                 THEN 'paused_for_approval'
             WHEN started THEN 'running'
             ELSE 'planned' END
         WHERE id = ?1 AND ended IS NULL",
        [id],
    )?;
    Ok(())
}

/// Ends a run; returns false if it is unknown or ended before.
pub(super) fn ended(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    ending: Ending,
) -> rusqlite::Result<bool> {
    let Some(id) = entry.run() else { return Ok(false) };
    let status = RunStatus::after(ending).as_str();
    let changed = run(
        sql,
        "UPDATE runs SET status = ?2, ending = ?3, ended = ?4 WHERE id = ?1 AND ended IS NULL",
        params![id, status, ending_word(ending), entry.time],
    )?;
    Ok(changed > 0)
}

pub(super) fn mode_changed(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    mode: Mode,
) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE runs SET mode = ?2 WHERE id = ?1 AND ended IS NULL",
        params![entry.run(), mode.as_str()],
    )?;
    Ok(())
}

pub(super) fn step_started(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    at: u32,
) -> rusqlite::Result<()> {
    step_ended(sql, entry, at, StepStatus::Running)
}

pub(super) fn step_ended(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    index: u32,
    status: StepStatus,
) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE steps SET status = ?3 WHERE run = ?1 AND idx = ?2",
        params![entry.run(), index, status.as_str()],
    )?;
    Ok(())
}
