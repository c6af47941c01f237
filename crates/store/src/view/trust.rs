//! What hooks keep about a session, and the programs that the owner lets run.
//!
//! Must never: keep trust in a directory whose trust was withdrawn.

use agentry_protocol::SessionId;
use agentry_protocol::hook::HookChange;
use agentry_protocol::trust::{TrustChange, Trusted};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value};

use super::{Placed, json, of_json, run};

/// What the hooks of a session keep about it.
pub(crate) fn agent_state(
    sql: &Connection,
    session: &SessionId,
) -> rusqlite::Result<Map<String, Value>> {
    let text = sql
        .prepare_cached("SELECT state FROM agent_states WHERE session = ?1")?
        .query_row([session.as_str()], |row| row.get::<_, String>(0))
        .optional()?;
    text.map_or_else(|| Ok(Map::new()), |text| of_json(0, &text))
}

/// What may run in a directory.
pub(crate) fn trusted(sql: &Connection, path: &str) -> rusqlite::Result<Option<(Trusted, u64)>> {
    sql.prepare_cached("SELECT trusted, seq FROM trust WHERE path = ?1")?
        .query_row([path], read)
        .optional()
}

/// All that may run, by directory.
pub(crate) fn all_trusted(sql: &Connection) -> rusqlite::Result<Vec<(Trusted, u64)>> {
    sql.prepare_cached("SELECT trusted, seq FROM trust ORDER BY path")?
        .query_map([], read)?
        .collect()
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<(Trusted, u64)> {
    let text: String = row.get(0)?;
    Ok((of_json(0, &text)?, row.get::<_, i64>(1)?.cast_unsigned()))
}

pub(super) fn fold(
    sql: &Connection,
    entry: &Placed<'_>,
    change: &TrustChange,
) -> rusqlite::Result<()> {
    match change {
        TrustChange::Trusted(trusted) => run(
            sql,
            "INSERT OR REPLACE INTO trust (path, trusted, seq) VALUES (?1, ?2, ?3)",
            params![trusted.path, json(trusted), entry.seq],
        )?,
        TrustChange::Withdrawn { path, .. } => {
            run(sql, "DELETE FROM trust WHERE path = ?1", [path])?
        }
    };
    Ok(())
}

/// What a hook of a turn keeps; that it ran is in the entries alone.
pub(super) fn hook(
    sql: &Connection,
    entry: &Placed<'_>,
    change: &HookChange,
) -> rusqlite::Result<()> {
    match change {
        HookChange::Started { .. } | HookChange::Finished { .. } => Ok(()),
        HookChange::StateSet { state } => {
            let Some(session) = entry.session() else { return Ok(()) };
            run(
                sql,
                "INSERT OR REPLACE INTO agent_states (session, state, seq) VALUES (?1, ?2, ?3)",
                params![session, json(state), entry.seq],
            )?;
            Ok(())
        }
    }
}
