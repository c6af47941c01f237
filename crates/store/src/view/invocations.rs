//! Invocations of event hooks: the event that each hook matched, and the result.
//!
//! Must never: let the programs of an event run a second time because their first run is unknown.

use agentry_protocol::event_hook::{EventHookMatch, EventHookUsage, Invocation};
use agentry_protocol::inbound::EventId;
use agentry_protocol::{AccessId, EventHookId, InvocationId};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::{PlacedEntry, run};
use crate::column::{json, of_json, strange, whole};
use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::HOOK_STATS_WINDOW;
use crate::status::InvocationStatus;

/// An invocation with its status.
#[derive(Clone, Debug, PartialEq)]
pub struct InvocationRow {
    /// The id of the invocation.
    pub id: InvocationId,
    /// The hook.
    pub hook: EventHookId,
    /// The version of the hook.
    pub version: u32,
    /// The event that the hook matched.
    pub event: EventId,
    /// The decision that allowed the event.
    pub access: AccessId,
    /// The status.
    pub status: InvocationStatus,
    /// The entry with the match.
    pub seq: u64,
    /// The time of the match, in milliseconds since 1970.
    pub time: u64,
    /// The result; None until the invocation is over.
    pub invocation: Option<Box<Invocation>>,
}

/// An event with unfinished event hooks.
#[derive(Clone, Debug, PartialEq)]
pub struct HookEventRow {
    /// The event.
    pub event: EventId,
    /// The decision that allowed it.
    pub access: AccessId,
    /// The entry with its matches.
    pub seq: u64,
    /// The invocations, in the order of their match.
    pub invocations: Vec<InvocationRow>,
}

/// Statistics of a hook's last invocations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HookStats {
    /// The number of invocations that are counted.
    pub invocations: u64,
    /// The number of invocations that failed.
    pub errors: u64,
    /// The number of invocations that fired.
    pub fired: u64,
    /// The average duration, in milliseconds.
    pub latency_avg_ms: f64,
    /// The duration that 95 of 100 invocations did not exceed, in milliseconds.
    pub latency_p95_ms: u64,
    /// The duration that 99 of 100 invocations did not exceed, in milliseconds.
    pub latency_p99_ms: u64,
    /// The sum of the resources that they used.
    pub spent: EventHookUsage,
}

/// A filter for invocations: an invocation must match every field that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InvocationFilter {
    /// Only invocations of this hook.
    pub hook: Option<EventHookId>,
    /// Only invocations matched from this time on, in milliseconds since 1970.
    pub since: Option<u64>,
    /// True to get only failed invocations.
    pub errors_only: bool,
    /// The maximum of invocations, the newest; None means all.
    pub last: Option<usize>,
}

impl HookStats {
    fn of(invocations: &[Invocation]) -> Self {
        let mut latencies: Vec<u64> = invocations.iter().map(|one| one.latency_ms).collect();
        latencies.sort_unstable();
        let count = |wanted: fn(&Invocation) -> bool| {
            invocations.iter().filter(|one| wanted(one)).count() as u64
        };
        let total: u64 = latencies.iter().sum();
        Self {
            invocations: invocations.len() as u64,
            errors: count(|one| one.error.is_some()),
            fired: count(|one| one.fired),
            latency_avg_ms: total as f64 / invocations.len().max(1) as f64,
            latency_p95_ms: percentile(&latencies, 95),
            latency_p99_ms: percentile(&latencies, 99),
            spent: invocations
                .iter()
                .fold(EventHookUsage::default(), |sum, one| with(sum, one.spent)),
        }
    }
}

/// Returns the smallest value that at least `percent` of the values do not exceed.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn with(sum: EventHookUsage, one: EventHookUsage) -> EventHookUsage {
    let cost = match (sum.llm_cost_usd, one.llm_cost_usd) {
        (None, None) => None,
        (sum, one) => Some(sum.unwrap_or_default() + one.unwrap_or_default()),
    };
    EventHookUsage {
        llm_calls: sum.llm_calls.saturating_add(one.llm_calls),
        llm_tokens_in: sum.llm_tokens_in.saturating_add(one.llm_tokens_in),
        llm_tokens_out: sum.llm_tokens_out.saturating_add(one.llm_tokens_out),
        llm_cost_usd: cost,
        search_calls: sum.search_calls.saturating_add(one.search_calls),
    }
}

const COLUMNS: &str = "id, hook, version, event, access, status, seq, time, body";

impl InvocationRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let body = row.get::<_, Option<String>>(8)?;
        Ok(Self {
            id: InvocationId::new(row.get::<_, String>(0)?),
            hook: EventHookId::new(row.get::<_, String>(1)?),
            version: row.get(2)?,
            event: event_of(row, 3)?,
            access: AccessId::new(row.get::<_, String>(4)?),
            status: InvocationStatus::read(row, 5)?,
            seq: row.get::<_, i64>(6)?.cast_unsigned(),
            time: row.get::<_, i64>(7)?.cast_unsigned(),
            invocation: body.map(|body| of_json(8, &body).map(Box::new)).transpose()?,
        })
    }

    fn all(sql: &Connection, of: &str, params: impl Params) -> rusqlite::Result<Vec<Self>> {
        let text = format!("SELECT {COLUMNS} FROM invocations WHERE {of}");
        sql.prepare_cached(&text)?.query_map(params, Self::read)?.collect()
    }
}

impl HookEventRow {
    /// Returns the events with unfinished event hooks, oldest first.
    fn open(sql: &Connection, limit: i64) -> rusqlite::Result<Vec<Self>> {
        let mut events: Vec<Self> = sql
            .prepare_cached(
                "SELECT event, access, seq FROM hook_events
                 WHERE settled_seq IS NULL ORDER BY seq LIMIT ?1",
            )?
            .query_map([limit], |row| {
                Ok(Self {
                    event: event_of(row, 0)?,
                    access: AccessId::new(row.get::<_, String>(1)?),
                    seq: row.get::<_, i64>(2)?.cast_unsigned(),
                    invocations: Vec::new(),
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
        for one in &mut events {
            let of = "event = ?1 ORDER BY place";
            one.invocations = InvocationRow::all(sql, of, [one.event.as_str()])?;
        }
        Ok(events)
    }
}

impl Ledger {
    /// Returns the events with unfinished event hooks, oldest first, at most `limit`.
    pub fn hook_events_open(&self, limit: usize) -> Result<Vec<HookEventRow>, Error> {
        self.ask(|sql| HookEventRow::open(sql, whole(limit as u64)))
    }

    /// Returns the matching invocations, the newest first.
    pub fn invocations(&self, filter: &InvocationFilter) -> Result<Vec<InvocationRow>, Error> {
        let mut of = "time >= ?1".to_owned();
        if filter.hook.is_some() {
            of.push_str(" AND hook = ?3");
        }
        if filter.errors_only {
            of.push_str(" AND error IS NOT NULL");
        }
        of.push_str(" ORDER BY seq DESC, place DESC LIMIT ?2");
        let since = whole(filter.since.unwrap_or_default());
        let last = filter.last.map_or(-1, |last| whole(last as u64));
        self.ask(|sql| match &filter.hook {
            None => InvocationRow::all(sql, &of, params![since, last]),
            Some(hook) => InvocationRow::all(sql, &of, params![since, last, hook.as_str()]),
        })
    }

    /// Returns the invocations for an event, in the order of their match.
    pub fn invocations_of_event(&self, event: &EventId) -> Result<Vec<InvocationRow>, Error> {
        self.ask(|sql| InvocationRow::all(sql, "event = ?1 ORDER BY place", [event.as_str()]))
    }

    /// Returns the statistics of a hook's last `HOOK_STATS_WINDOW` invocations.
    pub fn hook_stats(&self, hook: &EventHookId) -> Result<HookStats, Error> {
        self.ask(|sql| stats(sql, hook, whole(HOOK_STATS_WINDOW as u64)))
    }
}

/// Returns the statistics of a hook's last invocations, at most so many.
fn stats(sql: &Connection, hook: &EventHookId, window: i64) -> rusqlite::Result<HookStats> {
    let done = sql
        .prepare_cached(
            "SELECT body FROM invocations WHERE hook = ?1 AND done_seq IS NOT NULL
             ORDER BY done_seq DESC LIMIT ?2",
        )?
        .query_map(params![hook.as_str(), window], |row| of_json(0, &row.get::<_, String>(0)?))?
        .collect::<rusqlite::Result<Vec<Invocation>>>()?;
    Ok(HookStats::of(&done))
}

/// Returns the status of an invocation; None if there is none with this id.
pub(crate) fn invocation_status(
    sql: &Connection,
    id: &InvocationId,
) -> rusqlite::Result<Option<InvocationStatus>> {
    sql.prepare_cached("SELECT status FROM invocations WHERE id = ?1")?
        .query_row([id.as_str()], |row| InvocationStatus::read(row, 0))
        .optional()
}

/// Returns the status of an invocation; None unless it is of this hook, version and event.
pub(crate) fn status_of_its_own(
    sql: &Connection,
    invocation: &Invocation,
) -> rusqlite::Result<Option<InvocationStatus>> {
    sql.prepare_cached(
        "SELECT status FROM invocations
         WHERE id = ?1 AND hook = ?2 AND version = ?3 AND event = ?4",
    )?
    .query_row(
        params![
            invocation.id.as_str(),
            invocation.hook_id.as_str(),
            invocation.version,
            invocation.event_id.as_str()
        ],
        |row| InvocationStatus::read(row, 0),
    )
    .optional()
}

/// Returns true if an event's hooks are settled; None if the event was never matched.
pub(crate) fn is_settled(sql: &Connection, event: &EventId) -> rusqlite::Result<Option<bool>> {
    sql.prepare_cached("SELECT settled_seq IS NOT NULL FROM hook_events WHERE event = ?1")?
        .query_row([event.as_str()], |row| row.get(0))
        .optional()
}

/// Returns an unfinished invocation for an event, or None.
pub(crate) fn pending(sql: &Connection, event: &EventId) -> rusqlite::Result<Option<InvocationId>> {
    sql.prepare_cached("SELECT id FROM invocations WHERE event = ?1 AND done_seq IS NULL LIMIT 1")?
        .query_row([event.as_str()], |row| row.get::<_, String>(0).map(InvocationId::new))
        .optional()
}

fn event_of(row: &Row<'_>, index: usize) -> rusqlite::Result<EventId> {
    let text: String = row.get(index)?;
    EventId::try_from(text.clone()).map_err(|_| strange(index, &text))
}

/// Stores the matches of an event; returns false if it was matched before.
pub(super) fn matched(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    event: &EventId,
    access: &AccessId,
    matched: &[EventHookMatch],
) -> rusqlite::Result<bool> {
    let made = run(
        sql,
        "INSERT OR IGNORE INTO hook_events (event, access, seq) VALUES (?1, ?2, ?3)",
        params![event.as_str(), access.as_str(), entry.seq],
    )?;
    if made == 0 {
        return Ok(false);
    }
    for (place, one) in matched.iter().enumerate() {
        run(
            sql,
            "INSERT OR IGNORE INTO invocations
                 (id, hook, version, event, access, place, status, seq, time)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'matched', ?7, ?8)",
            params![
                one.invocation.as_str(),
                one.hook.as_str(),
                one.version,
                event.as_str(),
                access.as_str(),
                whole(place as u64),
                entry.seq,
                entry.time
            ],
        )?;
    }
    Ok(true)
}

pub(super) fn begun(sql: &Connection, id: &InvocationId) -> rusqlite::Result<()> {
    let change = "UPDATE invocations SET status = 'begun' WHERE id = ?1 AND status = 'matched'";
    run(sql, change, [id.as_str()])?;
    Ok(())
}

/// Stores the result of an invocation; returns false if it was over before.
pub(super) fn done(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    invocation: &Invocation,
) -> rusqlite::Result<bool> {
    let changed = run(
        sql,
        "UPDATE invocations SET status = 'done', done_seq = ?2, fired = ?3, latency = ?4,
             error = ?5, body = ?6
         WHERE id = ?1 AND done_seq IS NULL AND hook = ?7 AND version = ?8 AND event = ?9",
        params![
            invocation.id.as_str(),
            entry.seq,
            invocation.fired,
            whole(invocation.latency_ms),
            invocation.error,
            json(invocation),
            invocation.hook_id.as_str(),
            invocation.version,
            invocation.event_id.as_str()
        ],
    )?;
    Ok(changed > 0)
}

pub(super) fn settled(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    event: &EventId,
) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE hook_events SET settled_seq = ?2 WHERE event = ?1 AND settled_seq IS NULL",
        params![event.as_str(), entry.seq],
    )?;
    Ok(())
}
