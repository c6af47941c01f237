//! Queue preferences of sessions.
//!
//! Must never: keep preferences that were taken back.

use agentry_protocol::SessionId;
use agentry_protocol::intake::QueuePreferences;
use rusqlite::{Connection, OptionalExtension};

use super::{PlacedEntry, run};
use crate::column::strange;
use crate::error::Error;
use crate::ledger::Ledger;

impl Ledger {
    /// Returns the queue preferences of a session; None means the defaults.
    pub fn queue_wish(&self, session: &SessionId) -> Result<Option<QueuePreferences>, Error> {
        self.ask(|sql| wish(sql, session))
    }
}

/// Returns the queue preferences of a session, or None.
fn wish(sql: &Connection, session: &SessionId) -> rusqlite::Result<Option<QueuePreferences>> {
    let text = sql
        .prepare_cached("SELECT wish FROM queues WHERE session = ?1")?
        .query_row([session.as_str()], |row| row.get::<_, String>(0))
        .optional()?;
    text.map(|text| serde_json::from_str(&text).map_err(|_| strange(0, &text))).transpose()
}

pub(super) fn set(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    wish: Option<QueuePreferences>,
) -> rusqlite::Result<()> {
    let Some(session) = entry.session() else { return Ok(()) };
    match wish {
        None => run(sql, "DELETE FROM queues WHERE session = ?1", [session])?,
        Some(wish) => {
            let text = serde_json::to_string(&wish).expect("a wish is plain JSON");
            let put = "INSERT OR REPLACE INTO queues (session, wish) VALUES (?1, ?2)";
            run(sql, put, [session, &text])?
        }
    };
    Ok(())
}
