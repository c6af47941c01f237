//! Sessions: a key, an agent, and the head of a branch.
//!
//! A head moves when a turn ends that added messages and did not fail. A failed turn stays in the
//! record, and the next turn starts from the old head.
//!
//! Must never: move the head of another session than the turn's own.

use agentry_protocol::{AgentId, SessionId, SessionKey, TurnId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{PlacedEntry, run};
use crate::column::whole;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::CANDIDATES_MAX;

/// A session with its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The id of the session.
    pub id: SessionId,
    /// The key: a stable name, unique for each agent.
    pub key: SessionKey,
    /// The agent of the session.
    pub agent: AgentId,
    /// The last turn of its branch; None before the first turn.
    pub head: Option<TurnId>,
    /// The number of turns in its branch.
    pub turns: u64,
    /// The time of opening, in milliseconds since 1970.
    pub created: u64,
    /// The time when a turn last started or ended, in milliseconds since 1970.
    pub updated: u64,
}

const COLUMNS: &str = "id, key, agent, head, turns, created, updated";

impl SessionRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: SessionId::new(row.get::<_, String>(0)?),
            key: SessionKey::new(row.get::<_, String>(1)?),
            agent: AgentId::new(row.get::<_, String>(2)?),
            head: row.get::<_, Option<String>>(3)?.map(TurnId::new),
            turns: row.get::<_, i64>(4)?.cast_unsigned(),
            created: row.get::<_, i64>(5)?.cast_unsigned(),
            updated: row.get::<_, i64>(6)?.cast_unsigned(),
        })
    }

    fn by_id(sql: &Connection, id: &SessionId) -> rusqlite::Result<Option<Self>> {
        let text = format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1");
        sql.prepare_cached(&text)?.query_row([id.as_str()], Self::read).optional()
    }

    /// Returns all sessions with a key, of any agent.
    fn by_key(sql: &Connection, key: &SessionKey) -> rusqlite::Result<Vec<Self>> {
        let text = format!("SELECT {COLUMNS} FROM sessions WHERE key = ?1 ORDER BY agent, id");
        sql.prepare_cached(&text)?.query_map([key.as_str()], Self::read)?.collect()
    }

    /// Returns a page of sessions, the last used first, from behind the session `after`.
    fn page(
        sql: &Connection,
        after: Option<&SessionId>,
        limit: usize,
    ) -> rusqlite::Result<Vec<Self>> {
        let text = format!(
            "SELECT {COLUMNS} FROM sessions
             WHERE ?1 IS NULL OR (updated, id) < (SELECT updated, id FROM sessions WHERE id = ?1)
             ORDER BY updated DESC, id DESC LIMIT ?2"
        );
        sql.prepare_cached(&text)?
            .query_map(params![after.map(SessionId::as_str), whole(limit as u64)], Self::read)?
            .collect()
    }

    /// Returns all sessions, the last used first.
    fn all(sql: &Connection) -> rusqlite::Result<Vec<Self>> {
        let text = format!("SELECT {COLUMNS} FROM sessions ORDER BY updated DESC, id DESC");
        sql.prepare_cached(&text)?.query_map([], Self::read)?.collect()
    }
}

impl Ledger {
    /// Returns a session; None if there is none with this id.
    pub fn session(&self, id: &SessionId) -> Result<Option<SessionRow>, Error> {
        self.ask(|sql| SessionRow::by_id(sql, id))
    }

    /// Returns the session of an agent with a key, or None.
    pub fn session_named(
        &self,
        key: &SessionKey,
        agent: &AgentId,
    ) -> Result<Option<SessionRow>, Error> {
        self.ask(|sql| match by_key(sql, key, agent)? {
            Some(id) => SessionRow::by_id(sql, &id),
            None => Ok(None),
        })
    }

    /// Returns all sessions, the last used first.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, Error> {
        self.ask(SessionRow::all)
    }

    /// Returns sessions, the last used first, from behind the last one of the page before.
    pub fn sessions_page(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionRow>, Error> {
        self.ask(|sql| SessionRow::page(sql, after, limit))
    }

    /// Resolves a key, an id or a part of an id to one session.
    pub fn find_session(&self, text: &str) -> Result<SessionId, Error> {
        let mut named = self.ask(|sql| SessionRow::by_key(sql, &SessionKey::new(text)))?;
        match (named.pop(), named.is_empty()) {
            (Some(session), true) => Ok(session.id),
            (Some(session), false) => {
                named.push(session);
                let ids = named.iter().map(|session| session.id.to_string());
                let found = ids.take(CANDIDATES_MAX).collect();
                Err(Error::Ambiguous { what: "session", text: text.to_owned(), found })
            }
            (None, _) => {
                self.find("session", "sessions", SessionId::PREFIX, text).map(SessionId::new)
            }
        }
    }
}

/// Returns the head of a session and the turn that is under way in it.
pub(crate) fn place(
    sql: &Connection,
    session: &SessionId,
) -> rusqlite::Result<(Option<TurnId>, Option<TurnId>)> {
    let head = sql
        .prepare_cached("SELECT head FROM sessions WHERE id = ?1")?
        .query_row([session.as_str()], |row| row.get::<_, Option<String>>(0))
        .optional()?
        .flatten();
    let under_way = sql
        .prepare_cached("SELECT id FROM turns WHERE session = ?1 AND ended_seq IS NULL LIMIT 1")?
        .query_row([session.as_str()], |row| row.get::<_, String>(0))
        .optional()?;
    Ok((head.map(TurnId::new), under_way.map(TurnId::new)))
}

/// Returns the session of an agent with a key, or None.
pub(crate) fn by_key(
    sql: &Connection,
    key: &SessionKey,
    agent: &AgentId,
) -> rusqlite::Result<Option<SessionId>> {
    sql.prepare_cached("SELECT id FROM sessions WHERE key = ?1 AND agent = ?2 LIMIT 1")?
        .query_row([key.as_str(), agent.as_str()], |row| {
            row.get::<_, String>(0).map(SessionId::new)
        })
        .optional()
}

pub(super) fn opened(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    key: &SessionKey,
    agent: &AgentId,
    head: Option<&TurnId>,
) -> rusqlite::Result<()> {
    let Some(session) = entry.session() else { return Ok(()) };
    run(
        sql,
        "INSERT OR IGNORE INTO sessions (id, key, agent, head, turns, created, updated)
         VALUES (?1, ?2, ?3, ?4, COALESCE((SELECT depth FROM turns WHERE id = ?4), 0), ?5, ?5)",
        params![session, key.as_str(), agent.as_str(), head.map(TurnId::as_str), entry.time],
    )?;
    Ok(())
}

/// Updates the session of a turn that started.
pub(super) fn touched(sql: &Connection, entry: &PlacedEntry<'_>) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE sessions SET updated = ?2 WHERE id = ?1",
        params![entry.session(), entry.time],
    )?;
    Ok(())
}

/// Updates the session of a turn that ended, with its new head and depth if the turn moves it.
pub(super) fn ended(
    sql: &Connection,
    session: &str,
    head: Option<(&str, i64)>,
    time: i64,
) -> rusqlite::Result<()> {
    let (turn, depth) = head.unzip();
    run(
        sql,
        "UPDATE sessions SET head = COALESCE(?2, head), turns = COALESCE(?3, turns), updated = ?4
         WHERE id = ?1",
        params![session, turn, depth, time],
    )?;
    Ok(())
}
