//! Server-sent event streams: ledger entries as they are recorded, and runs as AgentEvents.
//!
//! A stream first sends the entries that the client missed, then new ones. Each frame of an entry
//! has an id with which the client resumes after a disconnect; deltas have none.
//!
//! Must never: send an entry twice, or leave one out.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agentry_protocol::RunId;
use agentry_protocol::agent_event::{AgentEvent, AgentEventLine, StopReason};
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::IntakeStage;
use agentry_runtime::outbound::agent_events::{self, AgentLineEncoder};
use agentry_store::{EntryFilter, InboundStatus};
use axum::response::sse;
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::api_error::{ApiError, ApiErrorCode};
use super::hub::{
    CloseReason, DeltaKind, StreamDelta, StreamEntry, StreamFrame, StreamSubscription,
};
use super::state::ServerState;
use crate::limits::{
    STREAM_PAGE_ENTRIES, STREAM_QUIET_TIME_MAX, STREAM_UNSENT_FRAMES_MAX, UNREAD_TIME_MAX,
};

/// The kind of stream that a route returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Entries of the ledger.
    Entries,
    /// The run of a new prompt, as AgentEvents.
    Prompt,
    /// The run that answers an existing message, as AgentEvents.
    Message,
    /// An existing run, as AgentEvents.
    Run,
}

/// The frames for one client, as the body of a response.
pub(crate) struct SseStream(mpsc::Receiver<sse::Event>);

impl Stream for SseStream {
    type Item = Result<sse::Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// The client disconnected.
struct SseDisconnect;

/// Sends frames to one client.
#[derive(Clone)]
struct SseSender(mpsc::Sender<sse::Event>);

impl SseSender {
    /// Sends a frame. A client that reads nothing for `UNREAD_TIME_MAX` counts as disconnected.
    async fn send(&self, event: sse::Event) -> Result<(), SseDisconnect> {
        let sent = tokio::time::timeout(UNREAD_TIME_MAX, self.0.send(event)).await;
        sent.map_err(|_| SseDisconnect)?.map_err(|_| SseDisconnect)
    }

    async fn named(&self, name: &str, data: &Value) -> Result<(), SseDisconnect> {
        self.send(sse::Event::default().event(name).data(data.to_string())).await
    }

    /// Waits for the next frame of a subscription, or for the client to disconnect.
    async fn next(
        &self,
        listening: &mut StreamSubscription,
    ) -> Result<Option<StreamFrame>, SseDisconnect> {
        tokio::select! {
            frame = listening.next() => Ok(frame),
            () = self.0.closed() => Err(SseDisconnect),
        }
    }

    async fn bye(&self, bye: CloseReason) -> Result<(), SseDisconnect> {
        self.named("bye", &json!({ "reason": bye.as_str() })).await
    }
}

/// Returns the response that sends these frames, with keep-alive comments.
pub(crate) fn sse_response(frames: SseStream) -> axum::response::Response {
    use axum::response::IntoResponse;
    let quiet = sse::KeepAlive::new().interval(STREAM_QUIET_TIME_MAX).text("");
    sse::Sse::new(frames).keep_alive(quiet).into_response()
}

/// Streams the ledger entries of a filter after an entry: the past ones, then new ones.
pub(crate) fn entries(
    site: Arc<ServerState>,
    listening: StreamSubscription,
    after: u64,
    of: EntryFilter,
) -> SseStream {
    fed(move |out| async move { feed_entries(&site, listening, after, &of, &out).await })
}

/// Returns a stream whose frames are produced by a task until the client disconnects.
fn fed<F>(feed: impl FnOnce(SseSender) -> F + Send + 'static) -> SseStream
where
    F: Future<Output = Result<(), SseDisconnect>> + Send + 'static,
{
    let (out, frames) = mpsc::channel(STREAM_UNSENT_FRAMES_MAX);
    let feeding = feed(SseSender(out));
    tokio::spawn(async move {
        // After a disconnect there is nothing left to do.
        feeding.await.unwrap_or(());
    });
    SseStream(frames)
}

async fn feed_entries(
    site: &Arc<ServerState>,
    mut listening: StreamSubscription,
    after: u64,
    of: &EntryFilter,
    out: &SseSender,
) -> Result<(), SseDisconnect> {
    let until = listening.after_seq;
    let mut past = EntryBacklog { site, of: of.clone(), after, until };
    loop {
        let Ok(page) = past.next().await else { return out.bye(CloseReason::Stopping).await };
        if page.is_empty() {
            break;
        }
        // While the client reads slowly, hold only the shortened JSON; the entries may be long.
        let page: Vec<sse::Event> =
            page.into_iter().map(|envelope| entry(&StreamEntry::new(Arc::new(envelope)))).collect();
        for event in page {
            out.send(event).await?;
        }
    }
    out.named("hello", &json!({ "seq": until })).await?;
    for piece in std::mem::take(&mut listening.partial) {
        out.named("delta", &piece_value(&piece)).await?;
    }
    loop {
        match out.next(&mut listening).await? {
            Some(StreamFrame::Entry(recorded)) => out.send(entry(&recorded)).await?,
            Some(StreamFrame::Delta(piece)) => out.named("delta", &piece_value(&piece)).await?,
            Some(StreamFrame::Close(bye)) => return out.bye(bye).await,
            None => return out.bye(CloseReason::Slow).await,
        }
    }
}

fn entry(recorded: &StreamEntry) -> sse::Event {
    let seq = recorded.envelope.seq.to_string();
    sse::Event::default().event("entry").id(seq).data(recorded.text())
}

fn piece_value(piece: &StreamDelta) -> Value {
    let (kind, content) = match &piece.said {
        DeltaKind::Text(text) => ("text", text.as_str()),
        DeltaKind::Thinking(text) => ("thinking", text.as_str()),
        DeltaKind::Restart => ("restart", ""),
        DeltaKind::Progress(text) => ("progress", text.as_str()),
    };
    json!({
        "sessionId": piece.about.session, "runId": piece.about.run, "turnId": piece.about.turn,
        "asked": piece.asked, "kind": kind, "content": content, "callId": piece.call,
        "whole": piece.whole,
    })
}

/// The entries that a client missed, read from the ledger a page at a time.
struct EntryBacklog<'a> {
    site: &'a Arc<ServerState>,
    of: EntryFilter,
    after: u64,
    until: u64,
}

impl EntryBacklog<'_> {
    async fn next(&mut self) -> Result<Vec<Envelope>, ApiError> {
        if self.after >= self.until {
            return Ok(Vec::new());
        }
        let (site, of, after) = (self.site.clone(), self.of.clone(), self.after);
        let read = move || site.parts.ledger.read_from(after, &of, STREAM_PAGE_ENTRIES);
        let read = tokio::task::spawn_blocking(read).await;
        let mut page = read.map_err(|_| {
            ApiError::new(ApiErrorCode::Internal, "the reader of the ledger crashed")
        })??;
        page.retain(|envelope| envelope.seq <= self.until);
        self.after = page.last().map_or(self.until, |envelope| envelope.seq);
        Ok(page)
    }
}

/// The id of an AgentEvent in a stream: the ledger entry, and the line of that entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LineId {
    /// The sequence number of the entry.
    pub(crate) seq: u64,
    /// The index of the line among the lines of the entry, from zero.
    pub(crate) line: usize,
}

impl LineId {
    /// Parses an id as `text` writes it; none if it is invalid.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (seq, line) = text.split_once('.').unwrap_or((text, "0"));
        Some(Self { seq: seq.parse().ok()?, line: line.parse().ok()? })
    }

    fn text(self) -> String {
        match self.line {
            0 => self.seq.to_string(),
            line => format!("{}.{line}", self.seq),
        }
    }
}

/// Streams a run as AgentEvents, after the last one that the client has.
pub(crate) fn run(
    site: Arc<ServerState>,
    listening: StreamSubscription,
    run: RunId,
    after: Option<LineId>,
) -> SseStream {
    fed(move |out| async move {
        AgentEventStream::begin(out, after).follow(&site, listening, Some(run), None).await
    })
}

/// Streams the run that answers a message as AgentEvents; or an error if it has no run.
pub(crate) fn message(
    site: Arc<ServerState>,
    listening: StreamSubscription,
    event: EventId,
    after: Option<LineId>,
) -> SseStream {
    fed(move |out| async move {
        AgentEventStream::begin(out, after).answer(&site, listening, event).await
    })
}

/// A stream of AgentEvents to one client.
struct AgentEventStream {
    lines: AgentLineEncoder,
    /// The last line that the client has.
    after: Option<LineId>,
    out: SseSender,
    is_over: bool,
}

impl AgentEventStream {
    fn begin(out: SseSender, after: Option<LineId>) -> Self {
        Self { lines: AgentLineEncoder::default(), after, out, is_over: false }
    }

    async fn answer(
        &mut self,
        site: &Arc<ServerState>,
        listening: StreamSubscription,
        event: EventId,
    ) -> Result<(), SseDisconnect> {
        let (reading, asked) = (site.clone(), event.clone());
        let row = tokio::task::spawn_blocking(move || reading.parts.ledger.inbound(&asked)).await;
        let Ok(Ok(Some(row))) = row else { return self.out.bye(CloseReason::Stopping).await };
        let settled = row.settled_seq.filter(|seq| *seq <= listening.after_seq);
        if let (Some(seq), None) = (settled, &row.run) {
            let why = row.why.clone().unwrap_or_else(|| row.status.as_str().to_owned());
            let code = if row.status == InboundStatus::Denied { "denied" } else { "not_run" };
            return self.refuse(seq, code, &why).await;
        }
        let mut listening = listening;
        if let Some(run) = &row.run {
            listening.after_seq = site.hub.subscribe_to_run(&listening, run.clone());
        }
        self.follow(site, listening, row.run, Some(event)).await
    }

    async fn follow(
        &mut self,
        site: &Arc<ServerState>,
        mut listening: StreamSubscription,
        run: Option<RunId>,
        event: Option<EventId>,
    ) -> Result<(), SseDisconnect> {
        if let Some(run) = run {
            let of = EntryFilter { run: Some(run), ..EntryFilter::default() };
            let mut past = EntryBacklog { site, of, after: 0, until: listening.after_seq };
            loop {
                let Ok(page) = past.next().await else {
                    return self.out.bye(CloseReason::Stopping).await;
                };
                if page.is_empty() {
                    break;
                }
                for envelope in &page {
                    self.entry(envelope, event.as_ref()).await?;
                }
            }
        }
        while !self.is_over {
            match self.out.next(&mut listening).await? {
                Some(StreamFrame::Entry(recorded)) => {
                    self.entry(&recorded.envelope, event.as_ref()).await?;
                }
                Some(StreamFrame::Delta(piece)) => self.piece(&piece).await?,
                Some(StreamFrame::Close(bye)) => return self.out.bye(bye).await,
                None => return self.out.bye(CloseReason::Slow).await,
            }
        }
        Ok(())
    }

    async fn entry(
        &mut self,
        envelope: &Envelope,
        event: Option<&EventId>,
    ) -> Result<(), SseDisconnect> {
        if let Some((code, why)) = refused(envelope, event) {
            return self.refuse(envelope.seq, code, &why).await;
        }
        for (line, said) in self.lines.of(envelope).into_iter().enumerate() {
            self.line(LineId { seq: envelope.seq, line }, &said).await?;
        }
        Ok(())
    }

    async fn line(&mut self, id: LineId, line: &AgentEventLine) -> Result<(), SseDisconnect> {
        self.is_over |= matches!(line.event, AgentEvent::Done { .. });
        if self.after.is_some_and(|after| id <= after) {
            return Ok(());
        }
        self.out.send(sse::Event::default().id(id.text()).data(agent_events::text(line))).await
    }

    /// Sends a delta of the answer's text; tool progress is only in entry streams.
    async fn piece(&mut self, piece: &StreamDelta) -> Result<(), SseDisconnect> {
        let DeltaKind::Text(text) = &piece.said else { return Ok(()) };
        let event = AgentEvent::Text { content: text.clone(), is_partial: true };
        let line = AgentEventLine { event, seq: piece.asked, about: piece.about.clone() };
        self.out.send(sse::Event::default().data(agent_events::text(&line))).await
    }

    /// Sends an error and `done` for a message that has no run.
    async fn refuse(&mut self, seq: u64, code: &str, why: &str) -> Result<(), SseDisconnect> {
        let (code, message) = (code.to_owned(), why.to_owned());
        let error = AgentEvent::Error { code, message, recoverable: false };
        let usage = agentry_protocol::message::Usage::default().into();
        let stop_reason = StopReason::Error;
        let done = AgentEvent::Done { stop_reason, result: None, iterations: None, usage };
        for (line, event) in [error, done].into_iter().enumerate() {
            let said = AgentEventLine { event, seq: Some(seq), about: EntrySubject::default() };
            self.line(LineId { seq, line }, &said).await?;
        }
        Ok(())
    }
}

/// Returns error code and reason if an entry says that this message gets no run.
fn refused(envelope: &Envelope, asked: Option<&EventId>) -> Option<(&'static str, String)> {
    let Event::Intake(intake) = &envelope.event else { return None };
    if let IntakeStage::Unrun { event, why, detail } = intake
        && asked == Some(event)
    {
        return Some(("not_run", detail.clone().unwrap_or_else(|| why.to_string())));
    }
    if let IntakeStage::Decided { record } = intake
        && record.event_id.as_ref() == asked
        && record.decision.effect == agentry_protocol::access::Effect::Deny
    {
        return Some(("denied", agentry_runtime::inbound::trace::decided(record)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_lines_are_read_as_they_are_written_and_stand_in_order() {
        let ids = [(7, 0), (7, 1), (8, 0)].map(|(seq, line)| LineId { seq, line });
        assert_eq!(ids.map(LineId::text), ["7", "7.1", "8"]);
        assert!(ids.iter().all(|id| LineId::parse(&id.text()) == Some(*id)));
        assert!(ids.is_sorted());
        assert_eq!(LineId::parse("seven"), None);
    }
}
