//! Event hooks with their status; their invocations are in `invocations`.
//!
//! Must never: list a deleted or disabled hook as active, or count an invocation that did not fire
//! as one that did.

use agentry_protocol::EventHookId;
use agentry_protocol::event_hook::{
    Circuit, CircuitState, EventHook, EventHookChange, EventHookMatch, Invocation,
};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::{PlacedEntry, inbound_stages, invocations, run};
use crate::column::{json, of_json, whole};
use crate::error::Error;
use crate::ledger::Ledger;

/// An event hook with its status.
#[derive(Clone, Debug, PartialEq)]
pub struct EventHookRow {
    /// The newest version.
    pub hook: EventHook,
    /// The status.
    pub status: EventHookStatus,
    /// The times of its changes, in milliseconds since 1970.
    pub times: EventHookTimes,
    /// The reason why it is disabled.
    pub disabled_reason: Option<String>,
    /// The number of invocations that fired.
    pub trigger_count: u64,
    /// The last error of its newest version.
    pub last_error: Option<String>,
    /// The state of its breaker.
    pub circuit: Circuit,
    /// The entry with its newest version.
    pub seq: u64,
}

/// The times of an event hook, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHookTimes {
    /// The registration of the first version.
    pub created: u64,
    /// The last change.
    pub updated: u64,
    /// The last time it was enabled.
    pub enabled: u64,
    /// The time it was disabled; None while it is enabled.
    pub disabled: Option<u64>,
    /// The time it was deleted.
    pub deleted: Option<u64>,
    /// The last invocation that fired; invocations that did not fire are not counted.
    pub last_triggered: Option<u64>,
}

/// The status of an event hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventHookStatus {
    /// It is enabled, and its last invocation did not fail.
    Active,
    /// It failed too often, and its breaker pauses it.
    Paused,
    /// It was disabled or deleted, or it ran once and was to run only once.
    Disabled,
    /// It is enabled, and its last invocation failed.
    Errored,
}

impl EventHookStatus {
    /// Returns the word for this value, as stored in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
            Self::Errored => "errored",
        }
    }

    fn of(enabled: bool, circuit: Circuit) -> Self {
        if !enabled {
            return Self::Disabled;
        }
        match circuit.state {
            CircuitState::Open | CircuitState::HalfOpen => Self::Paused,
            CircuitState::Closed if circuit.consecutive_errors > 0 => Self::Errored,
            CircuitState::Closed => Self::Active,
        }
    }
}

const COLUMNS: &str = "hook, enabled, created, updated, enabled_at, disabled_at, deleted_at, \
     last_triggered, disabled_reason, trigger_count, last_error, circuit, seq";

impl EventHookRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let number = |index| row.get::<_, i64>(index).map(i64::cast_unsigned);
        let maybe =
            |index| row.get::<_, Option<i64>>(index).map(|found| found.map(i64::cast_unsigned));
        let circuit = of_json(11, &row.get::<_, String>(11)?)?;
        let times = EventHookTimes {
            created: number(2)?,
            updated: number(3)?,
            enabled: number(4)?,
            disabled: maybe(5)?,
            deleted: maybe(6)?,
            last_triggered: maybe(7)?,
        };
        let enabled: bool = row.get(1)?;
        Ok(Self {
            hook: of_json(0, &row.get::<_, String>(0)?)?,
            status: EventHookStatus::of(enabled && times.deleted.is_none(), circuit),
            times,
            disabled_reason: row.get(8)?,
            trigger_count: number(9)?,
            last_error: row.get(10)?,
            circuit,
            seq: number(12)?,
        })
    }

    fn one(sql: &Connection, of: &str, params: impl Params) -> rusqlite::Result<Option<Self>> {
        let text = format!("SELECT {COLUMNS} FROM event_hooks WHERE {of}");
        sql.prepare_cached(&text)?.query_row(params, Self::read).optional()
    }

    fn all(sql: &Connection, of: &str) -> rusqlite::Result<Vec<Self>> {
        let text = format!("SELECT {COLUMNS} FROM event_hooks WHERE {of} ORDER BY name, id");
        sql.prepare_cached(&text)?.query_map([], Self::read)?.collect()
    }
}

impl Ledger {
    /// Returns the event hooks, by name, with deleted ones on request.
    pub fn event_hooks(&self, include_deleted: bool) -> Result<Vec<EventHookRow>, Error> {
        let of = if include_deleted { "1" } else { "deleted_at IS NULL" };
        self.ask(|sql| EventHookRow::all(sql, of))
    }

    /// Returns the enabled event hooks, by name; their breakers may have paused some of them.
    pub fn event_hooks_enabled(&self) -> Result<Vec<EventHookRow>, Error> {
        self.ask(|sql| EventHookRow::all(sql, "deleted_at IS NULL AND enabled = 1"))
    }

    /// Returns an event hook, even a deleted one; None if there is none with this id.
    pub fn event_hook(&self, id: &EventHookId) -> Result<Option<EventHookRow>, Error> {
        self.ask(|sql| EventHookRow::one(sql, "id = ?1", [id.as_str()]))
    }

    /// Returns the event hook with a name that is not deleted, or None.
    pub fn event_hook_named(&self, name: &str) -> Result<Option<EventHookRow>, Error> {
        self.ask(|sql| EventHookRow::one(sql, "name = ?1 AND deleted_at IS NULL", [name]))
    }

    /// Returns all versions of an event hook, the first one first.
    pub fn event_hook_versions(&self, id: &EventHookId) -> Result<Vec<EventHook>, Error> {
        self.ask(|sql| versions(sql, id))
    }

    /// Resolves a name, an id or a part of an id to one event hook.
    pub fn find_event_hook(&self, text: &str) -> Result<EventHookId, Error> {
        match self.event_hook_named(text)? {
            Some(row) => Ok(row.hook.id),
            None => {
                self.find("hook", "event_hooks", EventHookId::PREFIX, text).map(EventHookId::new)
            }
        }
    }

    /// Returns the last entry that changed the set of active event hooks; zero if there is none.
    pub fn event_hooks_changed(&self) -> Result<u64, Error> {
        self.ask(|sql| {
            sql.prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM event_hooks_changed")?
                .query_row([], |row| row.get::<_, i64>(0).map(i64::cast_unsigned))
        })
    }
}

/// Returns all versions of a hook, the first one first.
fn versions(sql: &Connection, id: &EventHookId) -> rusqlite::Result<Vec<EventHook>> {
    sql.prepare_cached("SELECT body FROM event_hook_versions WHERE hook = ?1 ORDER BY version")?
        .query_map([id.as_str()], |row| of_json(0, &row.get::<_, String>(0)?))?
        .collect()
}

/// Returns the newest version of a hook, and true if the hook is deleted.
pub(crate) fn newest(sql: &Connection, id: &EventHookId) -> rusqlite::Result<Option<(u32, bool)>> {
    sql.prepare_cached("SELECT version, deleted_at IS NOT NULL FROM event_hooks WHERE id = ?1")?
        .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// Returns another hook with this name that is not deleted.
pub(crate) fn other_named(
    sql: &Connection,
    name: &str,
    than: &EventHookId,
) -> rusqlite::Result<Option<EventHookId>> {
    sql.prepare_cached(
        "SELECT id FROM event_hooks WHERE name = ?1 AND deleted_at IS NULL AND id <> ?2 LIMIT 1",
    )?
    .query_row([name, than.as_str()], |row| row.get::<_, String>(0).map(EventHookId::new))
    .optional()
}

pub(super) fn fold(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    change: &EventHookChange,
) -> rusqlite::Result<()> {
    let changed = match change {
        EventHookChange::Registered { hook } => registered(sql, entry, hook)?,
        EventHookChange::Enabled { hook, .. } => run(
            sql,
            "UPDATE event_hooks SET enabled = 1, enabled_at = ?2, updated = ?2, disabled_at = NULL,
                 disabled_reason = NULL, circuit = ?3
             WHERE id = ?1 AND deleted_at IS NULL",
            params![hook.as_str(), entry.time, json(&Circuit::default())],
        )?,
        EventHookChange::Disabled { hook, reason, .. } => run(
            sql,
            "UPDATE event_hooks SET enabled = 0, disabled_at = ?2, updated = ?2, disabled_reason = ?3
             WHERE id = ?1 AND deleted_at IS NULL AND enabled = 1",
            params![hook.as_str(), entry.time, reason],
        )?,
        EventHookChange::Deleted { hook, .. } => run(
            sql,
            "UPDATE event_hooks SET deleted_at = ?2, updated = ?2
             WHERE id = ?1 AND deleted_at IS NULL",
            params![hook.as_str(), entry.time],
        )?,
        EventHookChange::Matched { event, access, invocations: matched } => {
            if !invocations::matched(sql, entry, event, access, matched)? {
                return Ok(());
            }
            inbound_stages::hooked(sql, event)?;
            tried(sql, matched)?
        }
        EventHookChange::Begun { invocation } => {
            invocations::begun(sql, invocation)?;
            0
        }
        EventHookChange::Invoked(invocation) => {
            if !invocations::done(sql, entry, invocation)? {
                return Ok(());
            }
            invoked(sql, invocation)?
        }
        EventHookChange::Settled { event } => {
            invocations::settled(sql, entry, event)?;
            0
        }
    };
    if changed > 0 {
        run(sql, "INSERT OR REPLACE INTO event_hooks_changed VALUES (1, ?1)", [entry.seq])?;
    }
    Ok(())
}

/// Stores a new hook or the next version of one: enabled, with a closed breaker without errors.
fn registered(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    hook: &EventHook,
) -> rusqlite::Result<usize> {
    let (id, body) = (hook.id.as_str(), json(hook));
    let circuit = json(&Circuit::default());
    let mut changed = run(
        sql,
        "UPDATE event_hooks SET name = ?2, version = ?3, hook = ?4, seq = ?5, updated = ?6,
             enabled = 1, enabled_at = ?6, disabled_at = NULL, disabled_reason = NULL,
             last_error = NULL, circuit = ?7
         WHERE id = ?1 AND version + 1 = ?3 AND deleted_at IS NULL",
        params![id, hook.name, hook.version, body, entry.seq, entry.time, circuit],
    )?;
    if hook.version == 1 {
        changed += run(
            sql,
            "INSERT OR IGNORE INTO event_hooks
                 (id, name, version, hook, seq, enabled, created, updated, enabled_at, circuit)
             VALUES (?1, ?2, 1, ?3, ?4, 1, ?5, ?5, ?5, ?6)",
            params![id, hook.name, body, entry.seq, entry.time, circuit],
        )?;
    }
    if changed > 0 {
        run(
            sql,
            "INSERT OR IGNORE INTO event_hook_versions VALUES (?1, ?2, ?3, ?4, ?5)",
            params![id, hook.version, entry.seq, entry.time, body],
        )?;
    }
    Ok(changed)
}

/// Marks open breakers as half-open: the matched invocation is their one try until it is over.
fn tried(sql: &Connection, matched: &[EventHookMatch]) -> rusqlite::Result<usize> {
    let mut changed = 0;
    for one in matched {
        let found = sql
            .prepare_cached("SELECT circuit FROM event_hooks WHERE id = ?1 AND version = ?2")?
            .query_row(params![one.hook.as_str(), one.version], |row| row.get::<_, String>(0))
            .optional()?;
        let Some(text) = found else { continue };
        let circuit: Circuit = of_json(0, &text)?;
        match circuit.state {
            CircuitState::Closed | CircuitState::HalfOpen => {}
            CircuitState::Open => {
                let half = Circuit { state: CircuitState::HalfOpen, ..circuit };
                changed += run(
                    sql,
                    "UPDATE event_hooks SET circuit = ?2 WHERE id = ?1",
                    params![one.hook.as_str(), json(&half)],
                )?;
            }
        }
    }
    Ok(changed)
}

/// Stores the result of an invocation in its hook; the breaker of a newer version stays.
fn invoked(sql: &Connection, invocation: &Invocation) -> rusqlite::Result<usize> {
    let id = invocation.hook_id.as_str();
    if invocation.fired {
        run(
            sql,
            "UPDATE event_hooks SET trigger_count = trigger_count + 1, last_triggered = ?2
             WHERE id = ?1",
            params![id, whole(invocation.finished_at)],
        )?;
    }
    if let Some(error) = &invocation.error {
        run(
            sql,
            "UPDATE event_hooks SET last_error = ?3 WHERE id = ?1 AND version = ?2",
            params![id, invocation.version, error],
        )?;
    }
    run(
        sql,
        "UPDATE event_hooks SET circuit = ?3 WHERE id = ?1 AND version = ?2 AND circuit <> ?3",
        params![id, invocation.version, json(&invocation.circuit)],
    )
}
