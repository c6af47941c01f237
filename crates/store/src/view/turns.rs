//! Turns: a tree, each with its parent and its ending.
//!
//! Must never: let a turn end twice, or give a turn another parent than the one it started from.

use agentry_protocol::event::{Ending, TurnPlan};
use agentry_protocol::message::Message;
use agentry_protocol::{ContentHash, RunId, SessionId, TurnId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{PlacedEntry, approvals, ending_of, ending_word, inbound_stages, run, runs, sessions};
use crate::column::strange;
use crate::error::Error;
use crate::ledger::Ledger;

/// A turn with its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRow {
    /// The id of the turn.
    pub id: TurnId,
    /// The session of the turn.
    pub session: Option<SessionId>,
    /// The run of the turn.
    pub run: Option<RunId>,
    /// The turn before; None for the first turn of a branch.
    pub parent: Option<TurnId>,
    /// The number of turns in its branch, itself included.
    pub depth: u64,
    /// The hash of the turn, from the entry that ended it.
    pub hash: Option<ContentHash>,
    /// The status.
    pub status: TurnStatus,
    /// The entry that started it.
    pub started_seq: u64,
    /// The entry that ended it.
    pub ended_seq: Option<u64>,
    /// The index of the run's step, from zero.
    pub step: u32,
}

/// The status of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnStatus {
    /// It started and has not ended.
    UnderWay,
    /// It ended.
    Ended(Ending),
}

const UNDER_WAY: &str = "under_way";
const COLUMNS: &str = "id, session, run, parent, depth, hash, status, started_seq, ended_seq, step";

impl TurnRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |index| row.get::<_, Option<String>>(index);
        let status: String = row.get(6)?;
        Ok(Self {
            id: TurnId::new(row.get::<_, String>(0)?),
            session: text(1)?.map(SessionId::new),
            run: text(2)?.map(RunId::new),
            parent: text(3)?.map(TurnId::new),
            depth: row.get::<_, i64>(4)?.cast_unsigned(),
            hash: text(5)?.map(|hash| {
                serde_json::from_value(hash.into()).expect("a hash is a transparent string")
            }),
            status: if status == UNDER_WAY {
                TurnStatus::UnderWay
            } else {
                TurnStatus::Ended(ending_of(&status).ok_or_else(|| strange(6, &status))?)
            },
            started_seq: row.get::<_, i64>(7)?.cast_unsigned(),
            ended_seq: row.get::<_, Option<i64>>(8)?.map(i64::cast_unsigned),
            step: row.get(9)?,
        })
    }

    fn by_id(sql: &Connection, id: &TurnId) -> rusqlite::Result<Option<Self>> {
        let text = format!("SELECT {COLUMNS} FROM turns WHERE id = ?1");
        sql.prepare_cached(&text)?.query_row([id.as_str()], Self::read).optional()
    }

    /// Returns the turns of a run, in the order of their starts.
    fn of_run(sql: &Connection, id: &RunId) -> rusqlite::Result<Vec<Self>> {
        let text = format!("SELECT {COLUMNS} FROM turns WHERE run = ?1 ORDER BY started_seq");
        sql.prepare_cached(&text)?.query_map([id.as_str()], Self::read)?.collect()
    }

    /// Returns the turn of a session that started and has not ended.
    fn under_way(sql: &Connection, id: &SessionId) -> rusqlite::Result<Option<Self>> {
        let text =
            format!("SELECT {COLUMNS} FROM turns WHERE session = ?1 AND ended_seq IS NULL LIMIT 1");
        sql.prepare_cached(&text)?.query_row([id.as_str()], Self::read).optional()
    }

    /// Returns the last turns of a branch, oldest first. A parent has always a smaller depth than
    /// its child, so even a ledger that makes no sense has no endless branch.
    fn branch(sql: &Connection, head: &TurnId, limit: usize) -> rusqlite::Result<Vec<Self>> {
        let text = format!("SELECT {COLUMNS} FROM turns WHERE id = ?1");
        let mut statement = sql.prepare_cached(&text)?;
        let mut branch: Vec<Self> = Vec::new();
        let mut next = Some(head.clone());
        while branch.len() < limit
            && let Some(id) = &next
            && let Some(turn) = statement.query_row([id.as_str()], Self::read).optional()?
            && branch.last().is_none_or(|child| turn.depth < child.depth)
        {
            next = turn.parent.clone();
            branch.push(turn);
        }
        branch.reverse();
        Ok(branch)
    }
}

impl Ledger {
    /// Returns a turn; None if there is none with this id.
    pub fn turn(&self, id: &TurnId) -> Result<Option<TurnRow>, Error> {
        self.ask(|sql| TurnRow::by_id(sql, id))
    }

    /// Returns the turns of a run, in the order of their starts.
    pub fn turns_of_run(&self, run: &RunId) -> Result<Vec<TurnRow>, Error> {
        self.ask(|sql| TurnRow::of_run(sql, run))
    }

    /// Returns the turn of a session that started and has not ended.
    pub fn turn_under_way(&self, session: &SessionId) -> Result<Option<TurnRow>, Error> {
        self.ask(|sql| TurnRow::under_way(sql, session))
    }

    /// Returns the last turns of the branch that ends with `head`, at most `limit`, oldest first.
    pub fn branch(&self, head: &TurnId, limit: usize) -> Result<Vec<TurnRow>, Error> {
        self.ask(|sql| TurnRow::branch(sql, head, limit))
    }

    /// Resolves an id or a part of an id to one turn.
    pub fn find_turn(&self, text: &str) -> Result<TurnId, Error> {
        self.find("turn", "turns", TurnId::PREFIX, text).map(TurnId::new)
    }
}

/// Returns true if a turn of a run started and has not ended.
pub(crate) fn is_under_way(sql: &Connection, run: Option<&RunId>) -> rusqlite::Result<bool> {
    let Some(run) = run else { return Ok(false) };
    sql.prepare_cached("SELECT 1 FROM turns WHERE run = ?1 AND ended_seq IS NULL LIMIT 1")?
        .exists([run.as_str()])
}

pub(super) fn started(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    plan: &TurnPlan,
) -> rusqlite::Result<()> {
    let Some(turn) = entry.turn() else { return Ok(()) };
    let parent = plan.parent.as_ref().map(TurnId::as_str);
    let made = run(
        sql,
        "INSERT OR IGNORE INTO turns (id, session, run, parent, depth, status, started_seq, step)
         VALUES (?1, ?2, ?3, ?4, 1 + COALESCE((SELECT depth FROM turns WHERE id = ?4), 0), ?5, ?6, ?7)",
        params![turn, entry.session(), entry.run(), parent, UNDER_WAY, entry.seq, plan.step],
    )?;
    if made == 0 {
        return Ok(());
    }
    sessions::touched(sql, entry)?;
    // A compaction turn answers no inbound.
    if plan.compaction.is_none() {
        inbound_stages::turn_started(sql, entry)?;
    }
    runs::turn_started(sql, entry, plan.step)
}

pub(super) fn ended(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    ending: Ending,
    hash: &ContentHash,
    messages: &[Message],
) -> rusqlite::Result<()> {
    let Some(turn) = entry.turn() else { return Ok(()) };
    let ended = sql
        .prepare_cached(
            "UPDATE turns SET status = ?2, hash = ?3, ended_seq = ?4
             WHERE id = ?1 AND ended_seq IS NULL RETURNING session, run, depth",
        )?
        .query_row(params![turn, ending_word(ending), hash.as_str(), entry.seq], |row| {
            Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((session, run, depth)) = ended else { return Ok(()) };
    if let Some(session) = session {
        let is_head = ending.moves_head() && !messages.is_empty();
        let head = is_head.then_some((turn, depth));
        sessions::ended(sql, &session, head, entry.time)?;
        inbound_stages::turn_ended(sql, &session)?;
    }
    approvals::withdrawn_of_turn(sql, turn)?;
    match run {
        Some(run) => runs::settle(sql, &run),
        None => Ok(()),
    }
}
