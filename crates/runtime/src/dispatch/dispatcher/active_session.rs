//! A session with pending work, rebuilt from the ledger.
//!
//! Must never: assume any state that is not recorded.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use agentry_kernel::mailbox::{Mailbox, MailboxItem, MailboxSender, ReplyAddress, State};
use agentry_kernel::route;
use agentry_protocol::envelope::{Envelope, LedgerStream};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::IntakeStage;
use agentry_protocol::{ContentHash, RunId, SessionId};
use agentry_store::{EntryFilter, InboundRow, Ledger, OpenInbounds};

use super::message::{DispatcherMessage, WorldChanges};
use crate::error::Error;
use crate::host::SharedHost;
use crate::host::ledger_follower::{EntryListener, LedgerSubscription};
use crate::spawn;

/// A session with pending work.
pub(crate) struct ActiveSession {
    pub(super) mailbox: Mailbox,
    /// Its run for inbound events; None if there is none.
    pub(super) run: Option<RunId>,
    /// True if that run waits for a person.
    pub(super) is_paused: bool,
    /// True if the starting or active run has a request to cancel.
    pub(super) is_unwanted: bool,
    /// Its ticket in the schedule; None if no turn waits.
    pub(super) ticket: Option<u64>,
    /// The events that the starting run answers.
    pub(super) starting: Vec<EventId>,
    /// The events that steer the active turn, each with the sequence number of its entry.
    pub(super) steers: Vec<(u64, EventId)>,
}

impl ActiveSession {
    /// Loads a session from the ledger, without the events that are about to arrive.
    pub(super) fn load(
        ledger: &Ledger,
        session: &SessionId,
        arriving: &HashSet<EventId>,
    ) -> Result<Self, Error> {
        let OpenInbounds { waiting, summarized, run } = ledger.inbounds_open(session)?;
        let waiting = waiting.iter().filter(|row| !arriving.contains(&row.id));
        let items = waiting.clone().map(|row| item(ledger, row)).collect::<Result<_, _>>()?;
        let dropped: Vec<MailboxItem> =
            summarized.iter().map(|row| item(ledger, row)).collect::<Result<_, _>>()?;
        let (running, is_paused) = match &run {
            None => (None, false),
            Some(run) => {
                let about = ledger.inbounds_of_run(run)?;
                let speaker = about.last().map(|row| speaker(ledger, row)).transpose()?;
                let turn = ledger.turn_under_way(session)?.map(|turn| turn.id);
                let is_paused = !ledger.approvals_waiting_of(run)?.is_empty();
                (Some((turn, speaker.unwrap_or_else(nobody))), is_paused)
            }
        };
        let steers =
            waiting.filter_map(|row| Some((row.routed.as_ref()?.steer_seq?, row.id.clone())));
        let steers = steers.collect();
        let (mailbox, _) = Mailbox::restored(items, &dropped, running);
        Ok(Self {
            mailbox,
            run,
            is_paused,
            is_unwanted: false,
            ticket: None,
            starting: Vec::new(),
            steers,
        })
    }

    /// True if the active or starting turn has a request to stop.
    pub(super) fn is_stopped(&self) -> bool {
        match self.mailbox.state() {
            State::Starting { work, .. } | State::Running { work, .. } => work.stop.is_some(),
            State::Idle | State::Compacting { .. } => false,
        }
    }

    /// Returns the sender of the active or starting turn.
    pub(super) fn sender(&self) -> MailboxSender {
        match self.mailbox.state() {
            State::Starting { work, .. } | State::Running { work, .. } => work.sender.clone(),
            State::Idle | State::Compacting { .. } => nobody(),
        }
    }
}

/// Returns a sender that matches no other.
fn nobody() -> MailboxSender {
    MailboxSender { authority: ContentHash::of(b""), place: ReplyAddress::default() }
}

fn speaker(ledger: &Ledger, row: &InboundRow) -> Result<MailboxSender, Error> {
    let inbound = ledger.inbound_received(row)?;
    let authority = row.routed.as_ref().map(|routed| routed.authority.clone());
    let authority = authority.unwrap_or_else(|| ContentHash::of(b""));
    Ok(MailboxSender { authority, place: route::reply_address(&inbound) })
}

fn item(ledger: &Ledger, row: &InboundRow) -> Result<MailboxItem, Error> {
    let inbound = ledger.inbound_received(row)?;
    let routed = ledger.inbound_routed(row)?;
    let routed =
        routed.ok_or_else(|| Error::Halted(format!("{} waits and has no route", row.id)))?;
    Ok(MailboxItem {
        id: row.id.clone(),
        sender: MailboxSender {
            authority: routed.authority,
            place: route::reply_address(&inbound),
        },
        source: routed.source,
        settings: routed.settings,
        received_ms: inbound.timestamp,
        text: route::text_with_attachments(
            routed.text.unwrap_or_else(|| inbound.body.content.clone()),
            &inbound,
        ),
    })
}

/// Returns the sessions with waiting events or unfinished runs.
pub(super) fn unfinished(ledger: &Ledger) -> Result<Vec<SessionId>, Error> {
    let mut sessions = ledger.sessions_waiting()?;
    for run in ledger.runs_answering()? {
        let session = ledger.run(&run)?.and_then(|row| row.session);
        sessions.extend(session.filter(|session| !sessions.contains(session)));
    }
    Ok(sessions)
}

/// Subscribes the dispatcher to the world entries that concern it.
pub(super) fn follow_world(
    host: &SharedHost,
    messages: Sender<DispatcherMessage>,
) -> Result<LedgerSubscription, Error> {
    let stream = Some(LedgerStream::World);
    let filter = EntryFilter { stream, ..EntryFilter::default() };
    let after_seq = host.ledger.last_seq()?;
    host.follower.subscribe(filter, after_seq, Box::new(DispatcherListener(messages)))
}

/// Tells the dispatcher which changes came in; one that has ended needs no message.
struct DispatcherListener(Sender<DispatcherMessage>);

impl EntryListener for DispatcherListener {
    fn deliver(&self, entries: &[Arc<Envelope>]) {
        let changes = WorldChanges::of(entries);
        spawn::send_if_running(&self.0, DispatcherMessage::WorldChanged(changes));
    }

    fn fail(&self, reason: &str) {
        spawn::send_if_running(&self.0, DispatcherMessage::Failed(reason.to_owned()));
    }
}

impl WorldChanges {
    fn of(envelopes: &[Arc<Envelope>]) -> Self {
        let mut came = Self::default();
        for envelope in envelopes {
            let session = envelope.about.session.as_ref();
            if let Event::Intake(IntakeStage::Received { .. }) = &envelope.event {
                came.received = true;
            } else if let Event::ApprovalAnswered { .. } = &envelope.event {
                came.answered.extend(session.cloned());
            } else if let Event::CancelReceived {} = &envelope.event {
                came.cancelled.extend(session.cloned());
            }
        }
        came
    }
}
