//! Questions about what came in: how far it is, what waits, what is to be sent.
//!
//! Must never: read all that ever came in to answer a question about what is open.

use agentry_protocol::access::AccessRecord;
use agentry_protocol::envelope::Envelope;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::{Intake, Routed, Wish};
use agentry_protocol::{RunId, SessionId, event::Event, inbound::Inbound};
use rusqlite::{OptionalExtension, params};

use crate::error::Error;
use crate::ledger::Ledger;
use crate::view::{InboundRow, queue_wish, whole};

impl Ledger {
    /// Something that came in.
    pub fn inbound(&self, id: &EventId) -> Result<Option<InboundRow>, Error> {
        self.ask(|sql| InboundRow::by_id(sql, id))
    }

    /// What came in and nobody looked at yet, oldest first, at most so many.
    pub fn inbounds_received(&self, limit: usize) -> Result<Vec<(u64, Box<Inbound>)>, Error> {
        self.read(|sql| {
            let of = "status = 'received' ORDER BY seq LIMIT ?1";
            let rows = InboundRow::all(sql, of, [whole(limit as u64)])
                .map_err(|source| self.shared.unread(source))?;
            rows.into_iter().map(|row| Ok((row.seq, self.received_in(sql, row.seq)?))).collect()
        })
    }

    /// What came in, as the entry has it.
    pub fn inbound_received(&self, row: &InboundRow) -> Result<Box<Inbound>, Error> {
        self.read(|sql| self.received_in(sql, row.seq))
    }

    /// Where something went, as the entry has it.
    pub fn inbound_routed(&self, row: &InboundRow) -> Result<Option<Box<Routed>>, Error> {
        let Some(routed) = &row.routed else { return Ok(None) };
        match self.entry(routed.seq)?.map(|envelope| envelope.event) {
            Some(Event::Intake(Intake::Routed(routed))) => Ok(Some(routed)),
            Some(_) | None => Err(self.not_the(routed.seq, "place")),
        }
    }

    /// The decision that let something in, as the entry has it.
    pub fn inbound_decided(&self, row: &InboundRow) -> Result<Option<Box<AccessRecord>>, Error> {
        let Some((_, seq)) = &row.decided else { return Ok(None) };
        match self.entry(*seq)?.map(|envelope| envelope.event) {
            Some(Event::Intake(Intake::Decided { record })) => Ok(Some(record)),
            Some(_) | None => Err(self.not_the(*seq, "decision")),
        }
    }

    /// What lies in the mailbox of a session, oldest first.
    pub fn inbounds_waiting(&self, session: &SessionId) -> Result<Vec<InboundRow>, Error> {
        self.ask(|sql| {
            let of = "session = ?1 AND status IN ('waiting', 'steering') ORDER BY routed_seq";
            InboundRow::all(sql, of, [session.as_str()])
        })
    }

    /// What of a session was dropped with the promise of a line, and has had none since.
    pub fn inbounds_summarized(&self, session: &SessionId) -> Result<Vec<InboundRow>, Error> {
        self.ask(|sql| {
            let of = "session = ?1 AND why = 'summarized' AND settled_seq > COALESCE((
                  SELECT MAX(begun.created_seq) FROM inbounds AS said JOIN runs AS begun
                  ON begun.id = said.run WHERE said.session = ?1
                  AND said.authority = inbounds.authority), 0) ORDER BY settled_seq";
            InboundRow::all(sql, of, [session.as_str()])
        })
    }

    /// The sessions in whose mailboxes something waits.
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

    /// The runs about something that came in which are not over, oldest first.
    pub fn runs_answering(&self) -> Result<Vec<RunId>, Error> {
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT run FROM inbounds WHERE status IN ('running', 'paused', 'taken')
                 GROUP BY run ORDER BY MIN(seq)",
            )?
            .query_map([], |row| row.get::<_, String>(0).map(RunId::new))?
            .collect()
        })
    }

    /// The run of a session about something that came in which is not over.
    pub fn run_answering(&self, session: &SessionId) -> Result<Option<RunId>, Error> {
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT run FROM inbounds WHERE session = ?1 AND status IN ('running', 'paused', 'taken')
                 ORDER BY seq DESC LIMIT 1",
            )?
            .query_row([session.as_str()], |row| row.get::<_, String>(0).map(RunId::new))
            .optional()
        })
    }

    /// What a run is about, oldest first.
    pub fn inbounds_of_run(&self, run: &RunId) -> Result<Vec<InboundRow>, Error> {
        self.ask(|sql| InboundRow::all(sql, "run = ?1 ORDER BY routed_seq", [run.as_str()]))
    }

    /// What was answered and whose answer was not sent, oldest first.
    pub fn inbounds_undelivered(&self, limit: usize) -> Result<Vec<InboundRow>, Error> {
        self.ask(|sql| {
            let of = "delivery = 'pending' ORDER BY settled_seq LIMIT ?1";
            InboundRow::all(sql, of, [whole(limit as u64)])
        })
    }

    /// The last that came in or were sent, the newest first.
    pub fn inbounds(&self, limit: usize) -> Result<Vec<InboundRow>, Error> {
        self.ask(|sql| InboundRow::all(sql, "1 ORDER BY seq DESC LIMIT ?1", [whole(limit as u64)]))
    }

    /// How many there are at each stage, and how many answers are to be sent.
    pub fn inbound_counts(&self) -> Result<Vec<(String, u64)>, Error> {
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT status, COUNT(*) FROM inbounds
                 WHERE status IN ('received', 'waiting', 'steering', 'running', 'paused', 'taken')
                 GROUP BY status
                 UNION ALL SELECT 'undelivered', COUNT(*) FROM inbounds WHERE delivery = 'pending'",
            )?
            .query_map(params![], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))?
            .collect()
        })
    }

    /// What a session says about how messages wait.
    pub fn queue_wish(&self, session: &SessionId) -> Result<Option<Wish>, Error> {
        self.ask(|sql| queue_wish(sql, session))
    }

    fn received_in(&self, sql: &rusqlite::Connection, seq: u64) -> Result<Box<Inbound>, Error> {
        let Envelope { event, .. } = self.entry_in(sql, seq)?;
        match event {
            Event::Intake(Intake::Received { inbound }) => Ok(inbound),
            Event::Intake(Intake::Delivered(delivered)) => {
                delivered.sent.ok_or_else(|| self.not_the(seq, "message"))
            }
            _ => Err(self.not_the(seq, "message")),
        }
    }
}
