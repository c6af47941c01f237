//! Inbounds with their stages, and the queries about them.
//!
//! Must never: read the whole past to answer a question about open inbounds.

use agentry_protocol::access::AccessRecord;
use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::Event;
use agentry_protocol::inbound::{EventId, Inbound};
use agentry_protocol::intake::{IntakeStage, RoutedInbound};
use agentry_protocol::{AccessId, ContentHash, RunId, SessionId, TurnId};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use crate::column::{of_word, strange, whole};
use crate::error::Error;
use crate::ledger::Ledger;
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

/// The open work of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenInbounds {
    /// The inbounds in its mailbox, oldest first.
    pub waiting: Vec<InboundRow>,
    /// Inbounds that overflowed and that the next prompt must mention in a line.
    pub summarized: Vec<InboundRow>,
    /// The unfinished run that answers an inbound, unless its sender waits at another process.
    pub run: Option<RunId>,
}

/// An inbound with its records up to the run.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeInbound {
    /// The row of the inbound.
    pub row: InboundRow,
    /// The inbound as received.
    pub inbound: Box<Inbound>,
    /// The route; None before routing.
    pub routed: Option<Box<RoutedInbound>>,
    /// The access decision; None before the decision.
    pub decided: Option<Box<AccessRecord>>,
}

/// Counts of messages in a session, used to decide if an entity may read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpeakerCounts {
    /// The number of messages from the entity.
    pub own: u64,
    /// The number of messages from others.
    pub others: u64,
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

    fn by_id(sql: &Connection, id: &EventId) -> rusqlite::Result<Option<Self>> {
        let text = format!("SELECT {COLUMNS} FROM inbounds WHERE id = ?1");
        sql.prepare_cached(&text)?.query_row([id.as_str()], Self::read).optional()
    }

    fn all(sql: &Connection, of: &str, params: impl Params) -> rusqlite::Result<Vec<Self>> {
        let text = format!("SELECT {COLUMNS} FROM inbounds WHERE {of}");
        sql.prepare_cached(&text)?.query_map(params, Self::read)?.collect()
    }
}

impl Ledger {
    /// Returns an inbound; None if there is none with this id.
    pub fn inbound(&self, id: &EventId) -> Result<Option<InboundRow>, Error> {
        self.ask(|sql| InboundRow::by_id(sql, id))
    }

    /// Returns the inbounds at stage `Received`, by entry, oldest first, at most `limit`.
    pub fn inbounds_received(&self, limit: usize) -> Result<Vec<(u64, Box<Inbound>)>, Error> {
        self.read(|sql| {
            let of = "status = 'received' ORDER BY seq LIMIT ?1";
            let rows = InboundRow::all(sql, of, [whole(limit as u64)])
                .map_err(|source| self.shared.unread(source))?;
            rows.into_iter().map(|row| Ok((row.seq, self.received_in(sql, row.seq)?))).collect()
        })
    }

    /// Returns an inbound as received, from its entry.
    pub fn inbound_received(&self, row: &InboundRow) -> Result<Box<Inbound>, Error> {
        self.read(|sql| self.received_in(sql, row.seq))
    }

    /// Returns an inbound with its records up to the run; None if there is none with this id.
    pub fn inbound_whole(&self, id: &EventId) -> Result<Option<WholeInbound>, Error> {
        self.read(|sql| {
            let row = InboundRow::by_id(sql, id).map_err(|source| self.shared.unread(source))?;
            let Some(row) = row else { return Ok(None) };
            let inbound = self.received_in(sql, row.seq)?;
            let routed = match &row.routed {
                Some(routed) => Some(self.routed_in(sql, routed.seq)?),
                None => None,
            };
            let decided = match &row.decided {
                Some((_, seq)) => Some(self.decided_in(sql, *seq)?),
                None => None,
            };
            Ok(Some(WholeInbound { row, inbound, routed, decided }))
        })
    }

    /// Returns the route of an inbound, from its entry; None before routing.
    pub fn inbound_routed(&self, row: &InboundRow) -> Result<Option<Box<RoutedInbound>>, Error> {
        let Some(routed) = &row.routed else { return Ok(None) };
        self.read(|sql| self.routed_in(sql, routed.seq)).map(Some)
    }

    /// Returns the access decision on an inbound, from its entry; None before the decision.
    pub fn inbound_decided(&self, row: &InboundRow) -> Result<Option<Box<AccessRecord>>, Error> {
        let Some((_, seq)) = &row.decided else { return Ok(None) };
        self.read(|sql| self.decided_in(sql, *seq)).map(Some)
    }

    fn routed_in(&self, sql: &Connection, seq: u64) -> Result<Box<RoutedInbound>, Error> {
        match self.entry_in(sql, seq)?.event {
            Event::Intake(IntakeStage::Routed(routed)) => Ok(routed),
            _ => Err(self.not_the(seq, "route")),
        }
    }

    fn decided_in(&self, sql: &Connection, seq: u64) -> Result<Box<AccessRecord>, Error> {
        match self.entry_in(sql, seq)?.event {
            Event::Intake(IntakeStage::Decided { record }) => Ok(record),
            _ => Err(self.not_the(seq, "decision")),
        }
    }

    /// Returns the open work of a session.
    pub fn inbounds_open(&self, session: &SessionId) -> Result<OpenInbounds, Error> {
        self.ask(|sql| {
            Ok(OpenInbounds {
                waiting: waiting(sql, session)?,
                summarized: summarized(sql, session)?,
                run: answering(sql, session)?,
            })
        })
    }

    /// Returns the sessions with a mailbox that is not empty.
    pub fn sessions_waiting(&self) -> Result<Vec<SessionId>, Error> {
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT session FROM inbounds WHERE status IN ('waiting', 'steering')
                 GROUP BY session ORDER BY MIN(routed_seq)",
            )?
            .query_map([], |row| row.get::<_, String>(0).map(SessionId::new))?
            .collect()
        })
    }

    /// Returns the unfinished runs that answer inbounds, oldest first, without those whose sender
    /// waits at a process.
    pub fn runs_answering(&self) -> Result<Vec<RunId>, Error> {
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT run FROM inbounds WHERE status IN ('running', 'paused', 'taken') AND here = 0
                 GROUP BY run ORDER BY MIN(seq)",
            )?
            .query_map([], |row| row.get::<_, String>(0).map(RunId::new))?
            .collect()
        })
    }

    /// Returns the inbounds that a run answers, oldest first.
    pub fn inbounds_of_run(&self, run: &RunId) -> Result<Vec<InboundRow>, Error> {
        self.ask(|sql| InboundRow::all(sql, "run = ?1 ORDER BY routed_seq", [run.as_str()]))
    }

    /// Returns undelivered inbounds that settled after an entry, oldest first, at most `limit`.
    pub fn inbounds_undelivered(
        &self,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<InboundRow>, Error> {
        self.ask(|sql| {
            let of = "delivery = 'pending' AND settled_seq > ?1 ORDER BY settled_seq LIMIT ?2";
            InboundRow::all(sql, of, [whole(after_seq), whole(limit as u64)])
        })
    }

    /// Returns the last inbounds, with messages that the agent sent, the newest first.
    pub fn inbounds(&self, limit: usize) -> Result<Vec<InboundRow>, Error> {
        self.ask(|sql| InboundRow::all(sql, "1 ORDER BY seq DESC LIMIT ?1", [whole(limit as u64)]))
    }

    /// Returns the number of inbounds at each stage, and of answers to send.
    pub fn inbound_counts(&self) -> Result<Vec<(String, u64)>, Error> {
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT status, COUNT(*) FROM inbounds
                 WHERE status IN ('received', 'hooked', 'waiting', 'steering', 'running', 'paused',
                     'taken')
                 GROUP BY status
                 UNION ALL SELECT 'undelivered', COUNT(*) FROM inbounds WHERE delivery = 'pending'",
            )?
            .query_map(params![], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))?
            .collect()
        })
    }

    /// Returns receipt and turn start of the last inbounds with a turn, in milliseconds since 1970.
    pub fn inbound_starts(&self, limit: usize) -> Result<Vec<(u64, u64)>, Error> {
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT inbounds.time, ledger.time FROM inbounds
                 JOIN turns ON turns.id = inbounds.turn JOIN ledger ON ledger.seq = turns.started_seq
                 WHERE inbounds.steer_seq IS NULL ORDER BY inbounds.seq DESC LIMIT ?1",
            )?
            .query_map([whole(limit as u64)], |row| {
                let time = |index| row.get::<_, i64>(index).map(i64::cast_unsigned);
                Ok((time(0)?, time(1)?))
            })?
            .collect()
        })
    }

    /// Returns the number of messages of an entity and of others in a session, over all channels.
    pub fn speaker_counts(
        &self,
        session: &SessionId,
        entity: &str,
    ) -> Result<SpeakerCounts, Error> {
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT COALESCE(SUM(audit.principal IS ?2), 0),
                        COALESCE(SUM(audit.principal IS NOT ?2), 0)
                 FROM inbounds LEFT JOIN audit ON audit.event = inbounds.id
                 WHERE inbounds.session = ?1",
            )?
            .query_row([session.as_str(), entity], |row| {
                let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
                Ok(SpeakerCounts { own: number(0)?, others: number(1)? })
            })
        })
    }

    /// Returns the sessions with messages of an entity, the newest first.
    pub fn sessions_with(&self, entity: &str) -> Result<Vec<SessionId>, Error> {
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT DISTINCT inbounds.session
                 FROM audit JOIN inbounds ON inbounds.id = audit.event
                 WHERE audit.principal = ?1 AND inbounds.session IS NOT NULL
                 ORDER BY inbounds.session DESC",
            )?
            .query_map([entity], |row| row.get::<_, String>(0).map(SessionId::new))?
            .collect()
        })
    }

    fn received_in(&self, sql: &Connection, seq: u64) -> Result<Box<Inbound>, Error> {
        let Envelope { event, .. } = self.entry_in(sql, seq)?;
        match event {
            Event::Intake(IntakeStage::Received { inbound }) => Ok(inbound),
            Event::Intake(IntakeStage::Delivered(delivered)) => {
                delivered.sent.ok_or_else(|| self.not_the(seq, "message"))
            }
            _ => Err(self.not_the(seq, "message")),
        }
    }
}

fn waiting(sql: &Connection, session: &SessionId) -> rusqlite::Result<Vec<InboundRow>> {
    let of = "session = ?1 AND status IN ('waiting', 'steering') ORDER BY routed_seq";
    InboundRow::all(sql, of, [session.as_str()])
}

fn summarized(sql: &Connection, session: &SessionId) -> rusqlite::Result<Vec<InboundRow>> {
    let of = "session = ?1 AND why = 'summarized' AND settled_seq > COALESCE((
          SELECT MAX(begun.created_seq) FROM inbounds AS said JOIN runs AS begun
          ON begun.id = said.run WHERE said.session = ?1
          AND said.authority = inbounds.authority), 0) ORDER BY settled_seq";
    InboundRow::all(sql, of, [session.as_str()])
}

fn answering(sql: &Connection, session: &SessionId) -> rusqlite::Result<Option<RunId>> {
    sql.prepare_cached(
        "SELECT run FROM inbounds WHERE session = ?1 AND status IN ('running', 'paused', 'taken')
         AND here = 0 ORDER BY seq DESC LIMIT 1",
    )?
    .query_row([session.as_str()], |row| row.get::<_, String>(0).map(RunId::new))
    .optional()
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
