//! The fold of inbounds: each entry moves an inbound from one stage to another.
//!
//! Must never: let an inbound be answered by two runs, or be lost between two stages.

use agentry_protocol::access::{AccessRecord, Effect};
use agentry_protocol::event::{Ending, RunPlan};
use agentry_protocol::inbound::{Direction, EventId, Inbound};
use agentry_protocol::intake::{DeliveryReport, IntakeStage, RoutedInbound, UnrunReason};
use rusqlite::{Connection, params};

use super::inbounds::DeliveryStatus;
use super::{PlacedEntry, audit, queues, run};
use crate::status::InboundStatus;

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
        IntakeStage::QueueSet { wish } => queues::set(sql, entry, *wish),
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
