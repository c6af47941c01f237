//! One request and its answer, piece by piece.
//!
//! The body is sent as it was written, and the pieces of the answer are returned as they were read:
//! nothing is copied on the way.
//!
//! Must never: wait longer than its limits, or continue after the answer is no longer wanted.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use agentry_protocol::message::{FailureKind, ModelFailure};
use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{Client, Request, Response};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::HttpTimeouts;
use crate::http_failure;
use crate::limits::{ANSWER_BYTES_MAX, INTERRUPT_MS, STREAM_END_MS};
use crate::provider_request::ProviderRequest;
use crate::recording::{ExchangeRecorder, PlaybackResponse, RecordingPlayer};

/// The client, runtime and time limits of an exchange.
pub(super) struct ExchangeTransport {
    pub(super) client: Client,
    pub(super) handle: Handle,
    pub(super) timing: HttpTimeouts,
}

/// A message from the task that carries the exchange.
enum ExchangeEvent {
    Head(u16, HeaderMap),
    Data(Bytes),
    End,
    Failed(ModelFailure),
}

/// A request that was sent, and the received part of its answer.
pub(crate) struct Exchange<'a> {
    /// The status of the answer.
    pub(crate) status: u16,
    /// The headers of the answer.
    pub(crate) headers: HeaderMap,
    source: ExchangeSource,
    recording: Option<ExchangeRecorder<'a>>,
    wait: &'a dyn Fn(Duration) -> bool,
}

enum ExchangeSource {
    Live { events: Receiver<ExchangeEvent>, _task: AbortGuard },
    Played(PlaybackResponse),
    Over,
}

/// Aborts the task when the reader is dropped; the connection is dropped with it.
struct AbortGuard(AbortHandle);

impl Drop for AbortGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<'a> Exchange<'a> {
    pub(super) fn begin(
        carriage: ExchangeTransport,
        outgoing: ProviderRequest,
        recording: Option<ExchangeRecorder<'a>>,
        wait: &'a dyn Fn(Duration) -> bool,
    ) -> Result<Self, ModelFailure> {
        let (sender, events) = channel();
        let handle = carriage.handle.clone();
        let task = handle.spawn(carry(carriage.client, outgoing, carriage.timing, sender));
        let task = AbortGuard(task.abort_handle());
        let mut exchange = Exchange {
            status: 0,
            headers: HeaderMap::new(),
            source: ExchangeSource::Live { events, _task: task },
            recording,
            wait,
        };
        match exchange.hear()? {
            ExchangeEvent::Head(status, headers) => {
                if let Some(recording) = &mut exchange.recording {
                    recording.head(status, &headers);
                }
                exchange.status = status;
                exchange.headers = headers;
                Ok(exchange)
            }
            ExchangeEvent::Failed(failure) => {
                Err(exchange.close(Some(failure)).err().unwrap_or_else(gone))
            }
            ExchangeEvent::Data(_) | ExchangeEvent::End => Err(gone()),
        }
    }

    pub(super) fn play(
        deck: &RecordingPlayer,
        outgoing: &ProviderRequest,
        wait: &'a dyn Fn(Duration) -> bool,
    ) -> Result<Self, ModelFailure> {
        let played = deck.next(outgoing)?;
        Ok(Exchange {
            status: played.status,
            headers: played.headers.clone(),
            source: ExchangeSource::Played(played),
            recording: None,
            wait,
        })
    }

    /// Returns the next piece of the body; `None` at its end.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, ModelFailure> {
        if let ExchangeSource::Played(played) = &mut self.source {
            if !(self.wait)(Duration::ZERO) {
                return Err(unwanted());
            }
            return played.next();
        }
        match self.hear()? {
            ExchangeEvent::Data(bytes) => {
                if let Some(recording) = &mut self.recording {
                    recording.data(&bytes);
                }
                Ok(Some(bytes))
            }
            ExchangeEvent::End => self.close(None).map(|()| None),
            ExchangeEvent::Failed(failure) => {
                Err(self.close(Some(failure)).err().unwrap_or_else(gone))
            }
            ExchangeEvent::Head(..) => Err(gone()),
        }
    }

    /// Ends an exchange whose answer is complete before its body: the rest is read, so that the
    /// connection can be reused, but only for a short time.
    pub(crate) fn finish(mut self) -> Result<(), ModelFailure> {
        let ExchangeSource::Live { events, .. } = &self.source else { return Ok(()) };
        let until = Instant::now() + Duration::from_millis(STREAM_END_MS);
        // The rest has no content for us, but it is a part of the recording.
        while let Ok(heard) = events.recv_timeout(until.duration_since(Instant::now())) {
            match (heard, &mut self.recording) {
                (ExchangeEvent::Data(bytes), Some(recording)) => recording.data(&bytes),
                (ExchangeEvent::Data(_), None) => {}
                (ExchangeEvent::Head(..) | ExchangeEvent::End | ExchangeEvent::Failed(_), _) => {
                    break;
                }
            }
        }
        self.close(None)
    }

    fn hear(&mut self) -> Result<ExchangeEvent, ModelFailure> {
        let ExchangeSource::Live { events, .. } = &self.source else {
            return Ok(ExchangeEvent::End);
        };
        loop {
            if !(self.wait)(Duration::ZERO) {
                self.abandon();
                return Err(unwanted());
            }
            match events.recv_timeout(Duration::from_millis(INTERRUPT_MS)) {
                Ok(heard) => return Ok(heard),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
    }

    /// Writes the recording, and releases the connection.
    fn close(&mut self, failure: Option<ModelFailure>) -> Result<(), ModelFailure> {
        self.source = ExchangeSource::Over;
        if let Some(recording) = self.recording.take() {
            recording.end(failure.as_ref())?;
        }
        failure.map_or(Ok(()), Err)
    }

    /// Ends an exchange whose answer its caller does not want, and releases the connection.
    fn abandon(&mut self) {
        self.source = ExchangeSource::Over;
        if let Some(recording) = self.recording.take() {
            recording.abandon(&unwanted());
        }
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        self.abandon();
    }
}

fn unwanted() -> ModelFailure {
    ModelFailure::new(FailureKind::Interrupted, "nobody wants the answer any more")
}

fn gone() -> ModelFailure {
    ModelFailure::new(FailureKind::Other, "the thread that carries requests has stopped")
}

/// Sends the request and reports all events of the answer. A dropped receiver ends it.
async fn carry(
    client: Client,
    outgoing: ProviderRequest,
    timing: HttpTimeouts,
    tell: Sender<ExchangeEvent>,
) {
    let last = match exchange(client, outgoing, timing, &tell).await {
        Ok(()) => {
            // The connection returns to the pool before the next request can need one.
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            ExchangeEvent::End
        }
        Err(failure) => ExchangeEvent::Failed(failure),
    };
    send_if_open(&tell, last);
}

/// Reports an event. An exchange that was dropped has closed the channel, and needs no event.
fn send_if_open(tell: &Sender<ExchangeEvent>, event: ExchangeEvent) {
    tell.send(event).ok();
}

async fn exchange(
    client: Client,
    outgoing: ProviderRequest,
    timing: HttpTimeouts,
    tell: &Sender<ExchangeEvent>,
) -> Result<(), ModelFailure> {
    let host = outgoing.host();
    let mut request = Request::new(outgoing.method, outgoing.url);
    *request.headers_mut() = outgoing.headers;
    if !outgoing.body.is_empty() {
        *request.body_mut() = Some(outgoing.body.into());
    }
    let first = Instant::now() + timing.first_byte;
    let late = || {
        let ms = timing.first_byte.as_millis();
        let message = format!("{host} did not begin to answer within {ms} ms");
        ModelFailure::new(FailureKind::Timeout, message)
    };
    let mut response = timeout_at(first, client.execute(request))
        .await
        .map_err(|_| late())?
        .map_err(|error| http_failure::sending(error, &host, timing.connect))?;
    let headers = std::mem::take(response.headers_mut());
    send_if_open(tell, ExchangeEvent::Head(response.status().as_u16(), headers));
    let mut piece = timeout_at(first, response.chunk()).await.map_err(|_| late())?;
    let mut read = 0;
    loop {
        let Some(bytes) = piece.map_err(|error| http_failure::reading(error, &host))? else {
            return Ok(());
        };
        read += bytes.len();
        if read > ANSWER_BYTES_MAX {
            let message = format!("{host} answered with more than {ANSWER_BYTES_MAX} bytes");
            return Err(ModelFailure::new(FailureKind::Malformed, message));
        }
        if tell.send(ExchangeEvent::Data(bytes)).is_err() {
            return Ok(());
        }
        piece = next_piece(&mut response, timing.idle, &host).await?;
    }
}

async fn next_piece(
    response: &mut Response,
    idle: Duration,
    host: &str,
) -> Result<reqwest::Result<Option<Bytes>>, ModelFailure> {
    timeout(idle, response.chunk()).await.map_err(|_| {
        let ms = idle.as_millis();
        let message = format!("{host} was silent for {ms} ms in the middle of the answer");
        ModelFailure::new(FailureKind::Timeout, message)
    })
}
