//! Sends the answer of a run to the channel of its question, and records the delivery.
//!
//! Clients of this home read answers in the ledger. Answers for other channels are sent by their
//! adapters, in threads of their own: a slow channel delays no session and no other channel.
//! Answers that are unsent when the process ends are sent by the next process.
//!
//! Must never: send to a place other than that of the question, or lose an answer.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agentry_kernel::identity::reads_the_ledger;
use agentry_kernel::links::LinkFilter;
use agentry_protocol::RunId;
use agentry_protocol::confinement::NetworkAccess;
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::{Ending, Event};
use agentry_protocol::inbound::{ChannelAddress, EventId, Inbound, PeerKind};
use agentry_protocol::intake::{DeliveryError, DeliveryReport, IntakeStage};
use agentry_store::{DeliveryStatus, EntryFilter, InboundRow};
use serde_json::{Map, Value, json};

use crate::channel::{
    Adapter, ChannelCapabilities, ChannelSender, Latch, OutgoingChunk, SentChunk, SystemClock,
    WaitClock,
};
use crate::definitions::plan;
use crate::error::Error;
use crate::host::NoticeSink;
use crate::host::SharedHost;
use crate::limits::{ANSWER_LINES, INTAKE_EVENTS_MAX, TURN_ENTRIES_MAX};
use crate::outbound::chunked_send::{OutgoingAnswer, SendContext, deliver};
use crate::spawn;

/// The sender of answers, shared by all runs of a process.
#[derive(Clone)]
pub struct ReplySender(Arc<Outbox>);

struct Outbox {
    channels: BTreeMap<String, Arc<Adapter>>,
    /// True if no other process serves further channels.
    is_whole: bool,
    clock: Arc<dyn WaitClock>,
    stop: Arc<Latch>,
    /// The queues of each channel, and the queue of delayed answers.
    lines: OnceLock<ReplyQueues>,
}

struct ReplyQueues {
    channels: BTreeMap<String, Vec<Sender<EventId>>>,
    later: Sender<(u64, EventId)>,
}

impl ReplySender {
    /// Creates a sender for clients of this home; a server sends all other answers.
    pub fn local_only() -> Self {
        Self::of(BTreeMap::new(), false)
    }

    /// Creates a sender for clients of this home and these channels; others do not exist.
    pub fn with(channels: BTreeMap<String, Arc<Adapter>>) -> Self {
        Self::of(channels, true)
    }

    fn of(channels: BTreeMap<String, Arc<Adapter>>, is_whole: bool) -> Self {
        let (clock, stop, lines) = (Arc::new(SystemClock), Arc::default(), OnceLock::new());
        Self(Arc::new(Outbox { channels, is_whole, clock, stop, lines }))
    }

    /// Starts the queues, and adds the answers that an earlier process left unsent.
    pub(crate) fn begin(&self, host: &SharedHost, say: &NoticeSink) -> Result<(), Error> {
        let mut channels = BTreeMap::new();
        for name in self.0.channels.keys() {
            let mut lines = Vec::with_capacity(ANSWER_LINES);
            for _ in 0..ANSWER_LINES {
                let (line, waiting) = mpsc::channel();
                lines.push(line);
                let (replies, host, say) = (self.clone(), host.clone(), say.clone());
                spawn::start(format!("answers {name}"), move || {
                    for event in waiting {
                        replies.send_or_say(&host, &event, &say);
                    }
                })?;
            }
            channels.insert(name.clone(), lines);
        }
        let (later, waiting) = mpsc::channel();
        let (replies, host_later, say_later) = (self.clone(), host.clone(), say.clone());
        spawn::start("answers held back".to_owned(), move || {
            replies.hold_back(&host_later, &waiting, &say_later);
        })?;
        if self.0.lines.set(ReplyQueues { channels, later }).is_err() {
            return Err(Error::Halted("the queues of answers are set twice".to_owned()));
        }
        if self.0.is_whole { self.put_what_was_left(host) } else { Ok(()) }
    }

    /// Queues the answers that an earlier process left unsent.
    fn put_what_was_left(&self, host: &SharedHost) -> Result<(), Error> {
        let mut after_seq = 0;
        loop {
            let rows = host.ledger.inbounds_undelivered(after_seq, INTAKE_EVENTS_MAX)?;
            let Some(last) = rows.last().and_then(|row| row.settled_seq) else { return Ok(()) };
            after_seq = last;
            for row in &rows {
                self.put(host, row)?;
            }
        }
    }

    /// Sends the answer of a run that has ended, or queues it.
    pub(crate) fn answer(&self, host: &SharedHost, run: &RunId) -> Result<(), Error> {
        for row in host.ledger.inbounds_of_run(run)?.iter().filter(|row| is_pending(row)) {
            self.put(host, row)?;
        }
        Ok(())
    }

    /// Stops all further tries.
    pub(crate) fn stop(&self) {
        self.0.stop.set();
    }

    fn put(&self, host: &SharedHost, row: &InboundRow) -> Result<(), Error> {
        let after = host.ledger.inbound_routed(row)?.and_then(|routed| routed.answer_after);
        let now = host.ledger.now();
        if let (Some(after), Some(lines)) = (after.filter(|after| *after > now), self.0.lines.get())
        {
            // The thread lives as long as the queue.
            spawn::send_if_running(&lines.later, (after, row.id.clone()));
            return Ok(());
        }
        self.pass_on(host, row)
    }

    /// Delivers answers to local clients at once; queues the others for their channel.
    fn pass_on(&self, host: &SharedHost, row: &InboundRow) -> Result<(), Error> {
        let asked = host.ledger.inbound_received(row)?;
        let channel = asked.place.channel.as_str();
        let lines = self.0.lines.get().and_then(|lines| lines.channels.get(channel));
        match lines {
            Some(lines) => lines[line_of(row, lines.len())]
                .send(row.id.clone())
                .map_err(|_| Error::Halted(format!("the sending thread of `{channel}` has ended"))),
            None if reads_the_ledger(channel) => self.send(host, row, &asked, &LocalChannelSender),
            None if self.0.is_whole => self.send(host, row, &asked, &MissingChannelSender),
            // A server of this home has the channel.
            None => Ok(()),
        }
    }

    fn hold_back(&self, host: &SharedHost, waiting: &Receiver<(u64, EventId)>, say: &NoticeSink) {
        let mut due = std::collections::BTreeSet::new();
        loop {
            let now = host.ledger.now();
            while due.first().is_some_and(|(at, _)| *at <= now) {
                let Some((_, event)) = due.pop_first() else { break };
                let row = host.ledger.inbound(&event);
                let passed = row.map_err(Error::from).and_then(|row| match row {
                    Some(row) if is_pending(&row) => self.pass_on(host, &row),
                    Some(_) | None => Ok(()),
                });
                if let Err(error) = passed {
                    say(&format!("answer to {event} not sent: {error}"));
                }
            }
            let next = due.first().map(|(at, _): &(u64, EventId)| at.saturating_sub(now));
            let came = match next {
                Some(ms) => waiting.recv_timeout(Duration::from_millis(ms.max(1))),
                None => waiting.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match came {
                Ok(later) => {
                    due.insert(later);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn send_or_say(&self, host: &SharedHost, event: &EventId, say: &NoticeSink) {
        let sent = host.ledger.inbound(event).map_err(Error::from).and_then(|row| {
            let Some(row) = row.filter(is_pending) else { return Ok(()) };
            let asked = host.ledger.inbound_received(&row)?;
            match self.0.channels.get(&asked.place.channel) {
                Some(adapter) => self.send(host, &row, &asked, &**adapter),
                None => Ok(()),
            }
        });
        if let Err(error) = sent {
            say(&format!("answer to {event} not sent: {error}"));
        }
    }

    fn send(
        &self,
        host: &SharedHost,
        row: &InboundRow,
        asked: &Inbound,
        way: &dyn ChannelSender,
    ) -> Result<(), Error> {
        let about = EntrySubject {
            session: row.routed.as_ref().map(|routed| routed.session.clone()),
            run: row.run.clone(),
            turn: row.turn.clone(),
        };
        let record = |stage: IntakeStage| {
            let (cause, about) = (Some(row.seq), about.clone());
            let draft = Draft { cause, about, event: Event::Intake(stage) };
            host.ledger.append(vec![draft]).map(drop)
        };
        let Some(text) = said(host, row, asked)? else {
            record(IntakeStage::Delivered(Box::new(nothing(&asked.event_id))))?;
            return Ok(());
        };
        let adapter = self.0.channels.get(&asked.place.channel);
        let capabilities = adapter.map_or_else(unlimited, |adapter| adapter.capabilities());
        let to = place(asked);
        // Local answers stay unchanged; sent answers link only to listed hosts.
        let links = match adapter {
            Some(adapter) => links(host, row, adapter)?,
            None => LinkFilter::allow_all(),
        };
        let text = links.rewrite(&text);
        let answer = OutgoingAnswer {
            event: &asked.event_id,
            text: &text,
            links: &links,
            to: &to,
            capabilities: &capabilities,
            before: &before(host, row)?,
            metadata: metadata(host, row)?,
        };
        let means = SendContext { way, clock: &*self.0.clock, stop: &self.0.stop };
        let delivered = deliver(&answer, &means, &mut |out| match adapter {
            // The delivery to a local client is recorded as a whole.
            None => Ok(()),
            // The last chunk is recorded with the whole delivery.
            Some(_) if out.is_last => Ok(()),
            Some(_) => record(IntakeStage::ChunkSent {
                event: asked.event_id.clone(),
                chunk: out.chunk,
                message_id: out.message_id.map(str::to_owned),
            }),
        })?;
        if delivered.error.is_some() && self.0.stop.is_set() {
            // The process is stopping; the next process sends the rest.
            return Ok(());
        }
        record(IntakeStage::Delivered(Box::new(delivered)))?;
        Ok(())
    }
}

/// Returns the queue of a session: its answers stay in order, those of others run in parallel.
fn line_of(row: &InboundRow, lines: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    row.routed.as_ref().map(|routed| routed.session.as_str()).hash(&mut hasher);
    usize::try_from(hasher.finish() % lines as u64).unwrap_or_default()
}

/// Records the delivery to a client of this process, which has the answer already.
pub(crate) fn answer_here(host: &SharedHost, run: &RunId) -> Result<(), Error> {
    let is_here = |row: &&InboundRow| row.routed.as_ref().is_some_and(|routed| routed.here);
    for row in host.ledger.inbounds_of_run(run)?.iter().filter(is_here) {
        ReplySender::local_only().pass_on(host, row)?;
    }
    Ok(())
}

/// Delivers to local clients, which read the answer in the ledger.
struct LocalChannelSender;

impl ChannelSender for LocalChannelSender {
    fn send(&self, _: &OutgoingChunk) -> Result<SentChunk, DeliveryError> {
        Ok(SentChunk { message_id: None })
    }
}

/// Fails every delivery, because the channel does not exist.
struct MissingChannelSender;

impl ChannelSender for MissingChannelSender {
    fn send(&self, outgoing: &OutgoingChunk) -> Result<SentChunk, DeliveryError> {
        Err(DeliveryError::NotFound { target: outgoing.to.channel.clone() })
    }
}

fn unlimited() -> ChannelCapabilities {
    ChannelCapabilities { text_limit: Some(u64::MAX), ..ChannelCapabilities::default() }
}

fn is_pending(row: &InboundRow) -> bool {
    row.delivery.is_some_and(|delivery| delivery.status == DeliveryStatus::Pending)
}

fn nothing(event: &EventId) -> DeliveryReport {
    DeliveryReport {
        event: event.clone(),
        chunks: 0,
        chunks_sent: 0,
        message_ids: Vec::new(),
        total_chars: 0,
        error: None,
        sent: None,
    }
}

/// Returns the link filter of an answer: the channel's hosts and those that the turn could reach.
fn links(host: &SharedHost, row: &InboundRow, adapter: &Adapter) -> Result<LinkFilter, Error> {
    let policy = adapter.links();
    let turn = row.turn.as_ref().map(|turn| host.ledger.turn(turn)).transpose()?.flatten();
    let started = turn.map(|turn| host.ledger.entry(turn.started_seq)).transpose()?.flatten();
    let network = started.and_then(|entry| {
        if let Event::TurnStarted(plan) = entry.event {
            plan::confinement(&plan).map(|confined| confined.network)
        } else {
            None
        }
    });
    let reached = match &network {
        Some(NetworkAccess::Domains { allow, .. }) => allow.as_slice(),
        Some(NetworkAccess::None) | None => &[],
    };
    let hosts = policy.hosts.iter().chain(reached).map(String::as_str);
    Ok(LinkFilter::new(policy.rule, hosts))
}

/// Returns the address of the answer: that of the question, as a reply to it.
fn place(asked: &Inbound) -> ChannelAddress {
    let (_, source) = asked.event_id.as_str().split_once(':').unwrap_or_default();
    ChannelAddress { reply_to_id: Some(source.to_owned()), ..asked.place.clone() }
}

/// Returns the channel's message ids of the chunks that were sent before.
fn before(host: &SharedHost, row: &InboundRow) -> Result<Vec<Option<String>>, Error> {
    if row.delivery.is_none_or(|delivery| delivery.chunks_sent == 0) {
        return Ok(Vec::new());
    }
    let filter = EntryFilter { run: row.run.clone(), ..EntryFilter::default() };
    let entries = host.ledger.read_from(0, &filter, TURN_ENTRIES_MAX)?;
    let sent = entries.into_iter().filter_map(|entry| {
        if let Event::Intake(IntakeStage::ChunkSent { event, message_id, .. }) = entry.event {
            (event == row.id).then_some(message_id)
        } else {
            None
        }
    });
    Ok(sent.collect())
}

fn metadata(host: &SharedHost, row: &InboundRow) -> Result<Map<String, Value>, Error> {
    let persona = host.ledger.inbound_routed(row)?.and_then(|routed| routed.persona);
    let mut metadata = Map::new();
    metadata.insert("turn_id".to_owned(), json!(row.turn));
    metadata.insert("persona".to_owned(), json!(persona));
    Ok(metadata)
}

/// Returns the text of the answer; None if there is none to send.
fn said(host: &SharedHost, row: &InboundRow, asked: &Inbound) -> Result<Option<String>, Error> {
    let run = row.run.as_ref().map(|run| host.ledger.run(run)).transpose()?.flatten();
    let ending = run.and_then(|run| run.ending).unwrap_or(Ending::Failed);
    if ending != Ending::Done {
        return Ok(short_error(asked, ending));
    }
    let turn = row.turn.as_ref().map(|turn| host.ledger.turn(turn)).transpose()?.flatten();
    let ended = turn.and_then(|turn| turn.ended_seq).map(|seq| host.ledger.entry(seq));
    match ended.transpose()?.flatten().map(|envelope| envelope.event) {
        Some(Event::TurnEnded { result, .. }) => Ok(result.filter(|text| !text.trim().is_empty())),
        Some(_) | None => Ok(None),
    }
}

/// Returns a one-line error for private chats; None for groups, which should not see it.
fn short_error(asked: &Inbound, ending: Ending) -> Option<String> {
    match asked.place.peer_kind {
        Some(PeerKind::Group | PeerKind::Channel) => return None,
        Some(PeerKind::Dm) | None => {}
    }
    let why = match ending {
        // The sender knows the result, or asked for the end.
        Ending::Done | Ending::Cancelled => return None,
        Ending::Failed => "something went wrong",
        Ending::Denied => "the action was denied",
        Ending::LimitReached => "it reached a limit before it was done",
        Ending::ModelFailed => "the model did not answer",
    };
    Some(format!("[No answer: {why}.]"))
}

#[cfg(test)]
mod tests;
