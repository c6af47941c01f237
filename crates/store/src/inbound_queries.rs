//! Queries on inbounds: their stages, the mailboxes, and the answers to send.
//!
//! Must never: read the whole past to answer a question about open inbounds.

use agentry_protocol::access::AccessRecord;
use agentry_protocol::envelope::Envelope;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::{IntakeStage, QueuePreferences, RoutedInbound};
use agentry_protocol::{RunId, SessionId, event::Event, inbound::Inbound};
use rusqlite::{Connection, OptionalExtension, params};

use crate::column::whole;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::view::{InboundRow, queue_wish};

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

    /// Returns the queue preferences of a session; None means the defaults.
    pub fn queue_wish(&self, session: &SessionId) -> Result<Option<QueuePreferences>, Error> {
        self.ask(|sql| queue_wish(sql, session))
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
