//! A session that has something to do, as the ledger tells of it.
//!
//! Must never: make up what is not recorded.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use agentry_kernel::mailbox::{Item, Mailbox, Place, Sender as Speaker, State};
use agentry_kernel::route;
use agentry_protocol::envelope::Stream;
use agentry_protocol::event::Event;
use agentry_protocol::inbound::EventId;
use agentry_protocol::{ContentHash, RunId, SessionId};
use agentry_store::{Filter, InboundRow, Ledger, Tail};

use super::{Came, Word};
use crate::error::Error;
use crate::limits::TAIL_LOOK_TIME_MAX;
use crate::threads;

/// A session with something to do.
pub(crate) struct Live {
    pub(super) mailbox: Mailbox,
    /// Its run about something that came in, if there is one.
    pub(super) run: Option<RunId>,
    /// Whether that run waits for a person.
    pub(super) is_paused: bool,
    /// Whether the run that begins is not wanted any more.
    pub(super) is_unwanted: bool,
    /// Its place in the line.
    pub(super) ticket: Option<u64>,
    /// What the run that begins is about.
    pub(super) starting: Vec<EventId>,
    /// What was told to the running turn: the entry, and what came in.
    pub(super) steers: Vec<(u64, EventId)>,
}

impl Live {
    /// The session as the ledger has it; what is about to arrive is left out.
    pub(super) fn load(
        ledger: &Ledger,
        session: &SessionId,
        arriving: &HashSet<EventId>,
    ) -> Result<Self, Error> {
        let waiting = ledger.inbounds_waiting(session)?;
        let waiting = waiting.iter().filter(|row| !arriving.contains(&row.id));
        let items = waiting.clone().map(|row| item(ledger, row)).collect::<Result<_, _>>()?;
        let dropped = ledger.inbounds_summarized(session)?;
        let dropped: Vec<Item> =
            dropped.iter().map(|row| item(ledger, row)).collect::<Result<_, _>>()?;
        let run = ledger.run_answering(session)?;
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

    /// For whom the turn is that runs or begins.
    pub(super) fn sender(&self) -> Speaker {
        match self.mailbox.state() {
            State::Starting { work, .. } | State::Running { work, .. } => work.sender.clone(),
            State::Idle | State::Compacting { .. } => nobody(),
        }
    }
}

/// A sender that nobody is.
fn nobody() -> Speaker {
    Speaker { authority: ContentHash::of(b""), place: Place::default() }
}

fn speaker(ledger: &Ledger, row: &InboundRow) -> Result<Speaker, Error> {
    let inbound = ledger.inbound_received(row)?;
    let authority = row.routed.as_ref().map(|routed| routed.authority.clone());
    let authority = authority.unwrap_or_else(|| ContentHash::of(b""));
    Ok(Speaker { authority, place: route::place(&inbound) })
}

fn item(ledger: &Ledger, row: &InboundRow) -> Result<Item, Error> {
    let inbound = ledger.inbound_received(row)?;
    let routed = ledger.inbound_routed(row)?;
    let routed =
        routed.ok_or_else(|| Error::Halted(format!("{} waits and nobody said where", row.id)))?;
    Ok(Item {
        id: row.id.clone(),
        sender: Speaker { authority: routed.authority, place: route::place(&inbound) },
        source: routed.source,
        text: routed.text.unwrap_or(inbound.body.content),
        settings: routed.settings,
        received_ms: inbound.timestamp,
    })
}

/// The sessions in which something waits or was left half done.
pub(super) fn unfinished(ledger: &Ledger) -> Result<Vec<SessionId>, Error> {
    let mut sessions = ledger.sessions_waiting()?;
    for run in ledger.runs_answering()? {
        let session = ledger.run(&run)?.and_then(|row| row.session);
        sessions.extend(session.filter(|session| !sessions.contains(session)));
    }
    Ok(sessions)
}

/// Ends the following when it goes.
pub(super) struct Following(Arc<AtomicBool>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Follows what comes in, and tells the desk what is its own.
pub(super) fn follow(ledger: &Ledger, words: Sender<Word>) -> Result<Following, Error> {
    let filter = Filter { stream: Some(Stream::World), ..Filter::default() };
    let tail = ledger.tail(ledger.last_seq()?, filter)?;
    let over = Arc::new(AtomicBool::new(false));
    let flag = over.clone();
    threads::start("desk inputs".to_owned(), move || pass_on(tail, &flag, &words))?;
    Ok(Following(over))
}

fn pass_on(mut tail: Tail, over: &AtomicBool, words: &Sender<Word>) {
    while !over.load(Ordering::SeqCst) {
        let Ok(envelopes) = tail.next(TAIL_LOOK_TIME_MAX) else {
            // The ledger is broken for everybody; the desk finds that out by itself.
            words.send(Word::Came(Came::default())).unwrap_or_default();
            return;
        };
        if envelopes.is_empty() {
            continue;
        }
        let mut came = Came { access: false, touched: BTreeSet::new() };
        for envelope in envelopes {
            came.access |= matches!(envelope.event, Event::Access(_));
            let touches =
                matches!(envelope.event, Event::ApprovalAnswered { .. } | Event::CancelReceived {});
            came.touched.extend(envelope.about.session.filter(|_| touches));
        }
        if words.send(Word::Came(came)).is_err() {
            return;
        }
    }
}
