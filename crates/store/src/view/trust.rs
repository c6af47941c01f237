//! The state that hooks keep for a session, the owner's trust, and the known definitions.
//!
//! Must never: keep trust in a directory whose trust was withdrawn.

use agentry_protocol::SessionId;
use agentry_protocol::hook::HookChange;
use agentry_protocol::trust::{KnownDefinitions, TrustChange, TrustedAddresses, TrustedPrograms};
use rusqlite::{Connection, OptionalExtension, params};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{PlacedEntry, run};
use crate::column::{json, of_json};
use crate::error::Error;
use crate::ledger::Ledger;

/// The recorded definitions of a directory that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedDefinitions {
    /// The definitions as last read, by any command.
    Met,
    /// The definitions as last confirmed by the owner.
    Confirmed,
}

impl Ledger {
    /// Returns the trusted programs of a directory, with the entry that trusted them.
    pub fn trusted(&self, path: &str) -> Result<Option<(TrustedPrograms, u64)>, Error> {
        self.ask(|sql| trusted(sql, path))
    }

    /// Returns all trusted programs, by directory, each with the entry that trusted them.
    pub fn all_trusted(&self) -> Result<Vec<(TrustedPrograms, u64)>, Error> {
        self.ask(all_trusted)
    }

    /// Returns the addresses that the project in a directory may set.
    pub fn trusted_addresses(&self, path: &str) -> Result<Option<TrustedAddresses>, Error> {
        self.ask(|sql| trusted_addresses(sql, path))
    }

    /// Returns the addresses that projects may set, by directory.
    pub fn all_trusted_addresses(&self) -> Result<Vec<TrustedAddresses>, Error> {
        self.ask(all_trusted_addresses)
    }

    /// Returns the definitions of a directory as recorded last.
    pub fn known_definitions(
        &self,
        path: &str,
        which: RecordedDefinitions,
    ) -> Result<Option<KnownDefinitions>, Error> {
        self.ask(|sql| known_definitions(sql, path, which))
    }

    /// Returns the state that the agent's hooks keep about a session; empty if there is none.
    pub fn agent_state(&self, session: &SessionId) -> Result<Map<String, Value>, Error> {
        self.ask(|sql| agent_state(sql, session))
    }
}

/// Returns the state that the agent's hooks keep for a session.
fn agent_state(sql: &Connection, session: &SessionId) -> rusqlite::Result<Map<String, Value>> {
    let text = sql
        .prepare_cached("SELECT state FROM agent_states WHERE session = ?1")?
        .query_row([session.as_str()], |row| row.get::<_, String>(0))
        .optional()?;
    text.map_or_else(|| Ok(Map::new()), |text| of_json(0, &text))
}

/// Returns the trusted programs of a directory.
fn trusted(sql: &Connection, path: &str) -> rusqlite::Result<Option<(TrustedPrograms, u64)>> {
    sql.prepare_cached("SELECT trusted, seq FROM trust WHERE path = ?1")?
        .query_row([path], read)
        .optional()
}

/// Returns all trusted programs, by directory.
fn all_trusted(sql: &Connection) -> rusqlite::Result<Vec<(TrustedPrograms, u64)>> {
    sql.prepare_cached("SELECT trusted, seq FROM trust ORDER BY path")?
        .query_map([], read)?
        .collect()
}

/// Returns the addresses that the project in a directory may set.
fn trusted_addresses(sql: &Connection, path: &str) -> rusqlite::Result<Option<TrustedAddresses>> {
    sql.prepare_cached("SELECT trusted, seq FROM trusted_addresses WHERE path = ?1")?
        .query_row([path], read)
        .optional()
        .map(|found| found.map(|(trusted, _)| trusted))
}

/// Returns the addresses that projects may set, by directory.
fn all_trusted_addresses(sql: &Connection) -> rusqlite::Result<Vec<TrustedAddresses>> {
    sql.prepare_cached("SELECT trusted, seq FROM trusted_addresses ORDER BY path")?
        .query_map([], |row| read(row).map(|(trusted, _)| trusted))?
        .collect()
}

/// Returns the definitions of a directory as last read, or as last confirmed.
fn known_definitions(
    sql: &Connection,
    path: &str,
    which: RecordedDefinitions,
) -> rusqlite::Result<Option<KnownDefinitions>> {
    let text = "SELECT known, seq FROM known_definitions WHERE path = ?1 AND is_confirmed = ?2";
    sql.prepare_cached(text)?
        .query_row(params![path, which == RecordedDefinitions::Confirmed], read)
        .optional()
        .map(|found| found.map(|(known, _)| known))
}

fn read<T: DeserializeOwned>(row: &rusqlite::Row<'_>) -> rusqlite::Result<(T, u64)> {
    let text: String = row.get(0)?;
    Ok((of_json(0, &text)?, row.get::<_, i64>(1)?.cast_unsigned()))
}

const KNOW: &str = "INSERT OR REPLACE INTO known_definitions (path, is_confirmed, known, seq) \
                    VALUES (?1, ?2, ?3, ?4)";

pub(super) fn fold(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    change: &TrustChange,
) -> rusqlite::Result<()> {
    match change {
        TrustChange::Trusted(trusted) => run(
            sql,
            "INSERT OR REPLACE INTO trust (path, trusted, seq) VALUES (?1, ?2, ?3)",
            params![trusted.path, json(trusted), entry.seq],
        )?,
        TrustChange::Addresses(trusted) => run(
            sql,
            "INSERT OR REPLACE INTO trusted_addresses (path, trusted, seq) VALUES (?1, ?2, ?3)",
            params![trusted.path, json(trusted), entry.seq],
        )?,
        TrustChange::Definitions(known) => {
            let is_confirmed = known.confirmed_by.is_some();
            // Confirmed definitions are also the last read ones.
            let met = run(sql, KNOW, params![known.path, false, json(known), entry.seq])?;
            if is_confirmed {
                run(sql, KNOW, params![known.path, true, json(known), entry.seq])?
            } else {
                met
            }
        }
        TrustChange::Withdrawn { path, .. } => {
            run(sql, "DELETE FROM trusted_addresses WHERE path = ?1", [path])?;
            run(sql, "DELETE FROM trust WHERE path = ?1", [path])?
        }
    };
    Ok(())
}

/// Stores the state that a hook set; its start and end are only in the entries.
pub(super) fn hook(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
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
