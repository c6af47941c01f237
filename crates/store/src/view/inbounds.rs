//! Inbounds and their stages.
//!
//! Must never: let an inbound be answered by two runs, or be lost between two stages.

use agentry_protocol::access::{AccessRecord, Effect};
use agentry_protocol::event::{Ending, RunPlan};
use agentry_protocol::inbound::{Direction, EventId, Inbound};
use agentry_protocol::intake::{
    DeliveryReport, IntakeStage, QueuePreferences, RoutedInbound, UnrunReason,
};
use agentry_protocol::{AccessId, ContentHash, RunId, SessionId, TurnId};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::{PlacedEntry, audit, run};
use crate::column::{of_word, strange};
use crate::status::InboundStatus;

/// An inbound with its stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboundRow {
    /// The id of the event.
    pub id: EventId,
    /// The entry that received it.
    pub seq: u64,
    /// The stage.
    pub status: InboundStatus,
    /// The access decision, and the entry that holds it.
    pub decided: Option<(AccessId, u64)>,
    /// The route; None before routing.
    pub routed: Option<RoutedRow>,
    /// The run that answers it.
    pub run: Option<RunId>,
    /// The turn that answers it.
    pub turn: Option<TurnId>,
    /// The reason why it has no turn.
    pub why: Option<String>,
    /// The entry after which only the delivery of the answer was left.
    pub settled_seq: Option<u64>,
    /// The delivery of the answer; None if there is no answer to deliver.
    pub delivery: Option<DeliveryRow>,
}

/// The route of an inbound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutedRow {
    /// The session.
    pub session: SessionId,
    /// The hash of the sender's permissions.
    pub authority: ContentHash,
    /// The entry that records the route.
    pub seq: u64,
    /// The entry that added it to a running turn.
    pub steer_seq: Option<u64>,
    /// True if the sender waits for the answer at the process that runs it.
    pub here: bool,
}

/// The delivery of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryRow {
    /// The status.
    pub status: DeliveryStatus,
    /// The number of chunks that were sent.
    pub chunks_sent: u32,
    /// The entry that ended the delivery.
    pub seq: Option<u64>,
}

/// The status of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// Some chunks are still to be sent.
    Pending,
    /// All chunks were sent.
    Done,
    /// Some chunks were not sent, and will not be.
    Failed,
}

impl DeliveryStatus {
    /// Returns the word for this value, as stored in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    fn read(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<Self>> {
        let word = row.get::<_, Option<String>>(index)?;
        let all = [Self::Pending, Self::Done, Self::Failed];
        word.map(|word| of_word(index, &word, &all, Self::as_str)).transpose()
    }
}

const COLUMNS: &str = "id, seq, status, access, decided_seq, session, authority, routed_seq, \
     steer_seq, run, turn, why, settled_seq, delivery, chunks_sent, delivered_seq, \
     here";

impl InboundRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |index| row.get::<_, Option<String>>(index);
        let number =
            |index| row.get::<_, Option<i64>>(index).map(|found| found.map(i64::cast_unsigned));
        let id: String = row.get(0)?;
        let routed = match (text(5)?, text(6)?, number(7)?) {
            (Some(session), Some(authority), Some(seq)) => Some(RoutedRow {
                session: SessionId::new(session),
                authority: serde_json::from_value(authority.into())
                    .expect("a hash is a transparent string"),
                seq,
                steer_seq: number(8)?,
                here: row.get(16)?,
            }),
            _ => None,
        };
        let delivery = DeliveryStatus::read(row, 13)?;
        Ok(Self {
            id: EventId::try_from(id.clone()).map_err(|_| strange(0, &id))?,
            seq: row.get::<_, i64>(1)?.cast_unsigned(),
            status: InboundStatus::read(row, 2)?,
            decided: text(3)?.map(AccessId::new).zip(number(4)?),
            routed,
            run: text(9)?.map(RunId::new),
            turn: text(10)?.map(TurnId::new),
            why: text(11)?,
            settled_seq: number(12)?,
            delivery: match delivery {
                None => None,
                Some(status) => {
                    Some(DeliveryRow { status, chunks_sent: row.get(14)?, seq: number(15)? })
                }
            },
        })
    }

    pub(crate) fn by_id(sql: &Connection, id: &EventId) -> rusqlite::Result<Option<Self>> {
        let text = format!("SELECT {COLUMNS} FROM inbounds WHERE id = ?1");
        sql.prepare_cached(&text)?.query_row([id.as_str()], Self::read).optional()
    }

    pub(crate) fn all(
        sql: &Connection,
        of: &str,
        params: impl Params,
    ) -> rusqlite::Result<Vec<Self>> {
        let text = format!("SELECT {COLUMNS} FROM inbounds WHERE {of}");
        sql.prepare_cached(&text)?.query_map(params, Self::read)?.collect()
    }
}

/// Returns the stage of an inbound and the entry that received it; None if it is unknown.
pub(crate) fn status(
    sql: &Connection,
    id: &EventId,
) -> rusqlite::Result<Option<(InboundStatus, u64)>> {
    sql.prepare_cached("SELECT status, seq FROM inbounds WHERE id = ?1")?
        .query_row([id.as_str()], |row| {
            Ok((InboundStatus::read(row, 0)?, row.get::<_, i64>(1)?.cast_unsigned()))
        })
        .optional()
}

/// Returns the queue preferences of a session, or None.
pub(crate) fn wish(
    sql: &Connection,
    session: &SessionId,
) -> rusqlite::Result<Option<QueuePreferences>> {
    let text = sql
        .prepare_cached("SELECT wish FROM queues WHERE session = ?1")?
        .query_row([session.as_str()], |row| row.get::<_, String>(0))
        .optional()?;
    text.map(|text| serde_json::from_str(&text).map_err(|_| strange(0, &text))).transpose()
}

pub(super) fn fold(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    intake: &IntakeStage,
) -> rusqlite::Result<()> {
    match intake {
        IntakeStage::Received { inbound } => received(sql, entry, inbound),
        IntakeStage::Decided { record } => {
            decided(sql, entry, record)?;
            audit::decided(sql, entry, record)
        }
        IntakeStage::Routed(routed) => put(sql, entry, routed),
        IntakeStage::Unrun { event, why, .. } => unrun(sql, entry, event, *why),
        IntakeStage::ChunkSent { event, chunk, .. } => {
            run(
                sql,
                "UPDATE inbounds SET chunks_sent = MAX(chunks_sent, ?2 + 1) WHERE id = ?1",
                params![event.as_str(), chunk],
            )?;
            Ok(())
        }
        IntakeStage::Delivered(delivered) => sent(sql, entry, delivered),
        IntakeStage::QueueSet { wish } => queue_set(sql, entry, *wish),
    }
}

fn received(sql: &Connection, entry: &PlacedEntry<'_>, inbound: &Inbound) -> rusqlite::Result<()> {
    // Past messages, and events that are no message to the agent, are kept and start nothing.
    let status = match (inbound.backfill, inbound.direction) {
        (false, Direction::Received) => InboundStatus::Received,
        (true, _)
        | (
            false,
            Direction::Sent
            | Direction::Observed
            | Direction::Created
            | Direction::Updated
            | Direction::Deleted,
        ) => InboundStatus::Stored,
    };
    insert(sql, entry, &inbound.event_id, status)
}

fn insert(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    id: &EventId,
    status: InboundStatus,
) -> rusqlite::Result<()> {
    run(
        sql,
        "INSERT OR IGNORE INTO inbounds (id, seq, time, status) VALUES (?1, ?2, ?3, ?4)",
        params![id.as_str(), entry.seq, entry.time, status.as_str()],
    )?;
    Ok(())
}

fn decided(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    record: &AccessRecord,
) -> rusqlite::Result<()> {
    let Some(event) = &record.event_id else { return Ok(()) };
    let (status, settled) = match record.decision.effect {
        Effect::Allow => (InboundStatus::Received, None),
        Effect::Deny => (InboundStatus::Denied, Some(entry.seq)),
    };
    run(
        sql,
        "UPDATE inbounds SET access = ?2, decided_seq = ?3, status = ?4, settled_seq = ?5
         WHERE id = ?1 AND status = 'received'",
        params![event.as_str(), record.id.as_str(), entry.seq, status.as_str(), settled],
    )?;
    Ok(())
}

/// Marks an allowed inbound that is not routed: its event hooks run.
pub(super) fn hooked(sql: &Connection, event: &EventId) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE inbounds SET status = 'hooked'
         WHERE id = ?1 AND status = 'received' AND decided_seq IS NOT NULL",
        [event.as_str()],
    )?;
    Ok(())
}

fn put(sql: &Connection, entry: &PlacedEntry<'_>, routed: &RoutedInbound) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE inbounds SET status = 'waiting', session = ?2, authority = ?3, routed_seq = ?4, here = ?5
         WHERE id = ?1 AND status IN ('received', 'hooked')",
        params![
            routed.event.as_str(),
            entry.session(),
            routed.authority.as_str(),
            entry.seq,
            routed.here
        ],
    )?;
    Ok(())
}

fn unrun(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    event: &EventId,
    why: UnrunReason,
) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE inbounds SET status = 'unrun', why = ?2, settled_seq = ?3
         WHERE id = ?1 AND status IN ('received', 'hooked', 'waiting', 'steering')",
        params![event.as_str(), why.as_str(), entry.seq],
    )?;
    Ok(())
}

fn sent(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    delivered: &DeliveryReport,
) -> rusqlite::Result<()> {
    let status =
        if delivered.error.is_none() { DeliveryStatus::Done } else { DeliveryStatus::Failed };
    run(
        sql,
        "UPDATE inbounds SET delivery = ?2, chunks_sent = ?3, delivered_seq = ?4 WHERE id = ?1",
        params![delivered.event.as_str(), status.as_str(), delivered.chunks_sent, entry.seq],
    )?;
    match &delivered.sent {
        Some(sent) => insert(sql, entry, &sent.event_id, InboundStatus::Sent),
        None => Ok(()),
    }
}

fn queue_set(
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

/// Marks the inbounds that a run answers; the answer goes to the last of them.
pub(super) fn run_created(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    plan: &RunPlan,
) -> rusqlite::Result<()> {
    let last = plan.given.inbounds.last();
    for event in &plan.given.inbounds {
        run(
            sql,
            "UPDATE inbounds SET status = 'running', run = ?2, replied = ?3, steer_seq = NULL
             WHERE id = ?1 AND status = 'waiting'",
            params![event.as_str(), entry.run(), Some(event) == last],
        )?;
    }
    Ok(())
}

/// Marks an inbound that was added to a running turn.
pub(super) fn steered(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    id: &EventId,
) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE inbounds SET status = 'steering', steer_seq = ?2
         WHERE id = ?1 AND status = 'waiting'",
        params![id.as_str(), entry.seq],
    )?;
    Ok(())
}

/// Marks inbounds that a turn has read from an entry.
pub(super) fn taken(sql: &Connection, entry: &PlacedEntry<'_>, input: u64) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE inbounds SET status = 'taken', run = ?2, turn = ?3
         WHERE steer_seq = ?1 AND status IN ('waiting', 'steering')",
        params![input.cast_signed(), entry.run(), entry.turn()],
    )?;
    Ok(())
}

pub(super) fn turn_started(sql: &Connection, entry: &PlacedEntry<'_>) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE inbounds SET turn = ?2 WHERE run = ?1 AND status = 'running'",
        params![entry.run(), entry.turn()],
    )?;
    Ok(())
}

/// Returns unread inbounds to the mailbox, since the turn has ended. Another turn of the run may
/// read them, so the steering entry stays known until a run answers them.
pub(super) fn turn_ended(sql: &Connection, session: &str) -> rusqlite::Result<()> {
    run(
        sql,
        // Both status terms are needed: the first one matches the condition of the index.
        "UPDATE inbounds SET status = 'waiting'
         WHERE session = ?1 AND status IN ('waiting', 'steering') AND status = 'steering'",
        [session],
    )?;
    Ok(())
}

pub(super) fn run_paused(sql: &Connection, entry: &PlacedEntry<'_>) -> rusqlite::Result<()> {
    let change = "UPDATE inbounds SET status = 'paused' WHERE run = ?1 AND status = 'running'";
    run(sql, change, [entry.run()])?;
    Ok(())
}

pub(super) fn run_resumed(sql: &Connection, entry: &PlacedEntry<'_>) -> rusqlite::Result<()> {
    let change = "UPDATE inbounds SET status = 'running' WHERE run = ?1 AND status = 'paused'";
    run(sql, change, [entry.run()])?;
    Ok(())
}

pub(super) fn run_ended(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    ending: Ending,
) -> rusqlite::Result<()> {
    let status = match ending {
        Ending::Done => InboundStatus::Answered,
        Ending::Failed
        | Ending::Denied
        | Ending::LimitReached
        | Ending::ModelFailed
        | Ending::Cancelled => InboundStatus::Failed,
    };
    run(
        sql,
        "UPDATE inbounds SET status = ?2, settled_seq = ?3,
             delivery = CASE WHEN replied THEN 'pending' ELSE NULL END
         WHERE run = ?1 AND status IN ('running', 'paused', 'taken')",
        params![entry.run(), status.as_str(), entry.seq],
    )?;
    Ok(())
}
