//! Makes frames from the pieces of a stream of server-sent events.
//!
//! The framing is `sse-stream`'s. It reads a stream; ours is a queue that is filled from outside,
//! so it is polled until the queue is empty, and never waits.
//!
//! Must never: return an incomplete frame, or buffer more than the limit.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use agentry_protocol::message::{FailureKind, ModelFailure};
use bytes::Bytes;
use futures_core::Stream;
use sse_stream::{ByteStreamBody, SseStream};

use crate::codec::AnswerFrame;
use crate::http_failure::shown;
use crate::limits::{FRAME_BYTES_MAX, SHOWN_CHARS_MAX};

type ByteQueue = Rc<RefCell<VecDeque<Bytes>>>;

/// A decoder of frames from the pieces received so far.
pub(crate) struct FrameDecoder {
    queue: ByteQueue,
    stream: Pin<Box<SseStream<ByteStreamBody<QueueStream, Bytes>>>>,
    /// The beginning of the answer, to be shown if it is no stream of events.
    start: Vec<u8>,
    /// The number of bytes since the last frame.
    since: usize,
    any: bool,
}

impl FrameDecoder {
    pub(crate) fn new() -> Self {
        let queue = ByteQueue::default();
        let stream = Box::pin(SseStream::from_bytes_stream(QueueStream(Rc::clone(&queue))));
        Self { queue, stream, start: Vec::new(), since: 0, any: false }
    }

    /// Appends the next piece.
    pub(crate) fn push(&mut self, piece: Bytes) {
        let room = SHOWN_CHARS_MAX * 4 - self.start.len();
        self.start.extend_from_slice(&piece[..room.min(piece.len())]);
        self.since += piece.len();
        self.queue.borrow_mut().push_back(piece);
    }

    /// Returns the next complete frame; `None` if more pieces are needed.
    pub(crate) fn next(&mut self) -> Result<Option<AnswerFrame>, ModelFailure> {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            match self.stream.as_mut().poll_next(&mut context) {
                Poll::Ready(Some(Ok(sse))) => {
                    self.any = true;
                    self.since = 0;
                    // Without data it is no frame: an id or a retry time, which we do not use.
                    if let Some(data) = sse.data {
                        return Ok(Some(AnswerFrame { event: sse.event, data }));
                    }
                }
                Poll::Ready(Some(Err(_))) => return Err(self.not_a_stream()),
                Poll::Ready(None) => return Ok(None),
                Poll::Pending if self.since > FRAME_BYTES_MAX => {
                    let message = format!("one event has more than {FRAME_BYTES_MAX} bytes");
                    return Err(ModelFailure::new(FailureKind::Malformed, message));
                }
                Poll::Pending => return Ok(None),
            }
        }
    }

    /// Checks, after the end, that the received text can be a stream of events.
    pub(crate) fn end(&self) -> Result<(), ModelFailure> {
        let first = self.start.iter().find(|byte| !byte.is_ascii_whitespace());
        match first {
            Some(b'{' | b'[' | b'<' | b'"') if !self.any => Err(self.not_a_stream()),
            Some(_) | None => Ok(()),
        }
    }

    fn not_a_stream(&self) -> ModelFailure {
        let start = shown(&String::from_utf8_lossy(&self.start));
        let message = format!("the answer is not a stream of events; it begins with `{start}`");
        ModelFailure::new(FailureKind::Malformed, message)
    }
}

/// A stream of the bytes in the queue, which may receive more later.
struct QueueStream(ByteQueue);

impl Stream for QueueStream {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.0.borrow_mut().pop_front() {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None => Poll::Pending,
        }
    }
}
