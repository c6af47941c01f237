//! Grants with their activity, and entities.
//!
//! Must never: forget a revocation.

use agentry_protocol::GrantId;
use agentry_protocol::access::Grant;
use agentry_protocol::event::Event;
use agentry_protocol::intake::{AccessChange, Entity};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{PlacedEntry, audit, run, tokens};
use crate::column::{of_word, whole};
use crate::error::Error;
use crate::ledger::Ledger;

/// One event in the life of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantActivityRow {
    /// The entry that records it.
    pub seq: u64,
    /// The grant.
    pub grant: GrantId,
    /// The time, in milliseconds since 1970.
    pub time: u64,
    /// The kind of event.
    pub activity: GrantActivity,
    /// The principal who acted.
    pub actor: Option<String>,
    /// The reason that was given.
    pub reason: Option<String>,
    /// The decision that used the grant; None once that decision is trimmed.
    pub access: Option<String>,
}

/// The kind of an event in the life of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantActivity {
    /// It was given.
    Created,
    /// A decision counted it.
    Used,
    /// It expired.
    Expired,
    /// It was revoked.
    Revoked,
}

impl GrantActivity {
    /// Returns the word for this value, as stored in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Used => "used",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }

    fn read(row: &Row<'_>, index: usize) -> rusqlite::Result<Self> {
        let word: String = row.get(index)?;
        let all = [Self::Created, Self::Used, Self::Expired, Self::Revoked];
        of_word(index, &word, &all, Self::as_str)
    }
}

impl GrantActivityRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get::<_, i64>(0)?.cast_unsigned(),
            grant: GrantId::new(row.get::<_, String>(1)?),
            time: row.get::<_, i64>(2)?.cast_unsigned(),
            activity: GrantActivity::read(row, 3)?,
            actor: row.get(4)?,
            reason: row.get(5)?,
            access: row.get(6)?,
        })
    }

    /// Returns the activity of one grant, or of all, since a time, oldest first.
    fn all(sql: &Connection, grant: Option<&GrantId>, since: u64) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached(
            "SELECT seq, grant_id, time, activity, actor, reason, access FROM grant_log
             WHERE time >= ?1 AND (?2 IS NULL OR grant_id = ?2) ORDER BY seq, grant_id",
        )?
        .query_map(params![whole(since), grant.map(GrantId::as_str)], Self::read)?
        .collect()
    }
}

/// The entry of a grant, and the time of its revocation.
struct FoundGrant {
    pub(crate) seq: u64,
    pub(crate) revoked: Option<u64>,
}

impl FoundGrant {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let revoked = row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned);
        Ok(Self { seq: row.get::<_, i64>(0)?.cast_unsigned(), revoked })
    }

    fn by_id(sql: &Connection, id: &GrantId) -> rusqlite::Result<Option<Self>> {
        sql.prepare_cached("SELECT seq, revoked FROM grants WHERE id = ?1")?
            .query_row([id.as_str()], Self::read)
            .optional()
    }

    /// Returns all grants, or only those neither revoked nor recorded as expired.
    fn all(sql: &Connection, only_open: bool) -> rusqlite::Result<Vec<Self>> {
        let open = "WHERE revoked IS NULL AND expired_seq IS NULL";
        let text = format!(
            "SELECT seq, revoked FROM grants {} ORDER BY seq",
            if only_open { open } else { "" }
        );
        sql.prepare_cached(&text)?.query_map([], Self::read)?.collect()
    }
}

impl Ledger {
    /// Returns the last entry that changed entities or grants; zero if there is none.
    pub fn access_changed(&self) -> Result<u64, Error> {
        self.ask(|sql| {
            sql.prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM access_changed")?
                .query_row([], |row| row.get::<_, i64>(0).map(i64::cast_unsigned))
        })
    }

    /// Returns all grants, or only those neither revoked nor recorded as expired; oldest first.
    pub fn grants(&self, only_open: bool) -> Result<Vec<Grant>, Error> {
        self.read(|sql| {
            let found = FoundGrant::all(sql, only_open);
            let found = found.map_err(|source| self.shared.unread(source))?;
            found.iter().map(|found| self.given(sql, found)).collect()
        })
    }

    /// Returns a grant with its time of revocation; None if there is none with this id.
    pub fn grant(&self, id: &GrantId) -> Result<Option<Grant>, Error> {
        self.read(|sql| {
            let found = FoundGrant::by_id(sql, id);
            let found = found.map_err(|source| self.shared.unread(source))?;
            found.map(|found| self.given(sql, &found)).transpose()
        })
    }

    /// Resolves an id or a part of an id to one grant.
    pub fn find_grant(&self, text: &str) -> Result<GrantId, Error> {
        self.find("grant", "grants", GrantId::PREFIX, text).map(GrantId::new)
    }

    /// Returns the activity of one grant, or of all, since a time, oldest first.
    pub fn grant_log(
        &self,
        grant: Option<&GrantId>,
        since: u64,
    ) -> Result<Vec<GrantActivityRow>, Error> {
        self.ask(|sql| GrantActivityRow::all(sql, grant, since))
    }

    /// Returns all entities, by id.
    pub fn entities(&self) -> Result<Vec<Entity>, Error> {
        self.read(|sql| {
            let found = entities(sql).map_err(|source| self.shared.unread(source))?;
            found.into_iter().map(|seq| self.known(sql, seq)).collect()
        })
    }

    fn known(&self, sql: &Connection, seq: u64) -> Result<Entity, Error> {
        match self.entry_in(sql, seq)?.event {
            Event::Access(AccessChange::EntityChanged { entity }) => Ok(*entity),
            _ => Err(self.not_the(seq, "entity")),
        }
    }

    fn given(&self, sql: &Connection, found: &FoundGrant) -> Result<Grant, Error> {
        match self.entry_in(sql, found.seq)?.event {
            Event::Access(AccessChange::GrantGiven { grant }) => {
                Ok(Grant { revoked_at: found.revoked.or(grant.revoked_at), ..*grant })
            }
            _ => Err(self.not_the(found.seq, "grant")),
        }
    }
}

/// Returns the entries with the current state of each entity, by id.
fn entities(sql: &Connection) -> rusqlite::Result<Vec<u64>> {
    sql.prepare_cached("SELECT seq FROM entities ORDER BY id")?
        .query_map([], |row| row.get::<_, i64>(0).map(i64::cast_unsigned))?
        .collect()
}

/// Returns the entity that has an identity.
pub(crate) fn identity(
    sql: &Connection,
    channel: &str,
    identifier: &str,
) -> rusqlite::Result<Option<String>> {
    sql.prepare_cached("SELECT entity FROM identities WHERE channel = ?1 AND identifier = ?2")?
        .query_row([channel, identifier], |row| row.get(0))
        .optional()
}

pub(super) fn fold(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    change: &AccessChange,
) -> rusqlite::Result<()> {
    match change {
        // Trimming shortens lists; it changes no permission.
        AccessChange::AuditTrimmed(_)
        // The holder of a key is looked up at each use.
        | AccessChange::TokenIssued { .. }
        | AccessChange::TokenRevoked { .. } => {}
        AccessChange::GrantGiven { .. }
        | AccessChange::GrantRevoked { .. }
        | AccessChange::GrantExpired { .. }
        | AccessChange::EntityChanged { .. }
        | AccessChange::EntityRemoved { .. } => {
            run(sql, "INSERT OR REPLACE INTO access_changed VALUES (1, ?1)", [entry.seq])?;
        }
    }
    match change {
        AccessChange::GrantGiven { grant } => given(sql, entry, grant),
        AccessChange::GrantRevoked { grant, by, reason } => {
            let changed = run(
                sql,
                "UPDATE grants SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL",
                params![grant.as_str(), entry.time],
            )?;
            let log = GrantLogLine {
                activity: GrantActivity::Revoked,
                actor: Some(by.as_str()),
                reason: reason.as_deref(),
            };
            if changed == 0 { Ok(()) } else { logged(sql, entry, grant, log) }
        }
        AccessChange::GrantExpired { grant } => {
            let changed = run(
                sql,
                "UPDATE grants SET expired_seq = ?2 WHERE id = ?1 AND expired_seq IS NULL",
                params![grant.as_str(), entry.seq],
            )?;
            let log = GrantLogLine { activity: GrantActivity::Expired, actor: None, reason: None };
            if changed == 0 { Ok(()) } else { logged(sql, entry, grant, log) }
        }
        AccessChange::EntityChanged { entity } => entity_changed(sql, entry, entity),
        AccessChange::EntityRemoved { entity } => {
            run(sql, "DELETE FROM identities WHERE entity = ?1", [entity])?;
            run(sql, "DELETE FROM entities WHERE id = ?1", [entity])?;
            Ok(())
        }
        AccessChange::TokenIssued { token } => tokens::issued(sql, token),
        AccessChange::TokenRevoked { token, .. } => tokens::revoked(sql, entry, token),
        AccessChange::AuditTrimmed(trimmed) => audit::trimmed(sql, *trimmed),
    }
}

fn given(sql: &Connection, entry: &PlacedEntry<'_>, grant: &Grant) -> rusqlite::Result<()> {
    let made = run(
        sql,
        "INSERT OR IGNORE INTO grants (id, seq, expires) VALUES (?1, ?2, ?3)",
        params![grant.id.as_str(), entry.seq, grant.expires_at.map(whole)],
    )?;
    let log = GrantLogLine {
        activity: GrantActivity::Created,
        actor: Some(grant.granted_by.as_str()),
        reason: grant.reason.as_deref(),
    };
    if made == 0 { Ok(()) } else { logged(sql, entry, &grant.id, log) }
}

/// The part of a line in the log of a grant that its entry does not give.
struct GrantLogLine<'a> {
    activity: GrantActivity,
    actor: Option<&'a str>,
    reason: Option<&'a str>,
}

fn logged(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    grant: &GrantId,
    line: GrantLogLine<'_>,
) -> rusqlite::Result<()> {
    let GrantLogLine { activity, actor, reason } = line;
    run(
        sql,
        "INSERT OR IGNORE INTO grant_log (seq, grant_id, time, activity, actor, reason)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![entry.seq, grant.as_str(), entry.time, activity.as_str(), actor, reason],
    )?;
    Ok(())
}

fn entity_changed(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    entity: &Entity,
) -> rusqlite::Result<()> {
    run(
        sql,
        "INSERT OR REPLACE INTO entities (id, seq) VALUES (?1, ?2)",
        params![entity.id, entry.seq],
    )?;
    run(sql, "DELETE FROM identities WHERE entity = ?1", [&entity.id])?;
    for identity in &entity.identities {
        run(
            sql,
            "INSERT OR IGNORE INTO identities (channel, identifier, entity) VALUES (?1, ?2, ?3)",
            [&identity.channel, &identity.identifier, &entity.id],
        )?;
    }
    Ok(())
}
