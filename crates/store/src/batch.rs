//! The work inside the one transaction: entries get their sequence numbers, or are refused.
//!
//! An append is refused as a whole; the other appends of the transaction are not affected.
//!
//! Must never: begin or end the transaction, or place an entry without folding it.

mod event_hooks;
mod jobs;

use agentry_protocol::envelope::{EVENT_VERSION, Envelope};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::{AccessChange, Entity, IntakeStage};
use agentry_protocol::{SessionId, TokenId, TurnId};
use rusqlite::Connection;

use crate::chain::{self, ChainTip, RowHashInput};
use crate::error::Error;
use crate::ledger_row::{self, SealedRow};
use crate::status::{ApprovalStatus, InboundStatus};
use crate::storage_failure::StorageFailure;
use crate::view::{self, PlacedEntry};
use crate::write_request::{ExpectedHead, PendingEntry};

/// The reason why an append got no place.
pub(crate) enum AppendError {
    /// The state of the ledger forbids it; the transaction goes on.
    Refused(Error),
    /// The database failed.
    Failed(StorageFailure),
}

impl From<rusqlite::Error> for AppendError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// The rows of a batch: sealed and folded, but not in the log yet.
pub(crate) struct RowBatch<'a> {
    /// The last row, or the entry before the batch.
    pub(crate) tip: ChainTip,
    pub(crate) rows: Vec<SealedRow<'a>>,
}

/// The place of an append: its entries have consecutive numbers and one time.
#[derive(Clone, Copy)]
pub(crate) struct AppendPlace {
    pub(crate) first_seq: u64,
    pub(crate) time: u64,
}

impl AppendPlace {
    /// Returns the entries as readers find them.
    pub(crate) fn envelopes(self, entries: Vec<PendingEntry>) -> Vec<Envelope> {
        let numbered = (self.first_seq..).zip(entries);
        let envelopes = numbered.map(|(seq, entry)| {
            let PendingEntry { cause, about, event, .. } = entry;
            let (time, stream) = (self.time, event.stream());
            Envelope { seq, time, cause, version: EVENT_VERSION, stream, about, event }
        });
        envelopes.collect()
    }
}

/// Places entries behind the batch in order, all or none, and folds them.
pub(crate) fn append<'a>(
    sql: &Connection,
    batch: &mut RowBatch<'a>,
    time: u64,
    at_head: Option<&ExpectedHead>,
    entries: &'a [PendingEntry],
) -> Result<AppendPlace, AppendError> {
    if let Some(at_head) = at_head {
        let (head, _) = view::session_place(sql, &at_head.session)?;
        if head != at_head.head {
            return Err(moved(&at_head.session, at_head.head.clone(), head, None));
        }
    }
    let place = AppendPlace { first_seq: batch.tip.seq + 1, time };
    // An append that can be refused only before its first write needs no savepoint.
    let needs_way_back = entries.iter().skip(1).any(|entry| may_be_refused(&entry.event));
    if !needs_way_back {
        place_each(sql, batch, time, entries)?;
        return Ok(place);
    }
    let (tip, count) = (batch.tip, batch.rows.len());
    sql.prepare_cached("SAVEPOINT append")?.execute([])?;
    let placed = place_each(sql, batch, time, entries);
    if let Err(AppendError::Refused(_)) = placed {
        batch.tip = tip;
        batch.rows.truncate(count);
        sql.prepare_cached("ROLLBACK TO append")?.execute([])?;
    }
    if !matches!(placed, Err(AppendError::Failed(_))) {
        sql.prepare_cached("RELEASE append")?.execute([])?;
    }
    placed.map(|()| place)
}

fn place_each<'a>(
    sql: &Connection,
    batch: &mut RowBatch<'a>,
    time: u64,
    entries: &'a [PendingEntry],
) -> Result<(), AppendError> {
    for entry in entries {
        check(sql, entry)?;
        place_one(sql, batch, time, entry)?;
    }
    Ok(())
}

fn place_one<'a>(
    sql: &Connection,
    batch: &mut RowBatch<'a>,
    time: u64,
    entry: &'a PendingEntry,
) -> rusqlite::Result<()> {
    let seq = batch.tip.seq + 1;
    let about = &entry.about;
    let parts = RowHashInput {
        seq,
        time,
        cause: entry.cause,
        version: EVENT_VERSION,
        stream: ledger_row::word(entry.event.stream()),
        session: about.session.as_ref().map(|id| id.as_str()),
        run: about.run.as_ref().map(|id| id.as_str()),
        turn: about.turn.as_ref().map(|id| id.as_str()),
        body: &entry.body,
    };
    let hash = chain::seal(&batch.tip.hash, &parts);
    let (seq_signed, time_signed) = (seq.cast_signed(), time.cast_signed());
    let placed = PlacedEntry { seq: seq_signed, time: time_signed, about, event: &entry.event };
    view::fold(sql, &placed)?;
    batch.tip = ChainTip { seq, hash };
    batch.rows.push(SealedRow { parts, kind: &entry.kind, hash });
    Ok(())
}

/// Returns true for events that the state of the ledger can forbid.
fn may_be_refused(event: &Event) -> bool {
    match event {
        Event::ApprovalAnswered { .. }
        | Event::SessionOpened { .. }
        | Event::TurnStarted(_)
        | Event::Intake(
            IntakeStage::Received { .. } | IntakeStage::Decided { .. } | IntakeStage::Routed(_),
        )
        | Event::Access(AccessChange::EntityChanged { .. } | AccessChange::TokenRevoked { .. })
        | Event::Job(_)
        | Event::SteerReceived { event: Some(_), .. } => true,
        Event::EventHook(change) => event_hooks::may_be_refused(change),
        Event::RunCreated(plan) => !plan.given.inbounds.is_empty(),
        _ => false,
    }
}

fn check(sql: &Connection, entry: &PendingEntry) -> Result<(), AppendError> {
    match &entry.event {
        Event::ApprovalAnswered { approval, .. } => {
            let status = view::approval_status(sql, approval)?;
            if status != Some(ApprovalStatus::Waiting) {
                let approval = approval.clone();
                return Err(AppendError::Refused(Error::NotWaiting { approval, status }));
            }
        }
        Event::SessionOpened { key, agent, .. } => {
            if let Some(session) = view::session_by_key(sql, key, agent)? {
                let (key, agent) = (key.clone(), agent.clone());
                return Err(AppendError::Refused(Error::SessionExists { key, agent, session }));
            }
        }
        Event::TurnStarted(plan) => {
            if let Some(session) = &entry.about.session {
                let (head, under_way) = view::session_place(sql, session)?;
                if under_way.is_some() || head != plan.parent {
                    return Err(moved(session, plan.parent.clone(), head, under_way));
                }
            }
        }
        Event::Intake(intake) => check_intake(sql, intake)?,
        // One run answers an event.
        Event::RunCreated(plan) => {
            for event in &plan.given.inbounds {
                must_be(sql, event, InboundStatus::Waiting)?;
            }
        }
        Event::SteerReceived { event: Some(event), .. } => {
            must_be(sql, event, InboundStatus::Waiting)?;
            // An ended turn reads no events, and no entry would return the event to the mailbox.
            if !view::is_turn_under_way(sql, entry.about.run.as_ref())? {
                let (event, status) = (event.clone(), Some(InboundStatus::Waiting));
                return Err(AppendError::Refused(Error::Handled { event, status }));
            }
        }
        Event::Access(AccessChange::EntityChanged { entity }) => free_identities(sql, entity)?,
        // A key that is used up cannot be used up again.
        Event::Access(AccessChange::TokenRevoked { token, .. }) => still_opens(sql, token)?,
        Event::Job(change) => jobs::check(sql, change)?,
        Event::EventHook(change) => event_hooks::check(sql, change)?,
        _ => {}
    }
    Ok(())
}

fn check_intake(sql: &Connection, intake: &IntakeStage) -> Result<(), AppendError> {
    match intake {
        IntakeStage::Received { inbound } => match view::inbound_status(sql, &inbound.event_id)? {
            None => Ok(()),
            Some((_, seq)) => {
                let event = inbound.event_id.clone();
                Err(AppendError::Refused(Error::Repeated { event, seq }))
            }
        },
        IntakeStage::Decided { record } => match &record.event_id {
            Some(event) => must_be(sql, event, InboundStatus::Received),
            None => Ok(()),
        },
        // An event with hooks may be routed while they run, or when one of them fires.
        IntakeStage::Routed(routed) => match view::inbound_status(sql, &routed.event)? {
            Some((InboundStatus::Hooked, _)) => Ok(()),
            Some(_) | None => must_be(sql, &routed.event, InboundStatus::Received),
        },
        IntakeStage::Unrun { .. }
        | IntakeStage::ChunkSent { .. }
        | IntakeStage::Delivered(_)
        | IntakeStage::QueueSet { .. } => Ok(()),
    }
}

fn must_be(sql: &Connection, event: &EventId, wanted: InboundStatus) -> Result<(), AppendError> {
    let status = view::inbound_status(sql, event)?.map(|(status, _)| status);
    if status == Some(wanted) {
        return Ok(());
    }
    Err(AppendError::Refused(Error::Handled { event: event.clone(), status }))
}

fn still_opens(sql: &Connection, token: &TokenId) -> Result<(), AppendError> {
    let row = view::TokenRow::by_id(sql, token)?;
    if row.is_some_and(|row| row.revoked.is_none()) {
        return Ok(());
    }
    Err(AppendError::Refused(Error::TokenGone { token: token.clone() }))
}

fn free_identities(sql: &Connection, entity: &Entity) -> Result<(), AppendError> {
    for identity in &entity.identities {
        let owner = view::identity(sql, &identity.channel, &identity.identifier)?;
        if let Some(other) = owner.filter(|owner| *owner != entity.id) {
            let (channel, identifier) = (identity.channel.clone(), identity.identifier.clone());
            let taken = Error::IdentityTaken { channel, identifier, entity: other };
            return Err(AppendError::Refused(taken));
        }
    }
    Ok(())
}

fn moved(
    session: &SessionId,
    expected: Option<TurnId>,
    head: Option<TurnId>,
    under_way: Option<TurnId>,
) -> AppendError {
    let session = session.clone();
    AppendError::Refused(Error::HeadMoved { session, expected, head, under_way })
}
