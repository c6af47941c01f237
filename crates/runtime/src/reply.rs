//! Sends the answer of a run back to where its question came from, and records that.
//!
//! Must never: send to another place than the one that the question came from, or forget an answer.

use agentry_kernel::identity::LOCAL;
use agentry_protocol::RunId;
use agentry_protocol::envelope::{About, Draft};
use agentry_protocol::event::{Ending, Event};
use agentry_protocol::inbound::{Body, Direction, EventId, Inbound, PeerKind, Sender};
use agentry_protocol::intake::{Delivered, DeliveryError, Intake as Stage};
use agentry_store::{DeliveryStatus, InboundRow, TurnStatus};
use serde_json::{Map, json};

use crate::desk::Say;
use crate::error::Error;
use crate::host::{Host, SharedHost};
use crate::limits::INTAKE_EVENTS_MAX;

/// What sends answers back.
#[derive(Clone, Default)]
pub struct Replies;

impl Replies {
    /// Sends what an earlier process left unsent.
    pub(crate) fn take_up(&self, host: &SharedHost, say: &Say) -> Result<(), Error> {
        loop {
            let rows = host.ledger.inbounds_undelivered(INTAKE_EVENTS_MAX)?;
            if rows.is_empty() {
                return Ok(());
            }
            for row in rows {
                if let Err(error) = self.send(host, &row) {
                    say(&format!("the answer to {} cannot be sent: {error}", row.id));
                    return Err(error);
                }
            }
        }
    }

    /// Sends the answer of a run that is over.
    pub(crate) fn answer(&self, host: &SharedHost, run: &RunId) -> Result<(), Error> {
        let pending = |row: &InboundRow| {
            row.delivery.is_some_and(|delivery| delivery.status == DeliveryStatus::Pending)
        };
        for row in host.ledger.inbounds_of_run(run)?.iter().filter(|row| pending(row)) {
            self.send(host, row)?;
        }
        Ok(())
    }

    fn send(&self, host: &Host, row: &InboundRow) -> Result<(), Error> {
        let asked = host.ledger.inbound_received(row)?;
        let said = said(host, row, &asked)?;
        let event = asked.event_id.clone();
        let total_chars = said.as_ref().map_or(0, |text| text.chars().count() as u64);
        let is_local = LOCAL.contains(&asked.place.channel.as_str());
        let (error, sent) = match said {
            None => (None, None),
            Some(_) if !is_local => {
                let target = asked.place.channel.clone();
                (Some(DeliveryError::NotFound { target }), None)
            }
            Some(text) => (None, Some(Box::new(answer(host, row, &asked, text)?))),
        };
        let chunks = u32::from(total_chars > 0);
        let delivered = Delivered {
            event,
            chunks,
            chunks_sent: if error.is_none() { chunks } else { 0 },
            message_ids: Vec::new(),
            total_chars,
            error,
            sent,
        };
        let about = About {
            session: row.routed.as_ref().map(|routed| routed.session.clone()),
            run: row.run.clone(),
            turn: row.turn.clone(),
        };
        let event = Event::Intake(Stage::Delivered(Box::new(delivered)));
        host.ledger.append(vec![Draft { cause: Some(row.seq), about, event }])?;
        Ok(())
    }
}

/// What is said back; nothing where there is nothing to say.
fn said(host: &Host, row: &InboundRow, asked: &Inbound) -> Result<Option<String>, Error> {
    let Some(turn) = &row.turn else { return Ok(short_error(asked, Ending::Cancelled)) };
    let Some(turn) = host.ledger.turn(turn)? else { return Ok(None) };
    let ended = turn.ended_seq.map(|seq| host.ledger.entry(seq)).transpose()?.flatten();
    match (turn.status, ended.map(|envelope| envelope.event)) {
        (TurnStatus::Ended(Ending::Done), Some(Event::TurnEnded { result, .. })) => {
            Ok(result.filter(|text| !text.trim().is_empty()))
        }
        (TurnStatus::Ended(ending), _) => Ok(short_error(asked, ending)),
        (TurnStatus::UnderWay, _) => Ok(None),
    }
}

/// What went wrong is said in private only, and in one line: a group is no place for it.
fn short_error(asked: &Inbound, ending: Ending) -> Option<String> {
    match asked.place.peer_kind {
        Some(PeerKind::Group | PeerKind::Channel) => return None,
        Some(PeerKind::Dm) | None => {}
    }
    let why = match ending {
        // The sender knows, or asked for it.
        Ending::Done | Ending::Cancelled => return None,
        Ending::Failed => "something went wrong",
        Ending::Denied => "what it wanted to do was denied",
        Ending::LimitReached => "it reached a limit before it was done",
        Ending::ModelFailed => "the model did not answer",
    };
    Some(format!("[No answer: {why}.]"))
}

/// The answer as an event of its own. It comes from us, so it starts nothing.
fn answer(
    host: &Host,
    row: &InboundRow,
    asked: &Inbound,
    content: String,
) -> Result<Inbound, Error> {
    let source = format!("reply:{}", row.run.as_ref().map_or("none", |run| run.as_str()));
    let event_id = EventId::of(&asked.place.channel, &source)
        .map_err(|wrong| Error::Halted(format!("an answer has no id: {wrong}")))?;
    let persona = host.ledger.inbound_routed(row)?.and_then(|routed| routed.persona);
    let mut metadata = Map::new();
    metadata.insert("in_reply_to".to_owned(), json!(asked.event_id));
    metadata.insert("turn_id".to_owned(), json!(row.turn));
    metadata.insert("persona".to_owned(), json!(persona));
    let mut place = asked.place.clone();
    place.reply_to_id = Some(asked.event_id.as_str().to_owned());
    Ok(Inbound {
        event_id,
        timestamp: host.ledger.now(),
        body: Body { content, ..Body::default() },
        place,
        sender: Sender { sender_id: "agentry".to_owned(), sender_name: None },
        metadata,
        direction: Direction::Sent,
        backfill: false,
        hook_id: None,
        event_type: None,
    })
}
